"""Single functions of the compiled reader as Python calls, for tests that compare them with Python's own."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_size_t, c_uint32
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from synthesis.checks.helplines import Line, lines
from synthesis.rules.native.library import Handle, Library, encoded, flat, library, numbers_of
from synthesis.rules.native.program import NUMBER, Sections, characters
from synthesis.rules.native.reader import _characters
from synthesis.rules.text import Language, Span

HELPLINES_MAGIC, HELPLINES_FORMAT = 0x53594E48, 1
DECLINED = 0xFFFFFFFF
_HALF = 1 << 64


class Shape(NamedTuple):
    holds_code: bool
    pasted: int | None
    quotes: int
    questions: int


class TakenUp(NamedTuple):
    only_repeats: bool
    families: int
    words: list[str]


def compiled() -> Library:
    found = library()
    assert found is not None, "cargo is here, but the compiled reader is not: run `make dev`"
    return found


def tables() -> Handle:
    return _characters(compiled())


def prose_of(pairs: Sequence[tuple[str, str]]) -> list[str | None]:
    """What is said of each first text, which answers the second; None where Python must say."""
    texts = [text for pair in pairs for text in pair]
    answer = iter(compiled().call("prose", tables(), *encoded(texts)))
    return [_said(next(answer), text, answer) for text, _ in pairs]


def _said(status: int, text: str, answer: Iterator[int]) -> str | None:
    if status == 0:
        return text
    return None if status == 2 else "".join(map(chr, islice(answer, len(text))))


def _points(text: str) -> tuple[Any, ...]:
    """A single text, without where it ends."""
    return encoded([text])[:2]


def drafts(text: str, openings: Sequence[Span] = (), closings: Sequence[Span] = ()) -> list[Span]:
    spans = [number for span in (*openings, *closings) for number in span]
    answer = compiled().call("drafts", tables(), *_points(text), *numbers_of(spans), c_size_t(2 * len(openings)))
    return list(zip(answer[::2], answer[1::2], strict=True))


def shapes(texts: Sequence[str]) -> list[Shape]:
    answer = iter(compiled().call("shape", tables(), *encoded(texts)))
    return [
        Shape(bool(code), pasted - 1 if pasted else None, quotes, questions)
        for code, pasted, quotes, questions in zip(answer, answer, answer, answer, strict=True)
    ]


def taken_up(user: tuple[str, Language], reply: tuple[str, Language]) -> TakenUp:
    """Of two texts, each in its normal form or, where no spaces part the words, as spoken."""
    everyday = [sorted(language.everyday) for _, language in (user, reply)]
    kinds = [int(kind) for _, language in (user, reply) for kind in (language.spaced, language.single_ideographs)]
    texts = [user[0], reply[0], *everyday[0], *everyday[1]]
    answer = compiled().call("taken_up", tables(), *encoded(texts), *numbers_of(kinds), c_size_t(len(everyday[0])))
    spans = zip(answer[2::2], answer[3::2], strict=True)
    return TakenUp(bool(answer[0]), answer[1], [reply[0][start:end] for start, end in spans])


def helplines_program(numbers: Iterable[Sequence[str]]) -> bytes:
    """The numbers of each line as the compiled reader takes them."""
    sections = Sections(HELPLINES_MAGIC, HELPLINES_FORMAT)
    flattened: list[int] = []
    for texts in numbers:
        flattened.append(len(texts))
        for text in texts:
            flattened += (len(text), *characters(text))
    sections.add(flattened)
    return sections.to_bytes()


@cache
def _helplines() -> Handle:
    program = helplines_program((line.number, *line.also) for line in lines())
    return compiled().make("helplines", tables(), *flat(program))


def named_in(texts: Sequence[str]) -> list[list[Line] | None]:
    """The lines that each text names; None where Python must say."""
    answer = iter(compiled().call("named", tables(), _helplines(), *encoded(texts)))
    return [
        None if count == DECLINED else [lines()[next(answer)] for _ in range(count)]
        for count in (next(answer) for _ in texts)
    ]


def spans(tokens: Sequence[tuple[int, int, int]], text: str, total: int) -> list[tuple[int, int, int]]:
    numbers = [_signed(total % _HALF), total // _HALF, *(number for token in tokens for number in token)]
    answer = array("q", compiled().answer("spans", tables(), *_points(text), *flat(array("q", numbers).tobytes())))
    return [
        (start, end, high * _HALF + low % _HALF)
        for start, end, low, high in zip(answer[::4], answer[1::4], answer[2::4], answer[3::4], strict=True)
    ]


def _signed(number: int) -> int:
    return number - _HALF if number >= _HALF >> 1 else number


def image(program: bytes, rules: Sequence[int]) -> "array[int]":
    """The image of a program whose rules are looked for on every side."""
    numbers = numbers_of(3 * [len(rules), *rules])
    return array(NUMBER, compiled().answer("image", tables(), *flat(program), *numbers))


def matcher(image: bytes) -> Handle:
    return compiled().make("matcher", tables(), *flat(image))


def read(matcher: Handle, *texts: str) -> list[int]:
    """The answer to some replies, as the library gives it."""
    return compiled().call("read", tables(), matcher, c_uint32(1), *encoded(texts))
