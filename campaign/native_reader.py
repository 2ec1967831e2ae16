"""The compiled reader against the Python one: random rules on their own words, and programs and images with damage.

Then bytes that mean nothing, in place of programs, images and texts.
"""

import random
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_uint32
from pathlib import Path

from campaign.forked import in_child
from campaign.random_rules import random_pattern
from campaign.spelling import spelled
from campaign.tally import Attempt, Broken, Budget, Kind, Setting
from synthesis.rules.analysis import cost
from synthesis.rules.cache import cached_tables
from synthesis.rules.matcher import Matcher
from synthesis.rules.native.library import Library, NativeReaderError, encoded, flat, library, numbers_of
from synthesis.rules.native.program import NUMBER, program
from synthesis.rules.native.reader import DONE, HEAD
from synthesis.rules.pattern import prepare as prepare_pattern
from synthesis.rules.schema import GuardRule, Rule
from synthesis.rules.syntax import PatternError, WordLists, parse
from synthesis.rules.text import Text, language_of

LIMIT = 30
DEAREST = 20_000  # steps: a pattern that takes long in Python only shortens the campaign
MARKS = [" ", ". ", "? ", ", ", "\n", "\n- ", "'", '"', "\u200b", "*", "\ud800", "é", "१", "。"]


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:  # noqa: ARG001
    compiled = library()
    tables = cached_tables()

    def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
        if compiled is None:
            raise Broken("the compiled reader is not built: run `make dev` with cargo at hand")
        seed = chance.random()
        in_child(lambda: _compare(compiled, tables, random.Random(seed)), LIMIT)

    yield attempt


def _compare(compiled: Library, tables: bytes, chance: random.Random) -> None:
    language = language_of(chance.choice(["en", "hi", "ja"]))
    sources = [source for source in (random_pattern(chance) for _ in range(6)) if _is_usable(source)]
    if len(sources) < 2:
        return
    lists = WordLists()
    prepared = {source: prepare_pattern(source, language, lists) for source in sources}
    guard = GuardRule("g", before=(sources[-1],), after=(sources[0],), sentence=tuple(sources[2:3]), quoted=True)
    rules = [
        _rule("plain", *sources),
        _rule("guarded", *sources, guards=("g",)),
        _rule("list", label="l", list_items=2),
    ]
    matcher = Matcher(rules, {"g": guard}, prepared, spaced=language.spaced)
    numbers = program(language, matcher, dict.fromkeys(prepared, lists)).numbers
    texts = [_text(sources, chance) for _ in range(4)]
    characters = compiled.make("characters", *flat(tables))
    image = _image(compiled, characters, numbers)
    expected = matcher.scan([Text(text, language) for text in texts])
    for text, hits in zip(texts, expected, strict=True):
        answer = _read(compiled, characters, image, text)
        found = list(zip(*(iter(answer[HEAD : HEAD + answer[1] * 4]),) * 4, strict=True))
        wanted = [(("guarded", "list", "plain").index(hit.rule.id.split(".")[-1]), hit.start, hit.end) for hit in hits]
        order = (2, 0, 1)  # the numbers of the rules in the program are those of the list above
        native = [(order[rule], start, end) for rule, _, start, end in found]
        if answer[0] == DONE and native != wanted:
            raise Broken(f"{sources!r} on {text!r}: {native} and not {wanted}")
    _damage(compiled, characters, numbers, texts[0], chance)
    _feed(compiled, characters, chance)


def _damage(compiled: Library, characters: object, numbers: bytes, text: str, chance: random.Random) -> None:
    """A damaged program or image is refused or gives some answer; anything else would end this process."""
    image = _image(compiled, characters, numbers)
    for whole in (numbers, image):
        for _ in range(20):
            damaged = array(NUMBER, whole)
            for _ in range(chance.choice([1, 1, 3])):
                damaged[chance.randrange(len(damaged))] = chance.choice(
                    [0, 1, 5, 13, 0xFFFF, 0xFFFFFFFF, chance.getrandbits(32)]
                )
            with suppress(NativeReaderError):
                content = sealed(damaged) if whole is image else _image(compiled, characters, damaged.tobytes())
                _read(compiled, characters, content, text)


def _feed(compiled: Library, characters: object, chance: random.Random) -> None:
    """Any bytes as a program or an image, and any numbers as texts and their ends: refused, or some answer."""
    for _ in range(10):
        content = chance.randbytes(4 * chance.choice([0, 1, 7, 300]))
        text, ends = numbers_of(_numbers(chance, 40)), numbers_of(sorted(_numbers(chance, 5)))
        for kind, *given in (("characters",), ("matcher", characters), ("detector",)):
            with suppress(NativeReaderError):
                compiled.make(kind, *given, *flat(content))
        with suppress(NativeReaderError):
            compiled.answer("image", characters, *flat(content), *ends)
        for name in ("prose", "shape"):
            with suppress(NativeReaderError):
                compiled.call(name, characters, *text, *ends)


def _numbers(chance: random.Random, most: int) -> list[int]:
    """Mostly small ones, which are places and letters, and some that are neither."""
    ranges = chance.choices([most + 1, 127, 0x3000, 1 << 32], [40, 40, 18, 2], k=chance.randrange(most))
    return [chance.randrange(end) for end in ranges]


def _image(compiled: Library, characters: object, numbers: bytes) -> bytes:
    """The image of a program whose three rules are looked for on every side."""
    return compiled.answer("image", characters, *flat(numbers), *numbers_of([3, 0, 1, 2] * 3))


def _read(compiled: Library, characters: object, image: bytes, text: str) -> list[int]:
    matcher = compiled.make("matcher", characters, *flat(image))
    return compiled.call("read", characters, matcher, c_uint32(1), *encoded([text]))


IMAGE_HEAD = 4  # numbers in front of an image: magic, format, checksum in two halves
_WORD = 1 << 64


def sealed(image: "array[int]") -> bytes:
    """An image with the checksum of what it holds now: damage that only the checks of its numbers can tell."""
    numbers = image[:]
    numbers[2:IMAGE_HEAD] = array(NUMBER, divmod(_checksum(numbers[IMAGE_HEAD:]), 1 << 32)[::-1])
    return numbers.tobytes()


def _checksum(numbers: Sequence[int]) -> int:
    """As `native/src/image.rs` has it."""
    sums, whole = [1, 2, 3, 4], len(numbers) - len(numbers) % 4
    for place, number in enumerate(numbers[:whole]):
        sums[place % 4] = (_turned(sums[place % 4], 23) ^ number) * 0x9E3779B97F4A7C15 % _WORD
    rest = len(numbers)
    for number in numbers[whole:]:
        rest = (_turned(rest, 23) ^ number) * 0x9E3779B97F4A7C15 % _WORD
    for each in sums:
        rest = (_turned(rest, 17) ^ each) * 0xD6E8FEB86659FD93 % _WORD
    return rest


def _turned(number: int, bits: int) -> int:
    return (number << bits | number >> 64 - bits) % _WORD


def _rule(name: str, *patterns: str, label: str = "", list_items: int = 0, guards: tuple[str, ...] = ()) -> Rule:
    texts = {"en": "x"}
    return Rule(
        f"agency.negative.{name}",
        "en",
        "g",
        texts,
        texts,
        patterns,
        list_items=list_items,
        label=label,
        guards=guards,
    )


def _is_usable(source: str) -> bool:
    try:
        return cost(parse(source)) <= DEAREST
    except (PatternError, RecursionError):
        return False


def _text(sources: list[str], chance: random.Random) -> str:
    parts: list[str] = []
    for _ in range(chance.randint(1, 6)):
        words = spelled(parse(chance.choice(sources)), chance)[:300]
        cut = chance.randrange(len(words) + 1)
        parts += [words[:cut] if chance.random() < 0.3 else words, chance.choice(MARKS)]
    return "".join(parts)


KIND = Kind(
    "native-reader",
    "random rules, damaged programs and images and random bytes in the compiled library",
    prepare,
    quick=Budget(1500, 120),
    full=Budget(50_000, 3600),
)
