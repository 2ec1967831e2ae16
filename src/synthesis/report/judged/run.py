"""A judged run as the renderers see it: figures and records as they stand in its files."""

from typing import Any

import msgspec

Figures = dict[str, Any]


class Iteration(msgspec.Struct, frozen=True):
    """One iteration: what was judged, what could not be, and the figures."""

    number: int
    metrics: Figures
    cost: Figures
    analysis: Figures
    records: tuple[Figures, ...]
    errors: tuple[Figures, ...]


class JudgedRun(msgspec.Struct, frozen=True):
    """A run with all its iterations; `axes` are the names and the score from which each passes."""

    name: str
    judge: str
    rubric: str
    axes: tuple[tuple[str, int], ...]
    iterations: tuple[Iteration, ...]
    final_metrics: Figures | None = None
    final_cost: Figures | None = None

    @property
    def last(self) -> Iteration:
        return self.iterations[-1]


def axis_figures(run: JudgedRun, axis: str) -> tuple[Figures, Figures, Figures]:
    """Mean, pass rate and distribution of one axis in the last iteration."""
    metrics = run.last.metrics
    name = axis[0].upper() + axis[1:]
    return metrics[f"average{name}Score"], metrics[f"{axis}PassRate"], metrics[f"{axis}Distribution"]


def share(figure: Figures) -> str:
    """`5 of 8, 62.5 % (30.6 to 86.3)`: a rate with its base and its interval."""
    if figure["value"] is None:
        return f"{figure['numerator']} of {figure['denominator']}"
    text = f"{figure['numerator']} of {figure['denominator']}, {100 * figure['value']:.1f} %"
    interval = figure.get("interval")
    return f"{text} ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})" if interval else text


def mean(figure: Figures) -> str:
    """`3.75 (2.88 to 4.63)`: a mean with its interval."""
    if figure["value"] is None:
        return "none"
    interval = figure.get("interval")
    text = f"{figure['value']:.2f}"
    return f"{text} ({interval[0]:.2f} to {interval[1]:.2f})" if interval else text


def cost(run: JudgedRun) -> str:
    """What the run has cost, and what is not known about it."""
    figures = run.final_cost["aggregateStats"] if run.final_cost else run.last.cost
    total = figures.get("totalCost")
    if total is None:
        return "unknown (no price)"
    return f"{total:.4f} USD" if total else "none"


def failed(run: JudgedRun) -> list[Figures]:
    """The records of the last iteration that did not pass, the lowest scores first."""
    return sorted((r for r in run.last.records if not r["passed"]), key=lambda r: (r["overallScore"], r["queryLogId"]))
