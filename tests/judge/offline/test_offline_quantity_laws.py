"""What holds for every number, time and date, in each language."""

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from number_words import IN_WORDS, TH_ONES, in_english, in_german, in_spanish
from quantity_samples import PAIRS, TEXTS, read, shown

from synthesis.judge.offline.lexicon import LANGUAGES, lexicon
from synthesis.judge.offline.quantities import quantities
from synthesis.judge.offline.values import COUNT, lexemes, relation

NOUNS = {"en": "{} rooms", "de": "{} Zimmer", "es": "{} salas", "th": "{}ห้อง"}
THOUSANDS = {"en": ",", "de": ".", "th": ","}  # in Spanish a full stop may be either
languages = st.sampled_from(LANGUAGES)


@pytest.fixture(autouse=True, scope="module")
def _icu():
    """Thai is divided into words by the extra `segmentation`."""
    pytest.importorskip("icu4py")


# Numbers.


@given(languages, st.integers(2, 999_999))
def test_a_number_is_the_same_in_figures_and_in_words(language, value):
    assume(not 1500 <= value <= 2700)  # four figures that may be a year
    figure = read(NOUNS[language].format(value), language)
    words = read(NOUNS[language].format(IN_WORDS[language](value)), language)
    assert [one.low for one in figure] == [one.low for one in words] == [{float(value)}]
    assert relation(words[0], figure[0]) == "same"


@given(languages, st.integers(2, 9_999), st.integers(2, 9_999))
def test_two_numbers_of_one_noun_differ_unless_they_are_near(language, value, other):
    assume(abs(value - other) > 0.01 * max(value, other))
    one, two = (read(NOUNS[language].format(IN_WORDS[language](number)), language)[0] for number in (value, other))
    assert relation(one, two) == "differs"


@given(st.sampled_from(sorted(THOUSANDS)), st.integers(1_000, 999_999_999))
def test_thousands_are_parted_by_the_sign_of_the_language(language, value):
    parted = f"{value:,}".replace(",", THOUSANDS[language])
    assert read(f"{parted} kg", language)[0].low == read(f"{value} kg", language)[0].low


@given(languages, st.integers(1, 999), st.integers(0, 999))
def test_the_other_sign_parts_the_fraction(language, whole, thousandths):
    sign = "," if language in ("de", "es") else "."
    (one,) = read(f"{whole}{sign}{thousandths:03} kg", language)
    assert any(abs(value - 1000 * whole - thousandths) < 1e-6 for value in one.low)


@given(st.integers(1, 999), st.integers(0, 999))
def test_a_full_stop_before_three_figures_has_two_readings_in_spanish(whole, rest):
    (one,) = read(f"{whole}.{rest:03} m", "es")
    assert {round(value, 6) for value in one.low} == {1000.0 * whole + rest, round(whole + rest / 1000, 6)}


# Times of day.


hours, minutes = st.integers(0, 23), st.integers(0, 59)


@given(hours, minutes)
def test_english_hours_are_the_same_in_12_and_in_24(hour, minute):
    half = "am" if hour < 12 else "pm"
    (short,) = read(f"at {hour % 12 or 12}:{minute:02} {half}", "en")
    (long,) = read(f"at {hour:02}:{minute:02}", "en")
    assert relation(short, long) == "same"
    if not 10 <= hour <= 12:  # "11:30" may be in the evening, "09:30" may not
        (other,) = read(f"at {hour % 12 or 12}:{minute:02} {'pm' if half == 'am' else 'am'}", "en")
        assert relation(other, long) == "differs"


@given(
    st.sampled_from(
        [("de", "um {}:{:02} Uhr"), ("de", "um {}.{:02} Uhr"), ("es", "a las {}.{:02} h"), ("th", "{:02}.{:02} น.")]
    ),
    hours,
    minutes,
)
def test_every_form_of_a_time_has_its_minutes(form, hour, minute):
    language, text = form
    (one,) = read(text.format(hour, minute), language)
    assert one.kind == "time"
    assert hour * 60 + minute in one.low


@given(st.integers(1, 12))
def test_half_an_hour_is_past_in_english_and_spanish_and_before_in_german(hour):
    (english,) = read(f"half past {in_english(hour)}", "en")
    (spanish,) = read("a la una y media" if hour == 1 else f"a las {in_spanish(hour)} y media", "es")
    (german,) = read(f"um halb {in_german(hour % 12 + 1) if hour % 12 else 'eins'}", "de")
    assert relation(english, spanish) == relation(spanish, english) == "same"
    assert relation(german, english) == "same"


@given(st.integers(1, 6))
def test_thai_hours_are_counted_in_each_part_of_the_day(hour):
    assert shown(read(f"{TH_ONES[hour]}ทุ่ม", "th")[0]).startswith(f"time {hour + 18}:00")
    if hour < 6:
        assert shown(read(f"ตี{TH_ONES[hour]}", "th")[0]) == f"time {hour}:00"
        assert shown(read(f"{TH_ONES[hour]}โมงเย็น", "th")[0]) == f"time {hour + 12}:00"


# Dates.


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2050, 12, 31)))
def test_a_buddhist_year_is_a_year_of_the_common_era(day):
    buddhist = day.year + 543
    for text in (
        f"{day.day}/{day.month}/{buddhist}",
        f"{day.day} เมษายน {buddhist}",
        f"{day.day} เม.ย. พ.ศ. {buddhist}",
    ):
        (one,) = read(text, "th")
        assert one.date.year == day.year
        assert one.date.day == day.day


# Relations.


texts = st.sampled_from([(language, row[0]) for language, rows in TEXTS.items() for row in rows])
pairs = st.sampled_from([(language, *row[:2]) for language, rows in PAIRS.items() for row in rows])


@given(texts)
def test_what_is_said_is_the_same_as_itself(sample):
    language, text = sample
    for one in read(text, language):
        assert relation(one, one) == "same"


@given(pairs)
def test_what_differs_one_way_is_never_the_same_the_other_way(pair):
    language, *sides = pair
    one, other = (read(side, language)[0] for side in sides)
    assert {relation(one, other), relation(other, one)} != {"same", "differs"}


@given(languages, st.text(max_size=60))
def test_any_text_is_read_without_overlaps(language, text):
    found = lexemes(text)
    spans = [(one.start, one.end) for one in quantities(found, lexicon(language))]
    assert all(start < end <= len(found) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@given(languages, st.lists(texts.map(lambda sample: sample[1]), max_size=4).map(" ".join))
def test_texts_of_other_languages_are_read_as_well(language, text):
    assert all(one.low for one in read(text, language))
    assert all(relation(one, one) == "same" for one in read(text, language))


@given(languages)
def test_counts_of_which_neither_says_what_it_counts_differ(language):
    one, other = read("7", language)[0], read("8", language)[0]
    assert one.kind == COUNT
    assert relation(one, other) == "differs"
