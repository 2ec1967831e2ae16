"""A judge's reply becomes a verdict where its meaning is certain, and a complaint where it is not."""

import json
import re
from typing import Any

from synthesis.errors import JudgeError, shorten
from synthesis.judge.model import AxisVerdict, Rubric
from synthesis.judge.verdicts import SCORES

_WHOLE_SCORE = re.compile(r"\s*([1-5])(?:\.0+)?\s*")
_OUT_OF_FIVE = re.compile(r"\s*([1-5])(?:\.0+)?\s*(?:/|out of)\s*5(?:\.0+)?\s*", re.IGNORECASE)


class UnusableReplyError(JudgeError):
    """A reply that holds no certain verdict; the message says why, in words that the judge can act on."""


def read_reply(text: str, rubric: Rubric) -> dict[str, AxisVerdict]:
    """The verdict per axis, in the rubric's order."""
    candidates = [found for found in _with_wrapped(_objects(text)) if _names_an_axis(found, rubric)]
    if not candidates:
        raise UnusableReplyError(f"there is no JSON object with the axes in it: {shorten(text, 60)!r}")
    verdicts = [read_verdict(candidate, rubric) for candidate in candidates]
    if any(_scores(verdict) != _scores(verdicts[0]) for verdict in verdicts):
        raise UnusableReplyError("there are several verdicts, and they differ")
    return verdicts[-1]


def read_verdict(value: dict[str, Any], rubric: Rubric) -> dict[str, AxisVerdict]:
    """The verdict in a decoded object; a missing axis or a score off the scale is refused."""
    by_name = {str(key).strip().lower(): item for key, item in value.items()}
    return {axis.name: _axis(axis.name, by_name.get(axis.name.lower())) for axis in rubric.axes}


def _axis(name: str, value: Any) -> AxisVerdict:
    if value is None:
        raise UnusableReplyError(f"the axis '{name}' is missing")
    if not isinstance(value, dict):
        raise UnusableReplyError(f"'{name}' must be an object with reasoning and score")
    reasoning = value.get("reasoning")
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise UnusableReplyError(f"'{name}' has no reasoning")
    return AxisVerdict(score=_score(name, value.get("score")), reasoning=reasoning.strip())


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


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


# Models put raw line breaks into strings: their meaning is certain. That of a key given twice is not.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_without_doubles)


def _objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in a text, whatever stands around them: prose, a code fence, reasoning."""
    found, position = [], text.find("{")
    while position >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
            found.append(value)
        except (ValueError, RecursionError):
            end = position + 1
        position = text.find("{", end)
    return found


def _with_wrapped(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The objects, and those they wrap: `{"verdict": {...}}`."""
    return [inner for outer in found for inner in (outer, *(v for v in outer.values() if isinstance(v, dict)))]


def _names_an_axis(value: dict[str, Any], rubric: Rubric) -> bool:
    keys = {str(key).strip().lower() for key in value}
    return any(axis.name.lower() in keys for axis in rubric.axes)


def _scores(verdict: dict[str, AxisVerdict]) -> list[int]:
    return [axis.score for axis in verdict.values()]
