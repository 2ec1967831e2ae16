"""The document as one page: no network, no script, readable on a phone and on paper."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from synthesis.audit.drawing.sections import HIDDEN_NOTE, NOT_LEGAL_ADVICE, Section, Table, sections
from synthesis.report.html.page import foot_note, head
from synthesis.report.html.spans import shown

_STYLE = Path(__file__).with_name("audit.css")
_INTERVAL = re.compile(r"\([\d.]+ % to [\d.]+ %\)")
FEW, SHORT = 3, 15  # columns; rows
TOP = 2  # level of the headings that the contents name


def render(document: Mapping[str, Any]) -> Iterator[str]:
    style = _STYLE.read_text(encoding="utf-8")
    yield head(style, title="Synthesis audit", skip="#read", skip_words="Skip to the figures")
    yield '<header class="top"><h1>Audit of conversations</h1></header>\n<main class="audit" id="read">\n'
    yield f'<section class="limits"><p>{shown(NOT_LEGAL_ADVICE)}</p></section>\n'
    if document["remarks"]:
        lines = "".join(f"<li>{shown(remark)}</li>" for remark in document["remarks"])
        yield f"<section><h2>What is missing, and what still works</h2><ul>{lines}</ul></section>\n"
    parts = list(sections(document))
    yield _contents(parts)
    for section in parts:
        yield _section(section)
    if not document["options"]["all_cells"]:
        yield f'<p class="quiet">{shown(HIDDEN_NOTE)}</p>\n'
    yield foot_note(tool=document["tool"])


def _contents(parts: Sequence[Section]) -> str:
    links = "".join(f'<li><a href="#{_id(part)}">{shown(part.title)}</a></li>' for part in parts if part.level == TOP)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n'


def _id(section: Section) -> str:
    return re.sub(r"\W+", "-", section.title.lower()).strip("-")


def _section(section: Section) -> str:
    content = "".join(_table(part) if isinstance(part, Table) else f"<p>{shown(part)}</p>" for part in section.content)
    level = section.level
    return f'<section><h{level} id="{_id(section)}">{shown(section.title)}</h{level}>{content}</section>\n'


def _table(table: Table) -> str:
    caption = f"<caption>{shown(table.caption)}</caption>" if table.caption else ""
    cells = "".join(
        f'<th scope="col"{_right(table, place)}>{shown(name)}</th>' for place, name in enumerate(table.head)
    )
    top = f"<thead><tr>{cells}</tr></thead>" if any(table.head) else ""
    rows = "".join(f"<tr>{_row(table, row)}</tr>" for row in table.rows)
    return f'<table class="{_kind(table)}">{caption}{top}<tbody>{rows}</tbody></table>'


def _kind(table: Table) -> str:
    """Wide tables are lists on a phone; short ones stay on one page of paper."""
    return f"{'few' if len(table.head) <= FEW else 'wide'}{' short' if len(table.rows) <= SHORT else ''}"


def _row(table: Table, row: tuple[str, ...]) -> str:
    # The column's name beside each cell: on a phone a row is shown as a list.
    rest = (
        f'<td{_right(table, place)} data-name="{shown(table.head[place])}">{_cell(row[place])}</td>'
        for place in range(1, len(row))
    )
    return "".join((f'<th scope="row"{_right(table, 0)}>{_cell(row[0])}</th>', *rest))


def _cell(text: str) -> str:
    """A rate and its sign stay on one line, and so does an interval."""
    return _INTERVAL.sub(lambda found: found[0].replace(" ", "\u00a0"), shown(text)).replace(" %", "\u00a0%")


def _right(table: Table, place: int) -> str:
    return ' class="number"' if place in table.numbers else ""
