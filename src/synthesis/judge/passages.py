"""The parts of the context that claims rest on, kept in the record: it has no other copy of the context."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
