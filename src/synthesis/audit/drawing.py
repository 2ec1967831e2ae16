"""The audit as a page that prints, and as Markdown. Both draw the same sections; pictures are on the page only."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from synthesis.audit.parts import (
    FILL_IN,
    HIDDEN,
    HIDDEN_NOTE,
    NOT_LEGAL_ADVICE,
    Charts,
    Funnel,
    Items,
    Part,
    Point,
    Section,
    Table,
)
from synthesis.audit.sections import sections
from synthesis.audit.summary import cover, hashes
from synthesis.lazy import regex

if TYPE_CHECKING:
    from markupsafe import Markup

TITLE = "Audit of conversations"

# The document as Markdown. What comes from the log is escaped, so that nothing in it can link or format.


_SIGNS = regex(r"([\\`*_{}\[\]<>|#@!~])")


def render_markdown(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {TITLE}\n\n"
    yield _markdown_table(Table(("", ""), (*cover(document), *hashes(document))))
    yield f"\n{_plain(NOT_LEGAL_ADVICE)}\n\n"
    for section in sections(document):
        yield _markdown_section(section)
    if not document["options"]["all_cells"]:
        yield f"{_plain(HIDDEN_NOTE)}\n"


def _markdown_section(section: Section) -> str:
    parts = [_markdown_part(part) for part in section.content]
    return f"{'#' * section.level} {_plain(section.title)}\n\n" + "\n".join(filter(None, parts)) + "\n"


def _markdown_part(part: Part) -> str:
    match part:
        case Table():
            return _markdown_table(part)
        case Items():
            return "".join(f"- {_plain(item)}\n" for item in part.items)
        case str():
            return f"{_plain(part)}\n"
    return ""  # a picture of figures that a table holds


def _markdown_table(table: Table) -> str:
    caption = f"{_plain(table.caption)}:\n\n" if table.caption else ""
    lines = "".join("| ---: " if at in table.numbers else "| --- " for at in range(len(table.head)))
    rows = "".join(_line(row) for row in table.rows)
    return f"{caption}{_line(table.head)}{lines}|\n{rows}"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |\n"


def _plain(text: str) -> str:
    return _SIGNS.sub(r"\\\1", text)


# The document as one page: no network, no script, readable on a phone and on paper.


_INTERVAL = regex(r"\([\d.]+ % to [\d.]+ %\)")
FEW = 3  # columns
SHORT, LITTLE = 8, 600  # rows and characters of a table that is kept on one page


def render_html(document: Mapping[str, Any]) -> Iterator[str]:
    from synthesis.report.templates import stream  # only where a page is drawn: it brings Jinja

    drawn = [(_id(section), section, [_html_part(part) for part in section.content]) for section in sections(document)]
    return stream(
        "audit.html",
        title=TITLE,
        advice=NOT_LEGAL_ADVICE,
        cover=[_cover_line(name, value) for name, value in cover(document)],
        hashes=list(hashes(document)),
        sections=drawn,
        hidden_note="" if document["options"]["all_cells"] else HIDDEN_NOTE,
        cell=_html_cell,
        few=FEW,
        is_short=_is_short,
        tool=document["tool"],
    )


def _cover_line(name: str, value: str) -> tuple[str, str, str]:
    """A name, what was given, and what to write where nothing was."""
    return (name, "", value) if value.startswith(FILL_IN) else (name, value, "")


def _id(section: Section) -> str:
    return re.sub(r"\W+", "-", section.title.lower()).strip("-")


def _html_part(part: Part) -> tuple[str, Any]:
    """What the template draws, and how."""
    match part:
        case Funnel():
            return "funnel", _funnel(part)
        case Charts():
            return "charts", [(name, title, _curve(name, points)) for name, title, points in part.charts]
        case Table():
            return "table", part
        case Items():
            return "items", part
    return "text", part


def _is_short(table: Table) -> bool:
    return len(table.rows) <= SHORT and sum(len(text) for row in table.rows for text in row) <= LITTLE


def _curve(name: str, points: Sequence[Point]) -> "Markup":
    from synthesis.report.html.curves import Figure, curve

    figures = [Figure(point.name, "", point.rate, point.interval, point.words) for point in points]
    return curve(name, figures, " %")


def _html_cell(text: str) -> str:
    """A rate and its percent sign stay on one line, and so does an interval."""
    return _INTERVAL.sub(lambda found: found[0].replace(" ", "\u00a0"), text).replace(" %", "\u00a0%")


# The funnel: bars of all conversations, then those with an explicit cue at full width, by what came of them.


WIDTH = 640
_TONES = {2: ("pass", "unexpected"), 3: ("pass", "expected", "unexpected")}  # by how many outcomes are known


class Bar(msgspec.Struct, frozen=True):
    """One bar, where it begins and how long it is, in the units of the drawing."""

    label: str
    number: str
    start: float
    width: float
    tone: str


class FunnelBars(msgspec.Struct, frozen=True):
    """The bars; `outcomes` is empty where a count is hidden."""

    stages: list[Bar]
    outcomes: list[Bar]
    words: str


def _funnel(funnel: Funnel) -> FunnelBars:
    steps = (
        ("conversations", funnel.conversations, "none"),
        ("with a soft cue only", funnel.soft, "soft"),
        ("with an explicit cue", funnel.explicit, "cue"),
    )
    stages = [Bar(words, _shown(number), 0, _wide(number, funnel.conversations), tone) for words, number, tone in steps]
    outcomes, start = [], 0.0
    for (words, number), tone in zip(funnel.referred, _TONES[len(funnel.referred)], strict=True):
        width = _wide(number, funnel.explicit)
        outcomes.append(Bar(words, _shown(number), start, width, tone))
        start += width
    is_known = bool(funnel.explicit) and all(number is not None for _, number in funnel.referred)
    told = ", ".join(f"{bar.number} {bar.label}" for bar in (*stages, *outcomes))
    return FunnelBars(stages, outcomes if is_known else [], told)


def _shown(number: int | None) -> str:
    return HIDDEN if number is None else f"{number:,}"


def _wide(number: int | None, whole: int | None) -> float:
    """At least a line where there is somebody; nothing where the count is hidden."""
    return max(1.5, WIDTH * number / whole) if number and whole else 0
