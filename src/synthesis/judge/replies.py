"""What a judge's reply means: every shape whose meaning is certain is read, and nothing else.

A reply may think aloud, wrap its verdict in prose, or write JSON carelessly. It is not read where it holds two
verdicts that differ, pieces of a second one, or a verdict that also appears in the material: an answer under test
must not plant its own.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synthesis.errors import JudgeError, shorten
from synthesis.judge.model import AxisVerdict, Rubric
from synthesis.judge.records import SCORES
from synthesis.lazy import regex

# JSON as models write it: in single quotes, with trailing commas, bare keys, raw line breaks, quotes inside a text.
# Every valid array or object is read as `json` reads it. What is not certain (a key that appears twice) is refused.


MOST_NESTED = 12  # a verdict has three levels; the bound keeps the work linear on any text
_SPACE = regex(r"\s*")
_BARE_KEY = regex(r"[A-Za-z_]\w*(?=\s*:)")
_NUMBER = regex(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?![\w.])")
_WORD = regex(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
# A quote inside a text that nobody escaped ("it's") is not followed by what follows a text. Every character has one
# part that can take it, so a text without an end fails in linear time. (A possessive repeat would say so more shortly,
# but Python before 3.11.5 loses matches with it.)
_TEXT = r"{q}([^{q}\\]*(?:(?:\\.|{q}(?!\s*[,:}}\]]))[^{q}\\]*)*){q}(?=\s*[,:}}\]])"
_STRINGS = {quote: regex(_TEXT.format(q=quote), re.DOTALL) for quote in "\"'"}
_ESCAPE = regex(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PAIR = regex("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Scanner:
    """Reads values at places of one text. Attempts that fail share an allowance, so all take linear time together."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._allowance = 4 * len(text) + 1_000

    def read(self, start: int) -> tuple[Any, int] | None:
        """The array or object that begins at `start`, and where it ends; None where its meaning is not certain."""
        reader = _Reader(self._text, start)
        if self._allowance < 0:
            return None
        try:
            return reader.value(0), reader.at
        except _NotJsonError:
            self._allowance -= reader.at - start
            return None


class _NotJsonError(ValueError):
    """At this place there is no value whose meaning is certain."""


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def value(self, depth: int) -> Any:
        if depth > MOST_NESTED:
            raise _NotJsonError
        match self._peek():
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"' | "'" as quote:
                return self._string(quote)
        return self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while self._peek() != "}":
            key = self._key()
            self._take(":")
            if key in found:
                raise _NotJsonError
            found[key] = self.value(depth + 1)
            self._separate("}")
        self.at += 1
        return found

    def _array(self, depth: int) -> list[Any]:
        found = []
        self.at += 1
        while self._peek() != "]":
            found.append(self.value(depth + 1))
            self._separate("]")
        self.at += 1
        return found

    def _separate(self, end: str) -> None:
        """A comma, also before the end; only at the end is there none."""
        if self._peek() != end:
            self._take(",")

    def _key(self) -> str:
        quote = self._peek()
        if quote in _STRINGS:
            return self._string(quote)
        return self._matched(_BARE_KEY)

    def _string(self, quote: str) -> str:
        found = _STRINGS[quote].match(self._text, self.at)
        if found is None:
            self.at = len(self._text)  # so far did the search go
            raise _NotJsonError
        self.at = found.end()
        return _unescaped(found[1])

    def _scalar(self) -> Any:
        if number := _NUMBER.match(self._text, self.at):
            self.at = number.end()
            return _number(number[0])
        word = self._matched(_WORD).lower()
        if word not in _WORDS:
            raise _NotJsonError
        return _WORDS[word]

    def _matched(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self.at)
        if found is None:
            raise _NotJsonError
        self.at = found.end()
        return found[0]

    def _peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        space = _SPACE.match(self._text, self.at)
        self.at = space.end() if space else self.at
        return self._text[self.at : self.at + 1]

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise _NotJsonError
        self.at += 1


def _number(digits: str) -> int | float:
    try:
        return int(digits) if digits.lstrip("-").isdigit() else float(digits)
    except ValueError:  # Python converts no integer of thousands of digits
        raise _NotJsonError from None


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(lambda found: _character(found[1]), raw)
    return _PAIR.sub(_joined, text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPED.get(escape, escape)


def _joined(pair: re.Match[str]) -> str:
    """A character beyond the BMP, which JSON escapes as two halves."""
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


# From values to a verdict.


LONGEST = 1_000_000  # characters of a reply that are looked at
_DEPTH = 4  # `{"result": {"verdict": {"axes": [...]}}}`
_WHOLE_SCORE = regex(r"\s*([1-5])(?:\.0+)?\s*")
_OUT_OF_FIVE = regex(r"\s*([1-5])(?:\.0+)?\s*(?:/|out of)\s*5(?:\.0+)?\s*", re.IGNORECASE)
_MARKS = regex(r"[{\[]|<(/?)think(?:ing)?>", re.IGNORECASE)
_THOUGHT_ENDS = regex(r"</think(?:ing)?>", re.IGNORECASE)
SCORE_NAMES = ("score", "rating", "value")
REASON_NAMES = ("reasoning", "reason", "explanation", "rationale", "justification")
LABEL_NAMES = ("axis", "name", "criterion", "dimension", "metric", "aspect")


class UnusableReplyError(JudgeError):
    """A reply without a certain verdict; the message says why, in words that the judge can act on."""


class _Claim(msgspec.Struct, frozen=True):
    """What one place of a reply says about one axis."""

    axis: str
    score: Any
    reasoning: str


class _Found(msgspec.Struct, frozen=True):
    """An array or object in a text, where it stands, and what it says about axes."""

    start: int
    end: int
    value: Any
    claims: tuple[_Claim, ...]


def read_reply(text: str, rubric: Rubric, material: Sequence[str] = ()) -> dict[str, AxisVerdict]:
    """The verdict per axis, in the rubric's order; `material` is what the judge was shown."""
    text = text[:LONGEST]
    values, rest = _outside_thoughts(text, _axis_names(rubric))
    found = [one for one in values if one.claims]
    if not found:
        raise UnusableReplyError("there is no JSON object with the axes in it")
    if _fragment(rubric).search(rest):
        raise UnusableReplyError("there are pieces of another verdict beside the JSON object")
    planted = _Planted(material, rubric)
    if any(planted.holds(text, one) for one in found):
        raise UnusableReplyError("it repeats a verdict that appears in the material; give your own, and only that")
    return _agreed([claim for one in found for claim in one.claims], rubric)


def outermost_values(text: str) -> list[Any]:
    """The arrays and objects of a reply, outside of thoughts."""
    return [one.value for one in _outside_thoughts(text[:LONGEST], {})[0]]


def read_verdict(value: Any, rubric: Rubric) -> dict[str, AxisVerdict]:
    """The verdict in a decoded object; a missing axis or a score off the scale is refused."""
    return _agreed(list(_claims(value, _axis_names(rubric))), rubric)


def _agreed(claims: Sequence[_Claim], rubric: Rubric) -> dict[str, AxisVerdict]:
    return {axis.name: _axis(axis.name, [claim for claim in claims if claim.axis == axis.name]) for axis in rubric.axes}


def _axis(name: str, claims: Sequence[_Claim]) -> AxisVerdict:
    if not claims:
        raise UnusableReplyError(f"the axis '{name}' is missing")
    scores = {_score(name, claim.score) for claim in claims}
    if len(scores) > 1:
        raise UnusableReplyError(f"there are several verdicts on '{name}', and they differ")
    reasons = [claim.reasoning for claim in claims if claim.reasoning]
    return AxisVerdict(score=scores.pop(), reasoning=reasons[-1] if reasons else "")


def _score(name: str, value: Any) -> int:
    if value is None:
        raise UnusableReplyError(f"'{name}' has no score")
    if type(value) is int and value in SCORES:
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    match = _WHOLE_SCORE.fullmatch(text) or (_OUT_OF_FIVE.fullmatch(text) if isinstance(value, str) else None)
    if match is None:
        raise UnusableReplyError(f"the score of '{name}' must be a whole number from 1 to 5, not {shorten(text, 30)}")
    return int(match[1])


def _outside_thoughts(text: str, names: dict[str, str]) -> tuple[list[_Found], str]:
    """The values outside of thoughts, and the text between them.

    A tag inside a value is a part of its text. An end without a beginning makes a thought of all before it, as
    chat templates that open the thought themselves leave it.
    """
    found: list[_Found] = []
    between: list[str] = []
    scanner, at = Scanner(text), 0
    while mark := _MARKS.search(text, at):
        between.append(text[at : mark.start()])
        at = mark.end()
        if mark[0] in "{[":
            one = _value_at(scanner, mark.start(), names)
            between += [mark[0]] if one is None else ["\n"]
            found += [one] if one else []
            at = one.end if one else at
        elif mark[1]:
            found, between = [], []
        else:
            end = _THOUGHT_ENDS.search(text, at)
            at = end.end() if end else len(text)
    return found, "".join([*between, text[at:]])


def _value_at(scanner: Scanner, start: int, names: dict[str, str]) -> _Found | None:
    read = scanner.read(start)
    return read and _Found(start, read[1], read[0], tuple(_claims(read[0], names)))


class _Planted:
    """Verdicts that stand in the material, in whatever way they are written there."""

    def __init__(self, material: Sequence[str], rubric: Rubric) -> None:
        self._texts = [_plain(text) for text in material]
        self._verdicts = {_compared(claims) for text in material for claims in _anywhere(text, rubric)}

    def holds(self, text: str, one: _Found) -> bool:
        said = _plain(text[one.start : one.end])
        return _compared(one.claims) in self._verdicts or any(said in shown for shown in self._texts)


def _anywhere(text: str, rubric: Rubric) -> Iterator[tuple[_Claim, ...]]:
    names = _axis_names(rubric)
    if not any(name in fold(text) for name in names):
        return  # as nearly all texts
    scanner = Scanner(text)
    for mark in re.finditer(r"[{\[]", text):
        with contextlib.suppress(UnusableReplyError):
            one = _value_at(scanner, mark.start(), names)
            if one and one.claims:
                yield one.claims


def _compared(claims: Sequence[_Claim]) -> frozenset[tuple[str, str, str]]:
    return frozenset((claim.axis, _plain(str(claim.score)), _plain(claim.reasoning)) for claim in claims)


def _plain(text: str) -> str:
    """Without what a copy may change: white space, upper case, the kind of quotes."""
    return re.sub(r"\s+", "", text).casefold().replace("'", '"')


def _claims(value: Any, names: dict[str, str], depth: int = 0) -> Iterator[_Claim]:
    """What a value says about axes: by their names as keys, or in entries that name their axis."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _claims(item, names, depth + 1)
    if not isinstance(value, dict):
        return
    keys = _folded(value)
    direct = [*_by_key(keys, names), *_by_label(keys, names)]
    yield from direct
    if not direct:
        for item in value.values():
            yield from _claims(item, names, depth + 1)


def _by_key(keys: dict[str, Any], names: dict[str, str]) -> Iterator[_Claim]:
    """`faithfulness: {score, reasoning}`, `faithfulness: 4`, `faithfulness_score: 4`."""
    for folded, axis in names.items():
        for key in (folded, *(folded + name for name in SCORE_NAMES)):
            if key not in keys:
                continue
            value = keys[key]
            if isinstance(value, dict):
                inner = _folded(value)
                yield _Claim(axis, _first(inner, SCORE_NAMES), _reason(inner))
            else:
                yield _Claim(axis, value, _reason(keys, folded) or _reason(keys))


def _by_label(keys: dict[str, Any], names: dict[str, str]) -> Iterator[_Claim]:
    """`{axis: faithfulness, score: 4}`; where a rubric has one axis, its name may be left out."""
    labels = [fold(keys[name]) for name in LABEL_NAMES if isinstance(keys.get(name), str)]
    axes = [names[label] for label in labels if label in names]
    if not axes and not labels and len(names) == 1 and not names.keys() & keys.keys():
        axes = list(names.values())
    if axes and any(name in keys for name in SCORE_NAMES):
        yield _Claim(axes[0], _first(keys, SCORE_NAMES), _reason(keys))


def _first(keys: dict[str, Any], names: Sequence[str]) -> Any:
    return next((keys[name] for name in names if name in keys), None)


def _reason(keys: dict[str, Any], prefix: str = "") -> str:
    said = _first(keys, [prefix + name for name in REASON_NAMES])
    return said.strip() if isinstance(said, str) else ""


def _folded(value: dict[str, Any]) -> dict[str, Any]:
    """By folded key; two keys that fold alike would hide one another."""
    folded: dict[str, Any] = {}
    for key, item in value.items():
        if folded.setdefault(fold(key), item) != item:
            raise UnusableReplyError(f"'{shorten(key, 30)}' appears twice")
    return folded


def _axis_names(rubric: Rubric) -> dict[str, str]:
    return {fold(axis.name): axis.name for axis in rubric.axes}


def _fragment(rubric: Rubric) -> re.Pattern[str]:
    """A quoted key of a verdict, as it is left over from one that is broken or that broke out of a text."""
    names = "|".join(map(re.escape, (*SCORE_NAMES[:2], *(axis.name for axis in rubric.axes))))
    return re.compile(rf"[\"'](?:{names})[\"']\s{{0,9}}:", re.IGNORECASE)


def fold(name: object) -> str:
    return re.sub(r"[\W_]+", "", str(name)).casefold()
