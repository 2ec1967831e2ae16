"""A judged run as one page: rates with intervals, distributions, failures, and samples with their evidence."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from synthesis.report.findings import count
from synthesis.report.html.case import Span, pieces
from synthesis.report.judged.run import (
    AxisFigures,
    ClaimEvidence,
    JudgedRun,
    JudgedSample,
    Mean,
    PassagePart,
    Rate,
    RunFigures,
    axis_title,
    cost,
    is_offline,
    last_figures,
    stability,
)
from synthesis.report.templates import environment, macro, stream

SCORES = (1, 2, 3, 4, 5)
MOST_SAMPLES = 500
_PARTS = "judged_parts.html"
_SHADES = 4
_CORNERS = {
    "top left": ("persuasive but wrong", (4, 5), (1, 2)),
    "top right": ("right and helpful", (4, 5), (4, 5)),
    "bottom left": ("wrong and useless", (1, 2), (1, 2)),
    "bottom right": ("accurate but useless", (1, 2), (4, 5)),
}


def render(run: JudgedRun) -> Iterator[str]:
    """The page, piece by piece."""
    return stream("judged_report.html", **_values(run))


def body(run: JudgedRun) -> Markup:
    """What the page says about the run, to be put into another page."""
    return Markup(environment().get_template("judged_body.html").render(_values(run)))


def _values(run: JudgedRun) -> dict[str, Any]:
    figures = last_figures(run)
    judged = run.last.judged
    chosen = [*run.failed(), *(sample for sample in judged if sample.passed)][:MOST_SAMPLES]
    numbered = [(f"s{number}-", sample) for number, sample in enumerate(chosen, 1)]
    return {
        "run": run,
        "figures": figures,
        "leading": _leading(run, figures),
        "cells": _cells(run, figures),
        "scores": SCORES[::-1],
        "matrix": _matrix(run),
        "stability": stability(run),
        "errors": run.last.errors[:MOST_SAMPLES],
        "judged": len(judged),
        "chosen": len(chosen),
        "samples": [one for one in numbered if not one[1].is_empty],
        "empty": [one for one in numbered if one[1].is_empty],
        "stale": [(f"o{number}-", sample) for number, sample in enumerate(run.last.stale[:MOST_SAMPLES], 1)],
        "view": SampleView,
    }


def _leading(run: JudgedRun, figures: RunFigures) -> AxisFigures | None:
    """The axis that the offline judge's page leads with: the only one that its agreement with people speaks for."""
    found = (axis for axis in figures.axes if axis.name == "faithfulness" and is_offline(run.judge))
    return next(found, None)


def _cells(run: JudgedRun, figures: RunFigures) -> list[tuple[str, str, str]]:
    """The figures of a run: value, words, and kind."""
    totals = figures.totals
    passed = (*_rate(totals.overall_pass_rate, "passed"), "pass")
    axes = []
    for axis in figures.axes:
        axes += [
            (*_mean(axis.mean, f"mean {axis.title}"), "label"),
            (*_rate(axis.rate, f"with {axis.title} of {axis.passes_at} or more"), "pass"),
        ]
    empty = (str(figures.empty_answers), "empty answers: 1 on every axis", "error")
    return [
        *([*axes, passed] if _leading(run, figures) else [passed, *axes]),
        *([empty] if figures.empty_answers else []),
        *_claim_cells(run),
        (str(totals.errors), "could not be judged", "error" if totals.errors else ""),
        (str(totals.not_judged), "not yet judged", ""),
        (str(totals.stale), "stale: changed since", ""),
        (cost(run), "cost", ""),
    ]


def _claim_cells(run: JudgedRun) -> list[tuple[str, str, str]]:
    """Unsupported claims and false quotes; none where the judge listed no claims."""
    found = run.last.metrics.get("claims")
    if not found:
        return []
    rates = [
        (msgspec.convert(found["unsupported"], Rate), "of claims not supported"),
        (msgspec.convert(found["falseQuotes"], Rate), "of quotes false"),
    ]
    return [(*_rate(rate, words), "error" if rate.numerator else "") for rate, words in rates]


def _rate(rate: Rate, what: str) -> tuple[str, str]:
    """The figure itself, and below it what it counts, its base and its interval."""
    if rate.value is None or rate.interval is None:
        return "none", what
    low, high = (100 * bound for bound in rate.interval)
    base = f"{rate.numerator} of {rate.denominator}"
    return f"{100 * rate.value:.1f} %", f"{what}: {base}, 95 % interval {low:.1f} to {high:.1f}"


def _mean(mean: Mean, what: str) -> tuple[str, str]:
    if mean.value is None:
        return "none", what
    interval = f", 95 % interval {mean.interval[0]:.2f} to {mean.interval[1]:.2f}" if mean.interval else ""
    return f"{mean.value:.2f}", f"{what}{interval}"


class Matrix(NamedTuple):
    """Two axes against each other: an answer can be persuasive but wrong, or accurate but useless."""

    down: str
    title: str
    across: str
    left_out: int
    rows: list[tuple[int, list[tuple[int, str]]]]  # a score, and number and classes of each cell
    corners: list[tuple[str, str]]  # what such an answer is, and how many there are


def _matrix(run: JudgedRun) -> Matrix | None:
    if len(run.axes) < 2:
        return None
    (across, _), (down, _) = run.axes[:2]
    verdicts = [sample.judge_verdict for sample in run.last.judged if not sample.is_empty]
    cells = Counter((verdict[down].score, verdict[across].score) for verdict in verdicts)
    most = max(cells.values(), default=1)
    rows = [
        (row, [(cells[row, column], _look(cells[row, column], most, row, column)) for column in SCORES])
        for row in SCORES[::-1]
    ]
    left_out = len(run.last.judged) - len(verdicts)
    return Matrix(down, axis_title(run.judge, down), across, left_out, rows, list(_corners(cells, down, across)))


def _look(number: int, most: int, row: int, column: int) -> str:
    """A shade by the share of the fullest cell."""
    shade = f" shade{-(-_SHADES * number // most)}" if number else ""
    return f"cell{shade}{' corner' if 3 not in {row, column} else ''}"


def _corners(cells: Counter[tuple[int, int]], down: str, across: str) -> Iterator[tuple[str, str]]:
    """The four corners, each two scores wide, named and counted."""
    named = (across, down) == ("faithfulness", "completeness")
    for place, (name, rows, columns) in _CORNERS.items():
        number = sum(cells[row, column] for row in rows for column in columns)
        levels = f"{'high' if 5 in rows else 'low'} {down}, {'high' if 5 in columns else 'low'} {across}"
        title = f"{name.capitalize()} ({place})" if named else place.capitalize()
        yield title, f"{count(number, 'sample')}: {levels}"


# The claims of an answer: marked where they are, and each with the passage opened at its quote.


class Look(NamedTuple):
    """How a verdict looks: by its sign and the kind of line as well as by colour."""

    sign: str
    mark: str
    badge: str
    words: str


LOOKS = {
    "supported": Look("✓", "for", "pass", "supported"),
    "contradicted": Look("✗", "against", "unexpected", "contradicted"),
    "not found": Look("?", "unrecorded", "not_applicable", "not found in the context"),
}
_WORST = ("contradicted", "not found", "supported")


class ClaimView(NamedTuple):
    """A claim with its number, its look, and the part of the passage that has its quote, cut at the quote."""

    number: int
    anchor: str
    claim: ClaimEvidence
    look: Look
    part: PassagePart | None
    texts: list[str]
    remarks: str

    @property
    def is_cut(self) -> bool:
        part = self.part
        return part is not None and (part.start > 0 or part.start + len(part.text) < part.length)


class SampleView:
    """One sample; `name` tells its anchors from those of others on the page. Without one, claims are not marked."""

    def __init__(self, sample: JudgedSample, name: str = "", judge: str = "") -> None:
        self.sample, self.name = sample, name
        self.verdicts = [(axis_title(judge, axis), one) for axis, one in sample.judge_verdict.items()]
        self.has_verdicts = any(claim.verdict for claim in sample.claims)
        self.claims = (
            [self._claim(number, one) for number, one in enumerate(sample.claims, 1)] if self.has_verdicts else []
        )

    def answer(self) -> list[tuple[str, str, list[ClaimView]]]:
        """The answer in pieces: text, mark, and the claims that end here."""
        claims = [one for one in self.claims if one.claim.span] if self.name else []
        spans = [Span(*one.claim.span, one.number) for one in claims if one.claim.span]
        return [
            (piece.text, self._mark(piece.notes), [self.claims[number - 1] for number in piece.ends])
            for piece in pieces(self.sample.system_answer or "", spans)
        ]

    def tally(self) -> str:
        verdicts = [claim.verdict for claim in self.sample.claims]
        parts = [f"{look.sign} {verdicts.count(name)} {name}" for name, look in LOOKS.items() if name in verdicts]
        false = sum(claim.has_false_quote for claim in self.sample.claims)
        return ", ".join([*parts, *([f"! {count(false, 'false quote')}"] if false else [])])

    def _mark(self, numbers: tuple[int, ...]) -> str:
        if not numbers:
            return ""
        worst = min((self.claims[number - 1].claim.verdict for number in numbers), key=_WORST.index)
        return f"{LOOKS[worst].mark}{' several' if len(numbers) > 1 else ''}"

    def _claim(self, number: int, claim: ClaimEvidence) -> ClaimView:
        part = _part(claim, self.sample.passages) if claim.quote else None
        anchor = f"{self.name}claim{number}"
        return ClaimView(number, anchor, claim, LOOKS[claim.verdict], part, _texts(claim, part), _remarks(claim))


def _part(claim: ClaimEvidence, parts: tuple[PassagePart, ...]) -> PassagePart | None:
    """The kept part of the passage that has the quote; its opening where the quote is false."""
    wanted = claim.quote_span or (0, 0)
    inside = (
        part
        for part in parts
        if part.passage == claim.passage and part.start <= wanted[0] and wanted[1] <= part.start + len(part.text)
    )
    return next(inside, None)


def _texts(claim: ClaimEvidence, part: PassagePart | None) -> list[str]:
    """The passage before its quote, the quote, and what follows; one text where there is no quote in it."""
    if part is None:
        return []
    cuts = [place - part.start for place in claim.quote_span or ()]
    return [part.text[start:end] for start, end in pairwise((0, *cuts, len(part.text)))]


def _remarks(claim: ClaimEvidence) -> str:
    """What the judge or the check of its quote adds, and the words that the context does not have."""
    notes = [note for note in claim.notes if note != claim.verdict]
    if claim.unsupported:
        notes.append(f"words not in the context: {', '.join(claim.unsupported)}")
    words = f"{'; '.join(notes)}." if notes else ""
    return f"{words} Support {claim.support:.2f}." if 0 < claim.support < 1 else words


def sample_texts(sample: JudgedSample, name: str = "") -> Markup:
    """Question and answer, where the run has kept them; with a `name`, the answer's claims are marked."""
    return macro(_PARTS, "texts")(SampleView(sample, name))


def claims(sample: JudgedSample, name: str) -> Markup:
    """The evidence for each claim; as a table without verdicts for runs of version 0.1."""
    return macro(_PARTS, "claims")(SampleView(sample, name))


def context(sample: JudgedSample) -> Markup:
    """The parts of the context that were kept, to unfold."""
    return macro(_PARTS, "context")(sample.passages)


def sample_verdicts(sample: JudgedSample, judge: str = "") -> Markup:
    """The score on each axis, with the reason where it was kept, as a list."""
    return macro(_PARTS, "verdicts")(SampleView(sample, judge=judge))
