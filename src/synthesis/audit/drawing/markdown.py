"""The document as Markdown. What comes from the log is escaped, so that nothing in it can link or format."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from synthesis.audit.drawing.sections import HIDDEN_NOTE, NOT_LEGAL_ADVICE, Section, Table, sections

_SIGNS = re.compile(r"([\\`*_{}\[\]<>|#@!~])")


def render(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Audit of conversations\n\n{_plain(NOT_LEGAL_ADVICE)}\n\n"
    if document["remarks"]:
        yield "## What is missing, and what still works\n\n"
        yield "".join(f"- {_plain(remark)}\n" for remark in document["remarks"]) + "\n"
    for section in sections(document):
        yield _section(section)
    if not document["options"]["all_cells"]:
        yield f"{_plain(HIDDEN_NOTE)}\n"


def _section(section: Section) -> str:
    parts = [_table(part) if isinstance(part, Table) else f"{_plain(part)}\n" for part in section.content]
    return f"{'#' * section.level} {_plain(section.title)}\n\n" + "\n".join(parts) + "\n"


def _table(table: Table) -> str:
    caption = f"{_plain(table.caption)}:\n\n" if table.caption else ""
    lines = "| --- " * len(table.head)
    for place in sorted(table.numbers):
        lines = "".join("| ---: " if at == place or at in table.numbers else "| --- " for at in range(len(table.head)))
    rows = "".join(_line(row) for row in table.rows)
    return f"{caption}{_line(table.head)}{lines}|\n{rows}"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |\n"


def _plain(text: str) -> str:
    return _SIGNS.sub(r"\\\1", text)
