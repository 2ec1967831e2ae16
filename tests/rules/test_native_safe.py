"""The compiled reader trusts nothing, never stops a run, and leaves to Python what it cannot do."""

import random
import warnings
from array import array

import pytest
from both_readers import BothReaders, OwnRules, message, needs_library, rule

from synthesis.rules.cache import cached_tables
from synthesis.rules.native import reader as native
from synthesis.rules.native.program import MATCH, NUMBER, Program
from synthesis.rules.native.reader import DONE, NativeReaderError, encoded, flat, library, numbers_of
from synthesis.rules.schema import GuardRule, SentenceRule

pytestmark = needs_library
GUARD = GuardRule("g", before=("not",), after=("at all",), sentence=("never",), quoted=True)
RULES = OwnRules(
    [
        rule("should", "you (?:should|must|(?:really ){0,3}ought to)", r"try .{0,9} [a-f]\w{1,4}", guards=("g",)),
        rule("question", sentence=SentenceRule("question", has=("why",)), label="why?"),
        rule("list", list_items=2, label="list"),
    ],
    {"g": GUARD},
)
TABLES = cached_tables()
CODE_SECTION = 7  # of the program, after its head, constants, abbreviations, classes, letters, cases and registers
TEXT = 'You should rest. "You must" not you really ought to? Why not!\n- a\n- b try to relax be'


def test_texts_with_characters_that_python_must_normalise_are_counted() -> None:
    both = BothReaders(RULES)
    texts = ["you should", "cafe\u0301 you should", "You should ΣΑΣ", "İ you must", "you\u200b should \ud800 ｗｈｙ"]
    assert both.hits([message(text) for text in texts]) == 5
    assert both.native.declined == 3


def test_a_panic_inside_becomes_a_warning_that_names_the_case_and_python_reads_the_batch() -> None:
    both = BothReaders(RULES)
    key = "en", "assistant", None
    whole = both.native._selected(key)
    # What was selected from another program has fewer sets of words than this one asks for.
    other = OwnRules([rule("other", "umbrella")], {}).program("en").numbers
    compiled = both.native._library
    matcher = compiled.make("matcher", both.native._characters, *flat(other))
    wrong = compiled.make("select", matcher, *numbers_of([0]), keep=(matcher,))
    both.native._selections[key] = whole._replace(handle=wrong)
    messages = [message("xyz")._replace(case="A-1"), message("you should")._replace(case="A-2")]
    with pytest.warns(UserWarning, match="index out of bounds.*on 2 texts, on those of the cases 'A-2'") as told:
        assert both.hits(messages) == 1
    assert "should" not in str(told[0].message)
    assert both.native.declined == 2


def test_a_program_that_is_refused_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = BothReaders(RULES)
    damaged = RULES.program("en").numbers[:-4]
    monkeypatch.setattr(RULES, "program", lambda _: Program(damaged, [], []), raising=False)
    with pytest.warns(UserWarning, match="the program of 'en'"):
        assert both.hits([message("you should")]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert both.hits([message("you should")]) == 1


def test_a_long_call_is_continued_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library returns when its share of steps is used up; here it always does after the first text."""
    both = BothReaders(RULES)
    real = both.native._answer
    calls: list[int] = []

    def one_at_a_time(selection: object, texts: list[str]) -> list[int]:
        calls.append(len(texts))
        rest = [native.NOT_REACHED, 0, 0, 0, 0] * (len(texts) - 1)
        answer = real(selection, texts[:1])  # type: ignore[arg-type]
        return [*answer[: native.HEAD], *rest, *answer[native.HEAD :]]

    monkeypatch.setattr(both.native, "_answer", one_at_a_time)
    both.read([message("you should"), message("you must"), message("Why?")])
    assert calls == [3, 2, 1]


def test_a_search_that_takes_too_long_is_left_to_python() -> None:
    """Four repetitions inside each other are past the loader's bound; the reader gives up, and does not hang."""
    both = BothReaders(OwnRules([rule("slow", "(?:(?:a?){0,60}){0,60}b c")]))
    [reading] = both.native.read([message("a" * 60 + "b")])
    assert both.native.declined in {0, 1}
    assert not reading.hits


def test_a_text_that_takes_too_many_steps_is_given_up() -> None:
    """No place of it takes too many, all of them together do: a search of some seconds is for Python to interrupt."""
    compiled = library()
    assert compiled is not None
    characters = compiled.make("characters", *flat(TABLES))
    program = OwnRules([rule("slow", "(?:a|aa){0,24}b c")]).program("en")
    matcher = compiled.make("matcher", characters, *flat(program.numbers))
    selection = compiled.make("select", matcher, *numbers_of([0]), keep=(matcher,))
    for times, expected in ((5, DONE), (500, native.EXHAUSTED)):
        text = f"{'a' * 24}x " * times + "b c"
        status, *_ = compiled.call("read", characters, matcher, selection, *encoded([text]))
        assert status == expected


def test_the_switch_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, "0")
    assert library.__wrapped__() is None


def test_a_library_that_cannot_be_loaded_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(native, "FILE", broken)
    assert library.__wrapped__() is None


def test_damaged_programs_are_refused_or_run_without_harm() -> None:
    """Every number of a small program replaced in turn: loading refuses it, or reading ends in some answer."""
    compiled = library()
    assert compiled is not None
    chance = random.Random(3)
    characters = compiled.make("characters", *flat(TABLES))
    whole = array(NUMBER, RULES.program("en").numbers)
    refused = 0
    places = chance.sample(range(len(whole)), 200)
    for place in places:
        damaged = whole[:]
        damaged[place] = chance.choice([0, 1, 2, 7, damaged[place] + 1, len(whole), 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF])
        if chance.random() < 0.1:
            damaged = damaged[:place]
        try:
            matcher = compiled.make("matcher", characters, *flat(damaged.tobytes()))
            selection = compiled.make("select", matcher, *numbers_of([0, 1, 2]))
            compiled.call("read", characters, matcher, selection, *encoded([TEXT, TEXT.lower() * 3]))
        except NativeReaderError:
            refused += 1
    assert len(places) > refused > len(places) / 3


@pytest.mark.parametrize("numbers", [b"", b"\x01\x00\x00\x00" * 40, TABLES[:4000], TABLES[:-4]])
def test_damaged_character_tables_are_refused(numbers: bytes) -> None:
    compiled = library()
    assert compiled is not None
    with pytest.raises(NativeReaderError):
        compiled.make("characters", *flat(numbers))


def test_a_program_that_matches_nothing_at_every_place_comes_to_an_end() -> None:
    compiled = library()
    assert compiled is not None
    numbers = array(NUMBER, RULES.program("en").numbers)
    place = 0
    for _ in range(CODE_SECTION):
        place += numbers[place] + 1
    numbers[place + 1] = MATCH  # where the code of the first pattern begins
    characters = compiled.make("characters", *flat(TABLES))
    matcher = compiled.make("matcher", characters, *flat(numbers.tobytes()))
    selection = compiled.make("select", matcher, *numbers_of([0]), keep=(matcher,))
    text = "you should rest"
    status, hits, *_ = compiled.call("read", characters, matcher, selection, *encoded([text]))
    assert status == DONE
    assert 0 < hits <= len(text)


@pytest.mark.parametrize(("kind", "what"), [(5, "target"), (6, "target"), (8, "class"), (12, "register")])
def test_a_program_that_leads_out_of_its_code_is_refused_when_it_is_loaded(kind: int, what: str) -> None:
    compiled = library()
    assert compiled is not None
    numbers = array(NUMBER, RULES.program("en").numbers)
    place = 0
    for _ in range(CODE_SECTION):
        place += numbers[place] + 1
    code = range(place + 1, place + 1 + numbers[place], 4)
    numbers[next(at for at in code if numbers[at] == kind) + 1] = 0x7FFFFFFF
    characters = compiled.make("characters", *flat(TABLES))
    with pytest.raises(NativeReaderError, match=f"there is no {what} 2147483647"):
        compiled.make("matcher", characters, *flat(numbers.tobytes()))


def test_places_of_texts_are_checked() -> None:
    compiled = library()
    assert compiled is not None
    characters = compiled.make("characters", *flat(TABLES))
    matcher = compiled.make("matcher", characters, *flat(RULES.program("en").numbers))
    selection = compiled.make("select", matcher, *numbers_of([0]))
    points = flat("you should".encode("utf-32-le"))
    for ends in ([99], [5, 2], [0xFFFFFFFF]):
        with pytest.raises(NativeReaderError, match="ends before it begins"):
            compiled.call("read", characters, matcher, selection, *points, *numbers_of(ends))
    with pytest.raises(NativeReaderError, match="not code points"):
        compiled.call("read", characters, matcher, selection, *numbers_of([0x110000]), *numbers_of([1]))
    with pytest.raises(NativeReaderError, match="no rule 7"):
        compiled.make("select", matcher, *numbers_of([7]))


def test_no_warning_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BothReaders(RULES).read([message(TEXT)])
