"""The figures of a judged run: three at most in large, and all of them with their intervals as a table."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from synthesis.report.findings import count
from synthesis.report.judged.outcome import CANNOT_TELL, CONTRADICTED, NOT_FOUND, Outcome, bar, gate_rate
from synthesis.report.judged.run import (
    AxisFigures,
    FrequentClaim,
    JudgedRun,
    Mean,
    Rate,
    RunFigures,
    is_offline,
)
from synthesis.stats import rate

SCORES = (1, 2, 3, 4, 5)
MOST_REPEATED = 5


class Tile(NamedTuple):
    """A figure in large; `kind` is good, bad or open."""

    value: str
    words: str
    kind: str


def tiles(run: JudgedRun, figures: RunFigures, found: Outcome) -> Iterator[Tile]:
    passed = gate_rate(run)
    share = "none" if passed.value is None else f"{100 * passed.value:.1f} %"
    yield Tile(share, f"passed: {found.passed:,} of {found.total:,}", "good" if found.passed == found.total else "bad")
    others = [_mean_tile(axis) for axis in figures.axes]
    if is_offline(run.judge) or found.untold:
        untold = Tile(f"{found.untold:,}", f"of {found.total:,} need a judge", "open" if found.untold else "good")
        others = [*others[:1], untold]
    yield from others[:2]


def _mean_tile(axis: AxisFigures) -> Tile:
    value = axis.mean.value
    if value is None:
        return Tile("none", f"mean {axis.title}", "")
    return Tile(f"{value:.2f}", f"mean {axis.title}, of 5", "good" if value >= axis.passes_at else "bad")


class Row(NamedTuple):
    """A figure in the table, with its 95 % interval."""

    name: str
    value: str
    interval: str = ""


def rows(run: JudgedRun, figures: RunFigures, found: Outcome) -> Iterator[Row]:
    yield _rate_row(f"passed ({bar(run)})", gate_rate(run))
    if found.told != found.total:
        yield _rate_row("passed, of those with a verdict", msgspec.convert(rate(found.passed, found.told), Rate))
    for axis in figures.axes:
        yield _mean_row(f"mean {axis.title}", axis.mean)
        if len(run.gate) > 1 or axis.name not in dict(run.gate):
            yield _rate_row(f"{axis.title} of {axis.passes_at} or more", axis.rate)
        yield Row(f"{axis.title}, scores 1 to 5", ", ".join(str(axis.count(score)) for score in SCORES))
    yield from _claim_rows(run, figures)


def _claim_rows(run: JudgedRun, figures: RunFigures) -> Iterator[Row]:
    """None where the judge listed no claims. The offline judge copies its quotes, so none of them can be false."""
    claims = figures.claims
    if claims is None:
        return
    kinds = {
        "supported": claims.supported,
        CONTRADICTED: claims.contradicted,
        NOT_FOUND: claims.not_found,
        CANNOT_TELL: claims.cannot_tell,
    }
    parts = ", ".join(f"{number:,} {name}" for name, number in kinds.items() if number)
    yield Row(f"{count(claims.total, 'claim')}", parts)
    if claims.false_quotes or not is_offline(run.judge):
        quotes = msgspec.convert(run.last.metrics["claims"]["falseQuotes"], Rate)
        yield _rate_row("quotes that are not in their passage", quotes)


def _rate_row(name: str, found: Rate) -> Row:
    if found.value is None or found.interval is None:
        return Row(name, "none")
    low, high = (100 * bound for bound in found.interval)
    value = f"{100 * found.value:.1f} % ({found.numerator:,} of {found.denominator:,})"
    return Row(name, value, f"{low:.1f} to {high:.1f} %")


def _mean_row(name: str, mean: Mean) -> Row:
    if mean.value is None:
        return Row(name, "none")
    return Row(name, f"{mean.value:.2f}", f"{mean.interval[0]:.2f} to {mean.interval[1]:.2f}" if mean.interval else "")


def repeated(figures: RunFigures) -> list[FrequentClaim]:
    """Claims that several answers make and that are not supported."""
    examples = figures.claims.examples if figures.claims else ()
    return [claim for claim in examples if len(claim.query_log_ids) > 1][:MOST_REPEATED]
