"""Claims of all answers together: how many are supported, how many quotes are false, which claims come up again."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from synthesis.judge.claims import CONTRADICTED, NOT_FOUND, SUPPORTED
from synthesis.stats import rate

MOST_FREQUENT = 10
Claim = Mapping[str, Any]  # as a record holds it


def claim_metrics(records: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How many claims are not supported, and how many quotes are false; None where no judge listed claims."""
    claims = [claim for _, claim in _judged_claims(records)]
    if not claims:
        return None
    counts, false = _by_verdict(claims), _false_quotes(claims)
    quotes = sum(bool(claim.get("quote")) for claim in claims)
    total, unsupported = len(claims), len(claims) - counts["supported"]
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
        if claim["verdict"] != SUPPORTED:
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
