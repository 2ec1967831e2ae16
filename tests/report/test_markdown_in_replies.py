"""Markdown in a reply: read as it was meant, never as HTML, with every mark on the words it was found on."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synthesis.model import CaseResult, CheckResult, Finding
from synthesis.report.findings import Glossary
from synthesis.report.html.case import Marks
from synthesis.report.html.prose import Part, prose

TRIED = {
    "One line.\nThe next.\n\nA paragraph.": "<p>One line.\nThe next.</p><p>A paragraph.</p>",
    "**bold** and *slanted*, __bold__ and _slanted_": "<p><strong>bold</strong> and <em>slanted</em>, "
    "<strong>bold</strong> and <em>slanted</em></p>",
    "***both** one*": "<p><em><strong>both</strong> one</em></p>",
    "~~gone~~ a_b_c 2 * 3 \\*plain\\*": "<p><del>gone</del> a_b_c 2 * 3 *plain*</p>",
    "`a *b*` and ``c`d``": "<p><code>a *b*</code> and <code>c`d</code></p>",
    "## Steps ##\n- one\n- two": '<p class="heading">Steps</p><ul><li><p>one</p></li><li><p>two</p></li></ul>',
    "3. a\n   b\n4. c\n   - d": '<ol><li value="3"><p>a\nb</p></li><li value="4"><p>c</p>'
    "<ul><li><p>d</p></li></ul></li></ol>",
    "She was born in\n1986. So?": "<p>She was born in\n1986. So?</p>",
    "```py\nx = *1*\n```\nend": "<pre><code>x = *1*</code></pre><p>end</p>",
    "> said\n> - so\n\n---\nend": "<blockquote><p>said</p><ul><li><p>so</p></li></ul></blockquote><hr><p>end</p>",
    "[line](https://a.org/x_(y))": '<p><span class="link">line</span> <span class="target">(https://a.org/x_(y))</span></p>',
    '![a cat](http://x/y.png "t")': '<p><span class="image">a cat</span></p>',
    "**never closed [x](": "<p>**never closed [x](</p>",
    "a\r\nb": "<p>a\nb</p>",
    "| a | b |\n| - | - |\n| 1 | *2* |": '<div class="scroll"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
    "<tbody><tr><td>1</td><td><em>2</em></td></tr></tbody></table></div>",
    "[a](javascript:alert) &amp; <b>": "<p>[a](javascript:alert) &amp; <b></p>",
    "[a]: https://a.org\n\n[a]": "<p>[a]: https://a.org</p><p>[a]</p>",
    " first\n  second \n\n\nthird ": "<p>first\nsecond</p><p>third</p>",
}
SYNTAX = st.text(st.sampled_from("ab \n\r*_`~#>-[]()!\\1.<&"), max_size=60)


def read(text: str) -> str | None:
    """The reply as HTML that is not escaped; None where it is drawn as written."""
    steps = prose(text)
    return (
        None
        if steps is None
        else "".join(step if isinstance(step, str) else text[step.start : step.end] for step in steps)
    )


@pytest.mark.parametrize("text", TRIED)
def test_it_is_read_as_it_was_meant(text: str) -> None:
    assert read(text) == TRIED[text]


class Balanced(HTMLParser):
    """Every tag is closed in its order; what is marked, and all words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.marked, self.words = "", ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in {"hr", "input"}:
            self.open.append("tip" if ("class", "tip") in attrs else tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() in {tag, "tip"}

    def handle_data(self, data: str) -> None:
        if "tip" not in self.open:
            self.words += data
            self.marked += data if "mark" in self.open else ""


def drawn(text: str, start: int, end: int) -> Balanced:
    finding = Finding("a.b.c", "a.b", "assistant", 0, start, end, text[start:end], role="for", counted=True)
    texts = {"user": "", "assistant": text}
    result = CaseResult("A-1", "pass", False, {}, (finding,), texts=texts)
    return Balanced(str(Marks(result, Glossary(), "c").conversation()))


@given(SYNTAX, st.data())
@example("**a\n- b**", None)
def test_any_markdown_gives_markup_in_order_and_keeps_the_marked_words(text: str, data: st.DataObject | None) -> None:
    if not text or data is None:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    steps = prose(text, [(start, end)])
    parts = [Part(0, len(text))] if steps is None else [step for step in steps if isinstance(step, Part)]
    assert parts == sorted(parts)
    visible = {place for part in parts for place in range(*part)}
    words = [place for place in range(start, end) if text[place].isalnum()]
    assert all(text[place] == "1" for place in words if place not in visible)  # the number of an item
    marked = drawn(text, start, end).marked.replace("[U+000D]", "")
    assert re.sub(r"[\W_]", "", marked) == "".join(text[place] for place in words if place in visible)


HIDDEN = {
    "where an image is": ("See ![a cat](http://x/cat.png) here", "cat.png"),
    "the language of code": ("```python\nx = 1\n```", "python"),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_reply_is_drawn_as_written_if_a_mark_is_on_words_that_markdown_hides(name: str) -> None:
    text, words = HIDDEN[name]
    start = text.index(words)
    assert prose(text) is not None
    assert prose(text, [(start, start + len(words))]) is None
    page = drawn(text, start, start + len(words))
    assert page.marked == words
    assert text in page.words


@pytest.mark.parametrize(
    "text", ["a `b\nc` d", "| a |\n| - |\n| b\\|c |", "*a*\x00", "[a](<b c>)", "> " * 40 + "a", "*a*" * 9_000]
)
def test_a_reply_whose_words_cannot_be_placed_is_drawn_as_written(text: str) -> None:
    assert prose(text) is None
    assert text.replace("\x00", "[U+0000]") in drawn(text, 0, 1).words


@given(st.text(st.characters(categories=("L", "N", "Zs")), min_size=1))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert re.sub("</?(?:p|pre|code)>", "", read(text) or "") == text.strip(" ")


def test_nothing_is_html_nothing_leads_anywhere_nothing_is_fetched() -> None:
    reply = '<img src=x> <b>hi</b> [a](javascript:alert(1)) ![b](https://x/y.png) <https://z> **[c](http://d "e")**'
    page = drawn(reply, 0, 5)
    assert page.tags <= {"div", "h4", "p", "strong", "span", "mark", "a", "code", "q", "bdi"}
    assert "<img src=x> <b>hi</b> " in page.words
    assert "javascript:alert(1)" in page.words
    assert "y.png" not in page.words


def test_long_replies_of_syntax_alone_are_read_in_no_time() -> None:
    for unit in ("*", "**a ", "[a](", "`", "> ", "- ", "_a", "![", "](", "(" * 5, "~~a"):
        assert read(unit * (20_000 // len(unit))) is not None


def test_a_mark_across_emphasis_leads_to_its_note_once() -> None:
    html = Marks(
        CaseResult(
            *("A-1", "fail", False),
            {"x": CheckResult("x", False, findings=(F,))},
            (F,),
            texts={"user": "", "assistant": "You **should** go"},
        ),
        Glossary(),
        "c",
    ).conversation()
    assert html.count("<mark") == 3
    assert html.count('href="#cnote1"') == 1
    assert "<strong><mark" in html


F = Finding("x.y.z", "x.y", "assistant", 0, 0, 15, "You **should** ", role="against", counted=True, checks=("x",))
