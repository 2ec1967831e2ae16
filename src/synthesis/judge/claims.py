"""Claims of an answer with their evidence: the judge decides, and every quote it gives is checked word by word."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from synthesis.judge.replies import UnusableReplyError, fold, outermost_values

SUPPORTED, CONTRADICTED, NOT_FOUND = "supported", "contradicted", "not found"
_VERDICTS = {
    **dict.fromkeys(("supported", "entailed", "yes", "true"), SUPPORTED),
    **dict.fromkeys(("contradicted", "refuted", "contradiction", "false"), CONTRADICTED),
    **dict.fromkeys(("notfound", "unsupported", "notsupported", "notmentioned", "neutral", "unverifiable"), NOT_FOUND),
}
MOST_CLAIMS = 200
_NUMBER = re.compile(r"\d{1,6}")
_SAME = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "})
_WRAPPED = re.compile(r"[\"'“”‘’«»\s]*(.*?)[\"'“”‘’«»\s]*", re.DOTALL)


class CheckedClaim(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One claim, what the judge said of it, and whether its quote stands where the judge says.

    `text`, `support`, `evidence`, `unsupported` and `notes` are what the offline judge gives as well. `span` and
    `quote_span` are places in the answer and in the passage (numbered from 1), in characters.
    """

    text: str
    support: float
    evidence: str
    unsupported: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    verdict: str = NOT_FOUND
    span: tuple[int, int] | None = None
    passage: int | None = None
    quote: str = ""
    quote_found: bool | None = None
    quote_span: tuple[int, int] | None = None

    def as_detail(self) -> dict[str, Any]:
        """As a record holds it."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in _fields(self).items()}
        return {"unsupported": [], "notes": [], "verdict": self.verdict, **found}


def _fields(claim: CheckedClaim) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(claim)
    return fields


def read_claims(text: str, answer: str, passages: Sequence[str]) -> list[dict[str, Any]]:
    """The claims in a reply, checked; a reply without a list of them cannot be used."""
    lists = [found for value in outermost_values(text) if (found := _listed(value)) is not None]
    if not lists:
        raise UnusableReplyError('there is no list of "claims"')
    if any(other != lists[0] for other in lists):
        raise UnusableReplyError('there are several lists of "claims", and they differ')
    if len(lists[0]) > MOST_CLAIMS:
        raise UnusableReplyError(f"there are more than {MOST_CLAIMS} claims")
    said, shown = Comparable(answer), [Comparable(passage) for passage in passages]
    return [_checked(entry, number, said, shown).as_detail() for number, entry in enumerate(lists[0], 1)]


def _listed(value: Any) -> list[Any] | None:
    """The list under the key "claims", also one level down."""
    if not isinstance(value, dict):
        return None
    for inner in (value, *(item for item in value.values() if isinstance(item, dict))):
        for key, item in inner.items():
            if fold(key) == "claims" and isinstance(item, list):
                return item
    return None


def _checked(entry: Any, number: int, answer: "Comparable", passages: "Sequence[Comparable]") -> CheckedClaim:
    keys = {fold(key): value for key, value in entry.items()} if isinstance(entry, dict) else {}
    text = _first_text(keys, ("claim", "text", "statement"))
    verdict = _VERDICTS.get(fold(_first_text(keys, ("verdict", "label", "status"))))
    if not text or verdict is None:
        raise UnusableReplyError(f"claim {number} needs a text and a verdict: supported, contradicted or not found")
    words, quote = _first_text(keys, ("words", "sentence")), _unwrapped(_first_text(keys, ("quote", "evidence")))
    passage = _passage_number(keys.get("passage"))
    span = passages[passage - 1].locate(quote) if quote and passage and passage <= len(passages) else None
    return CheckedClaim(
        text=text,
        support=1.0 if verdict == SUPPORTED else 0.0,
        evidence=quote if span else "",
        notes=tuple(_notes(verdict, quote, passage, span, passages)),
        verdict=verdict,
        span=answer.locate(_unwrapped(words) or text),
        passage=passage,
        quote=quote,
        quote_found=None if not quote and verdict == NOT_FOUND else span is not None,
        quote_span=span,
    )


def _notes(
    verdict: str, quote: str, passage: int | None, span: tuple[int, int] | None, passages: "Sequence[Comparable]"
) -> Iterable[str]:
    if verdict != SUPPORTED:
        yield verdict
    if span is not None or (not quote and verdict == NOT_FOUND):
        return
    if not quote:
        yield "the judge gives no quote"
        return
    elsewhere = [number for number, text in enumerate(passages, 1) if text.locate(quote)]
    place = f"passage {passage}" if passage else "a passage that it names"
    also = f"; it stands in passage {elsewhere[0]}" if elsewhere else ""
    yield f"false quote: it does not stand in {place}{also}"


class Comparable:
    """A text in which quotes are looked for; white space, capitals, forms of quotes and dashes make no difference."""

    def __init__(self, text: str) -> None:
        plain: list[str] = []
        self._places: list[int] = []  # of each compared character in the original
        for place, char in enumerate(text.translate(_SAME)):
            shown = " " if char.isspace() else char.lower()[:1]
            if shown != " " or (plain and plain[-1] != " "):
                plain.append(shown)
                self._places.append(place)
        self._plain = "".join(plain).rstrip(" ")

    def locate(self, quote: str) -> tuple[int, int] | None:
        """Where a quote begins and ends in the original."""
        wanted = Comparable(quote)._plain
        start = self._plain.find(wanted) if wanted else -1
        return None if start < 0 else (self._places[start], self._places[start + len(wanted) - 1] + 1)


def _unwrapped(text: str) -> str:
    found = _WRAPPED.fullmatch(text)
    return found[1] if found else text


def _first_text(keys: Mapping[str, Any], names: Sequence[str]) -> str:
    value = next((keys[name] for name in names if name in keys), "")
    return value.strip() if isinstance(value, str) else ""


def _passage_number(value: Any) -> int | None:
    found = _NUMBER.search(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    return int(found[0]) or None if found else None
