"""Figures of saved runs over time, each as a small line with a dot for every run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from synthesis.history.model import JUDGE, TrendPoint
from synthesis.report.judged.run import OFFLINE, axis_title

if TYPE_CHECKING:
    from synthesis.history.store import History

WIDTH, HEIGHT, EDGE = 320, 64, 6  # of a line


class TrendFigure(NamedTuple):
    """One figure of one run: when, its value (None if unknown), and the address of the run."""

    when: str
    value: float | None
    link: str


class TrendLine(NamedTuple):
    """A figure that is drawn over time: its title, its field, its unit, and where its axis begins."""

    title: str
    field: str
    unit: str = ""
    lowest: float | None = None


def trend_of(history: "History", kind: str, name: str, tag: str | None) -> dict[str, Any]:
    """Figures over time of runs of one name, in the profile of the last: others cannot be compared with it."""
    found = history.trend(kind, name=name, tag=tag)
    profile = found[-1].profile
    points = [point for point in found if point.profile == profile]
    wanted = _judged_lines(_completeness(history, name, tag)) if kind == JUDGE else CHECK_LINES
    drawn = [_drawn(line, points, "/judged" if kind == JUDGE else "/runs") for line in wanted]
    rulers = {(point.rules_hash, point.tool_version) for point in points}
    lines = [line for line in drawn if line[1]]
    return {"name": name, "profile": profile, "lines": lines, "runs": len(points), "rulers": len(rulers)}


CHECK_LINES = (
    TrendLine("Unexpected failures", "failures", lowest=0),
    TrendLine("Label accuracy", "label_accuracy", " %"),
)


def _judged_lines(completeness: str) -> tuple[TrendLine, ...]:
    return (
        TrendLine("Pass rate", "pass_rate", " %"),
        TrendLine("Mean faithfulness", "faithfulness"),
        TrendLine(f"Mean {completeness}", "completeness"),
    )


def _drawn(line: TrendLine, points: Sequence[TrendPoint], where: str) -> tuple[str, Markup, str]:
    """Title, drawing and last figure; no drawing where fewer than two figures are known."""
    values = [getattr(point.figures, line.field) for point in points]
    figures = [
        TrendFigure(point.started[:16].replace("T", " "), value, f"{where}/{point.run_id}")
        for point, value in zip(points, values, strict=True)
    ]
    last = f"{values[-1]:g}{line.unit}" if values[-1] is not None else ""
    return line.title, sparkline(line.title, figures, line.unit, lowest=line.lowest), last


def _completeness(history: "History", name: str, tag: str | None) -> str:
    """The axis as it is shown: one offline run among them is enough to say that nobody validated it."""
    providers = [run.conditions["judge"]["provider"] for run in history.runs(kind=JUDGE, name=name, tag=tag)]
    return axis_title(OFFLINE if OFFLINE in providers else "", "completeness")


def sparkline(title: str, figures: Sequence[TrendFigure], unit: str = "", *, lowest: float | None = None) -> Markup:
    """An SVG line with a dot for each figure, and the figures in its label; empty if fewer than two are known."""
    known = [(place, figure) for place, figure in enumerate(figures) if figure.value is not None]
    if len(known) < 2:
        return Markup()
    values = [float(figure.value or 0) for _, figure in known]
    bottom = min(values) if lowest is None else lowest
    span = max(values) - bottom or 1.0
    points = [
        (_across(place, len(figures)), HEIGHT - EDGE - (value - bottom) / span * (HEIGHT - 2 * EDGE))
        for (place, _), value in zip(known, values, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = Markup().join(
        _dot(x, y, figure, unit, is_last=number == len(points) - 1)
        for number, ((x, y), (_, figure)) in enumerate(zip(points, known, strict=True))
    )
    words = f"{title}: {', '.join(f'{value:g}{unit}' for value in values)}"
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" role="img" aria-label="{words}">'
        '<polyline points="{line}"/>{dots}</svg>'
    ).format(w=WIDTH, h=HEIGHT, words=words, line=line, dots=dots)


def _across(place: int, number: int) -> float:
    return EDGE + place / max(number - 1, 1) * (WIDTH - 2 * EDGE)


def _dot(x: float, y: float, figure: TrendFigure, unit: str, *, is_last: bool) -> Markup:
    return Markup(
        '<a href="{link}" tabindex="-1"><circle cx="{x}" cy="{y}" r="{r}"{last}>'
        "<title>{when}: {value}{unit}</title></circle></a>"
    ).format(
        link=figure.link,
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        r="4.5" if is_last else "3",
        last=Markup(' class="last"') if is_last else "",
        when=figure.when,
        value=f"{figure.value:g}",
        unit=unit,
    )
