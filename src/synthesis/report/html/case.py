"""One case on the page: what was said, with every finding in it, then the notes, then the verdict of each check."""

from synthesis.report.glossary import Glossary
from synthesis.report.html.evidence import check_list
from synthesis.report.html.filters import Filters
from synthesis.report.html.marks import Marks
from synthesis.report.html.signals import SignalStyles
from synthesis.report.html.spans import shown
from synthesis.report.reading import Record
from synthesis.report.verdicts import KINDS, kind_of


class CaseView:
    """Draws cases, numbered in their order on the page."""

    def __init__(self, styles: SignalStyles, glossary: Glossary, filters: Filters) -> None:
        self._styles = styles
        self._glossary = glossary
        self._filters = filters
        self._number = 0

    def draw(self, result: Record) -> str:
        self._number += 1
        name, kind = f"case{self._number}", kind_of(result)
        marks = Marks(result, self._styles, self._glossary, name)
        parts = [
            f'<article class="case {self._filters.classes(result)}" aria-labelledby="{name}">\n'
            f'<header><h3 id="{name}">{shown(result["id"])}</h3> '
            f'<span class="badge {kind}">{KINDS[kind]}</span>{_meta(result)}</header>\n',
            marks.conversation(),
            marks.notes(),
            check_list(result, self._glossary),
            "</article>\n",
        ]
        return "".join(parts)


def _meta(result: Record) -> str:
    source = result.get("source")
    place = [f"<code>{shown(source['file'])}:{source['line']}</code>"] if source else []
    tags = [f'<span class="tag">{shown(tag)}</span>' for tag in result.get("tags", ())]
    language = [f'<span class="quiet">{shown(result["language"])}</span>'] if result["language"] else []
    return f'<p class="meta">{" ".join([*place, *language, *tags])}</p>'
