"""A figure over time, drawn: both axes, a dot for each figure with its interval, names and dates below."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from synthesis.report.templates import macro

CHARTS = "charts.html"  # the template of all drawings
WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 40, 14, 12, 40  # room around the drawing for the axes
MOST_LABELS = 6  # below the drawing
_STEPS = (1, 2, 2.5, 5, 10)  # an axis ends at one of these, times a power of ten


class Figure(NamedTuple):
    """One figure: of what, when, its value (None if unknown), its interval, what it says, and where it leads."""

    name: str
    when: str
    value: float | None
    interval: tuple[float, float] | None = None
    words: str = ""
    link: str = ""


class Dot(NamedTuple):
    """A figure in the drawing; `low` and `high` are where its interval ends."""

    x: float
    y: float
    low: float | None
    high: float | None
    figure: Figure


def curve(title: str, figures: Sequence[Figure], unit: str = "", least_top: float = 0.0) -> Markup:
    """An SVG with both axes, a dot for each figure and its interval; empty if fewer than two are known."""
    known = [(place, figure, figure.value) for place, figure in enumerate(figures) if figure.value is not None]
    if len(known) < 2:
        return Markup()
    top = axis_end(max(least_top, *(figure.interval[1] if figure.interval else value for _, figure, value in known)))

    def down(value: float) -> float:
        return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)

    dots = [
        Dot(_across(place, len(figures)), down(value), *_ends(figure, down), figure) for place, figure, value in known
    ]
    ticks = [(f"{share * top:g}{unit}", down(share * top)) for share in (0, 0.5, 1)]
    return macro(CHARTS, "curve")(title, dots, ticks, _labels(figures), unit, (WIDTH, HEIGHT, LEFT, RIGHT))


def _ends(figure: Figure, down: Callable[[float], float]) -> tuple[float | None, float | None]:
    return (down(figure.interval[0]), down(figure.interval[1])) if figure.interval else (None, None)


def axis_end(value: float) -> float:
    """The next round number, so that an axis can be read."""
    power = 1.0
    while power * 10 < value:
        power *= 10
    while power > value > 0:
        power /= 10
    return next((step * power for step in _STEPS if step * power >= value), value) or 1.0


def _across(place: int, number: int) -> float:
    return LEFT + place / max(number - 1, 1) * (WIDTH - LEFT - RIGHT)


def _labels(figures: Sequence[Figure]) -> list[tuple[float, str, str]]:
    """Names and dates below the drawing, as many as have room, the last among them."""
    step = -(-len(figures) // MOST_LABELS)
    places = [place for place in range(len(figures)) if (len(figures) - 1 - place) % step == 0]
    return [(_across(place, len(figures)), figures[place].name[:10], figures[place].when) for place in places]
