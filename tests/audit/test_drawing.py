"""What a log holds stays text in the audit, as a page and as Markdown: values of columns, ids and excerpts."""

from html.parser import HTMLParser
from typing import Any

import pytest
from audit_samples import COLD, CUE, row, write
from markdown_it import MarkdownIt

from synthesis.audit.counting import AuditOptions
from synthesis.audit.drawing import render_html, render_markdown
from synthesis.audit.handover import Action, Cover, Signature
from synthesis.audit.making import EngineOptions, ReadOptions, audit

SCRIPT, LINK = "<script>alert(1)</script>", "a | [b](http://x.example) <img src=x>"


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    turn = (CUE, f"{COLD} {SCRIPT}")
    rows = [row(turn, app=app, id=f"{number}{app}") for app in (SCRIPT, LINK) for number in range(8)]
    log = write(tmp_path_factory.mktemp("audit") / "hostile.jsonl", rows)
    stated = Cover(operator=SCRIPT, statement=LINK, findings=(Action(text=LINK),), signatures=(Signature(name=SCRIPT),))
    options = AuditOptions(by=("app",), with_ids=True, with_excerpts=True, cover=stated)
    return audit([log], ReadOptions(), options, EngineOptions(workers=1)).document


def test_nothing_from_a_log_is_markup_on_the_page(document: dict[str, Any]) -> None:
    page = Page("".join(render_html(document)))
    assert not {"script", "img"} & set(page.tags)
    assert SCRIPT in page.words
    assert LINK in page.words


def test_nothing_from_a_log_links_or_breaks_its_row_in_markdown(document: dict[str, Any]) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse("".join(render_markdown(document)))
    inside = [part for token in tokens for part in token.children or ()]
    assert not [part.content for part in inside if part.type in ("link_open", "image", "html_inline", "code_inline")]
    assert [token for token in tokens if token.type == "html_block"] == []
    shown = "\n".join("".join(part.content for part in token.children or ()) for token in tokens)
    assert SCRIPT in shown
    assert LINK in shown
