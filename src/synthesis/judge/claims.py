"""The claims of an answer: their quotes looked up in the passages, and what they add up to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synthesis.judge.replies import UnusableReplyError, fold, outermost_values
from synthesis.lazy import regex
from synthesis.stats import rate

SUPPORTED, CONTRADICTED, NOT_FOUND = "supported", "contradicted", "not found"
CANNOT_TELL = "cannot tell"  # by the offline judge: the claim needs another one
_VERDICTS = {
    **dict.fromkeys(("supported", "entailed", "yes", "true"), SUPPORTED),
    **dict.fromkeys(("contradicted", "refuted", "contradiction", "false"), CONTRADICTED),
    **dict.fromkeys(("notfound", "unsupported", "notsupported", "notmentioned", "neutral", "unverifiable"), NOT_FOUND),
}
MOST_CLAIMS = 200
_NUMBER = regex(r"\d{1,6}")
_SAME = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "})
_WRAPPED = regex(r"[\"'“”‘’«»\s]*(.*?)[\"'“”‘’«»\s]*", re.DOTALL)


class Slot(msgspec.Struct, frozen=True):
    """A part of a claim that the source fills differently: what kind of part, and what each says."""

    kind: str
    claim: str
    source: str


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
    slot: Slot | None = None

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


# The parts of the context that claims rest on, kept in the record: it has no other copy of the context.


AROUND = 240  # characters before and behind a quote that are kept with it
OPENING = 480  # characters of a passage that are kept where a quote does not stand in it
LONGEST_WORD = 30  # characters; a part ends between words, in scripts that have spaces
Claims = Sequence[Mapping[str, Any]]


def with_passages(claims: Sequence[dict[str, Any]], passages: Sequence[str]) -> dict[str, Any]:
    """The details of a verdict: its claims, and the parts of passages around their quotes."""
    return {"claims": list(claims), "passages": list(_kept(claims, passages))}


def _kept(claims: Claims, passages: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(passages, 1):
        for start, end in _joined(_wanted(claims, number)):
            start, end = _word_start(text, start), _word_end(text, end)
            if text[start:end].strip():
                yield {"passage": number, "start": start, "length": len(text), "text": text[start:end]}


def _word_start(text: str, start: int) -> int:
    return next((at for at in range(start, max(0, start - LONGEST_WORD), -1) if text[at - 1].isspace()), start)


def _word_end(text: str, end: int) -> int:
    return next((at for at in range(end, min(len(text), end + LONGEST_WORD)) if text[at].isspace()), end)


def _wanted(claims: Claims, number: int) -> list[tuple[int, int]]:
    """Around each quote of one passage; its opening for a quote that is not in it."""
    return [
        (max(0, span[0] - AROUND), span[1] + AROUND) if (span := claim.get("quoteSpan")) else (0, OPENING)
        for claim in claims
        if claim.get("passage") == number and claim.get("quote")
    ]


def _joined(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Parts that touch or overlap become one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


# Claims of all answers together: how many are supported, how many quotes are false, which claims come up again.


MOST_FREQUENT = 10
Claim = Mapping[str, Any]  # as a record holds it


def claim_metrics(records: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How many claims are not supported, and how many quotes are false; None where no judge listed claims.

    A claim that could not be told offline is in the total, and neither supported nor unsupported.
    """
    claims = [claim for _, claim in _judged_claims(records)]
    if not claims:
        return None
    counts, false = _by_verdict(claims), _false_quotes(claims)
    quotes = sum(bool(claim.get("quote")) for claim in claims)
    total, unsupported = len(claims), counts["contradicted"] + counts["notFound"]
    return {
        **counts,
        "withoutQuote": sum(claim.get("quoteFound") is False for claim in claims) - false,
        "unsupported": rate(unsupported, total, "Share of claims that are not supported"),
        "falseQuotes": rate(false, quotes, "Share of quotes that do not stand in the passage they name"),
    }


def unsupported_claims(records: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Claims by verdict for the failure analysis, and the unsupported ones that most answers have.

    The list is called `examples`, as all words of answers in the analysis are: a run saved without texts drops it.
    """
    named = _judged_claims(records)
    if not named:
        return None
    claims = [claim for _, claim in named]
    alike: dict[tuple[str, str], list[tuple[str, Claim]]] = {}
    for name, claim in named:
        if claim["verdict"] in {CONTRADICTED, NOT_FOUND}:
            alike.setdefault((claim["verdict"], _alike(claim["text"])), []).append((name, claim))
    frequent = sorted(alike.values(), key=lambda members: -len(members))[:MOST_FREQUENT]
    examples = [_frequent(members) for members in frequent]
    return {**_by_verdict(claims), "falseQuotes": _false_quotes(claims), "examples": examples}


def _by_verdict(claims: Sequence[Claim]) -> dict[str, int]:
    verdicts = Counter(claim["verdict"] for claim in claims)
    return {
        "total": len(claims),
        "supported": verdicts[SUPPORTED],
        "contradicted": verdicts[CONTRADICTED],
        "notFound": verdicts[NOT_FOUND],
        "cannotTell": verdicts[CANNOT_TELL],
    }


def _false_quotes(claims: Sequence[Claim]) -> int:
    return sum(claim.get("quoteFound") is False and bool(claim.get("quote")) for claim in claims)


def _judged_claims(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, Claim]]:
    """Claims with a verdict (those of version 0.1 have none), each with the id of its sample."""
    return [
        (record["queryLogId"], claim)
        for record in records
        for claim in record.get("details", {}).get("claims", ())
        if "verdict" in claim
    ]


def _alike(text: str) -> str:
    """Claims that differ in capitals, spaces or signs alone are one."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _frequent(members: Sequence[tuple[str, Claim]]) -> dict[str, Any]:
    claim = members[0][1]
    names = list(dict.fromkeys(name for name, _ in members))
    return {"text": claim["text"], "verdict": claim["verdict"], "count": len(members), "queryLogIds": names}
