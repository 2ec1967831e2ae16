"""A line of figures over time, drawn as SVG: no script, and the same figures in words."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT, EDGE = 320, 64, 6


class Figure(NamedTuple):
    """One figure: when it was, what it is (None: nothing is known), and where it leads."""

    when: str
    value: float | None
    link: str


def sparkline(title: str, figures: Sequence[Figure], unit: str = "", *, lowest: float | None = None) -> Markup:
    """The line with a dot for each figure; nothing where fewer than two are known. `lowest` is its bottom."""
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


def _dot(x: float, y: float, figure: Figure, unit: str, *, is_last: bool) -> Markup:
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
