"""The compiled reader trusts nothing, never stops a run, and leaves to Python what it cannot do."""

import ctypes
import random
import warnings
from array import array

import pytest
from both_readers import BothReaders, OwnRules, message, needs_library, rule
from native_functions import compiled, image, matcher, read, tables

from campaign.native_reader import sealed
from synthesis.rules.cache import cached_tables
from synthesis.rules.native import library as native
from synthesis.rules.native.library import Handle, Library, NativeReaderError, flat, library, numbers_of
from synthesis.rules.native.program import MATCH, NUMBER, Image
from synthesis.rules.native.reader import DONE, EXHAUSTED, HEAD, NOT_REACHED
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
    assert both.native.declined == 2


def test_a_fault_inside_becomes_a_warning_that_names_the_case_and_python_reads_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a panic becomes, which the library's own tests show; none is known that a text could cause."""
    both = BothReaders(RULES)
    real = Library.call

    def failing(self: Library, name: str, *given: object) -> list[int]:
        if name == "read" and "should".encode("utf-32-le") in given[3]:  # type: ignore[operator]
            raise NativeReaderError("the native reader failed: index out of bounds")
        return real(self, name, *given)

    monkeypatch.setattr(Library, "call", failing)
    messages = [message("xyz")._replace(case="A-1"), message("you should")._replace(case="A-2")]
    with pytest.warns(UserWarning, match="index out of bounds.*on 2 texts, on those of the cases 'A-2'") as told:
        assert both.hits(messages) == 1
    assert "should" not in str(told[0].message)
    assert both.native.declined == 2


def test_an_image_that_is_refused_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = BothReaders(RULES)
    damaged = Image(RULES.image("en").numbers[:-4], [], [])
    monkeypatch.setattr(RULES, "image", lambda _: damaged, raising=False)
    with pytest.warns(UserWarning, match="the image is damaged .the program of 'en'"):
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
        rest = [NOT_REACHED, 0, 0, 0, 0] * (len(texts) - 1)
        answer = real(selection, texts[:1])  # type: ignore[arg-type]
        return [*answer[:HEAD], *rest, *answer[HEAD:]]

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
    slow = matcher(OwnRules([rule("slow", "(?:a|aa){0,24}b c")]).image("en").numbers)
    for times, expected in ((5, DONE), (500, EXHAUSTED)):
        status, *_ = read(slow, f"{'a' * 24}x b c " * times)
        assert status == expected


def test_the_switch_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.SWITCH, "0")
    assert library.__wrapped__() is None


def test_a_library_that_cannot_be_loaded_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(native, "FILE", broken)
    assert library.__wrapped__() is None


DAMAGE = (0, 1, 2, 7, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


def read_from(image: bytes) -> bool:
    """Whether it is read from; reading then ends in some answer."""
    try:
        read(matcher(image), TEXT, TEXT.lower() * 3)
    except NativeReaderError:
        return False
    return True


def damaged(numbers: "array[int]", place: int, chance: random.Random) -> "array[int]":
    found = numbers[:]
    found[place] = chance.choice([*DAMAGE, found[place] ^ 1, len(found)])
    return found[:place] if chance.random() < 0.1 else found


def test_damaged_programs_are_refused_or_run_without_harm() -> None:
    """Numbers of a small program replaced in turn: no image is made of it, or reading ends in some answer."""
    chance = random.Random(3)
    whole = array(NUMBER, RULES.program("en").numbers)
    refused = 0
    places = chance.sample(range(len(whole)), 200)
    for place in places:
        try:
            made = image(damaged(whole, place, chance).tobytes(), [0, 1, 2])
        except NativeReaderError:
            refused += 1
        else:
            assert read_from(made.tobytes())
    assert len(places) > refused > len(places) / 3


def test_a_damaged_image_is_refused() -> None:
    chance = random.Random(4)
    whole = array(NUMBER, RULES.image("en").numbers)
    assert read_from(sealed(whole))
    for place in chance.sample(range(len(whole)), 100):
        found = damaged(whole, place, chance)
        assert found == whole or not read_from(found.tobytes())


def test_an_image_with_the_right_checksum_over_wrong_numbers_is_refused_or_read_without_harm() -> None:
    chance = random.Random(5)
    whole = array(NUMBER, RULES.image("en").numbers)
    places = chance.sample(range(4, len(whole)), 600)
    read_ones = sum(read_from(sealed(damaged(whole, place, chance))) for place in places)
    assert len(places) > read_ones > 0


@pytest.mark.parametrize("numbers", [b"", b"\x01\x00\x00\x00" * 40, TABLES[:4000], TABLES[:-4]])
def test_damaged_character_tables_are_refused(numbers: bytes) -> None:
    compiled = library()
    assert compiled is not None
    with pytest.raises(NativeReaderError):
        compiled.make("characters", *flat(numbers))


def code_of(program: "array[int]") -> range:
    """Where the instructions of a program begin."""
    place = 0
    for _ in range(CODE_SECTION):
        place += program[place] + 1
    return range(place + 1, place + 1 + program[place], 4)


def test_a_program_that_matches_nothing_at_every_place_comes_to_an_end() -> None:
    numbers = array(NUMBER, RULES.program("en").numbers)
    numbers[code_of(numbers)[0]] = MATCH  # where the code of the first pattern begins
    text = "you should rest"
    status, hits, *_ = read(matcher(image(numbers.tobytes(), [0]).tobytes()), text)
    assert status == DONE
    assert 0 < hits <= len(text)


@pytest.mark.parametrize(("kind", "what"), [(5, "target"), (6, "target"), (8, "class"), (12, "register")])
def test_a_program_that_leads_out_of_its_code_is_refused(kind: int, what: str) -> None:
    numbers = array(NUMBER, RULES.program("en").numbers)
    numbers[next(at for at in code_of(numbers) if numbers[at] == kind) + 1] = 0x7FFFFFFF
    with pytest.raises(NativeReaderError, match=f"there is no {what} 2147483647"):
        image(numbers.tobytes(), [0])


def test_places_of_texts_are_checked() -> None:
    loaded = matcher(RULES.image("en").numbers)
    points = flat("you should".encode("utf-32-le"))
    for ends in ([99], [5, 2], [0xFFFFFFFF]):
        with pytest.raises(NativeReaderError, match="ends before it begins"):
            answer(loaded, *points, *numbers_of(ends))
    with pytest.raises(NativeReaderError, match="not code points"):
        answer(loaded, *numbers_of([0x110000]), *numbers_of([1]))
    with pytest.raises(NativeReaderError, match="there is no rule 7"):
        image(RULES.program("en").numbers, [7])


def answer(matcher: Handle, *given: object) -> list[int]:
    return compiled().call("read", tables(), matcher, ctypes.c_uint32(1), *given)


def test_no_warning_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BothReaders(RULES).read([message(TEXT)])
