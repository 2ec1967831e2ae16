"""A reply as it was meant to be read: its Markdown drawn by markdown-it, nothing of it as HTML.

markdown-it does not say where in the reply a word stands, so each text that it gives is looked for there, in order. A
letter or digit that is in no text gives the search away: then, and where a mark would be on words that Markdown does
not show, the reply is drawn as it was written. Links lead nowhere and images are not loaded: both are shown as words.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from synthesis.lazy import regex

MOST = 20_000  # characters; markdown-it takes more than linear time on some longer replies
_MARKDOWN = regex(r"[*_`~#>\[\]\\|]|^[ \t]*(?:[-+=]|\d+[.)])|^(?: {4}| {0,3}\t)", re.MULTILINE)
_WORDS = regex(r"[^\W_]")
_TARGET = regex(r"[^\w\n]*?\]\((?P<target>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)?(?: +\"[^\"\n]*\")?)\)")
_NO_RULES = ("autolink", "entity", "html_block", "html_inline", "reference", "text_join")


class Part(NamedTuple):
    """Code points `start` to `end` of the text, to be shown."""

    start: int
    end: int


Step = Part | str  # a part of the text, or markup of our own


_SIGNS = regex(r"\*\*|__|`+|^#{1,6} +|(?<!\w)\*(?=\w)|(?<=[\w.,!?:;])\*(?!\w)", re.MULTILINE)


def plain(text: str) -> str:
    """Words quoted on their own, without the signs of emphasis, headings and code that would be drawn in a reply."""
    return _SIGNS.sub("", text) if _MARKDOWN.search(text) else text


class _LostError(Exception):
    """A text of markdown-it was not found in the reply."""


def prose(text: str, marked: Iterable[tuple[int, int]] = ()) -> list[Step] | None:
    """The reply in steps, in its order; None where it must be drawn as written for every mark to be in its place."""
    if not _MARKDOWN.search(text):
        return _paragraphs(text)
    reader = _Reader(text)
    try:
        steps = list(reader.steps()) if len(text) <= MOST else None
    except _LostError:
        return None
    hidden = [part for start, end in marked for part in reader.hidden if start < part.end and part.start < end]
    return None if hidden else steps


def _paragraphs(text: str) -> list[Step]:
    """A reply without Markdown, as most are: read at once, since markdown-it would take most of a report's time."""
    steps: list[Step] = []
    for line in re.finditer(r"[^ \t\r\n][^\n]*", text):
        follows = bool(steps) and text.count("\n", steps[-2].end, line.start()) == 1  # type: ignore[union-attr]
        steps[-1:] = ["\n"] if follows else [*steps[-1:], "<p>"]
        steps += [Part(line.start(), line.start() + len(line[0].rstrip(" \t\r"))), "</p>"]
    return steps


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(list(_NO_RULES))


class _Reader:
    """Turns the tokens of markdown-it into steps; `hidden` are the words that are not shown."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._here = 0
        self.hidden: list[Part] = []

    def steps(self) -> Iterator[Step]:
        for token in _parser().parse(self._text):
            yield from self._step(token)
        self._pass(len(self._text))

    def _step(self, token: Token) -> Iterator[Step]:
        if draw := _DRAWN.get(token.type):
            yield from draw(self, token)
        elif token.type == "inline":
            for child in token.children or ():
                yield from self._step(child)
        else:
            yield f"<{'/' if token.nesting < 0 else ''}{token.tag}>"

    def words(self, token: Token) -> Iterator[Step]:
        if token.content:
            yield self._place(token.content)

    def line_end(self, _: Token) -> Iterator[Step]:
        yield "\n"

    def heading(self, token: Token) -> Iterator[Step]:
        yield '<p class="heading">' if token.nesting > 0 else "</p>"

    def item(self, token: Token) -> Iterator[Step]:
        if token.info:
            self._place(token.info)  # the browser shows the number
        yield f'<li value="{int(token.info)}">' if token.info else "<li>"

    def struck(self, token: Token) -> Iterator[Step]:
        yield "<del>" if token.nesting > 0 else "</del>"

    def table(self, token: Token) -> Iterator[Step]:
        yield '<div class="scroll"><table>' if token.nesting > 0 else "</table></div>"

    def code(self, token: Token) -> Iterator[Step]:
        yield "<code>"
        yield self._place(token.content)
        yield "</code>"

    def block(self, token: Token) -> Iterator[Step]:
        if token.info:
            self._hide(token.info)
        yield "<pre><code>"
        for number, line in enumerate(token.content.rstrip("\n").split("\n")):
            if number:
                yield "\n"
            if line.strip():
                yield self._place(line.rstrip())
        yield "</code></pre>"

    def link(self, token: Token) -> Iterator[Step]:
        if token.nesting > 0:
            yield '<span class="link">'
            return
        target = self._target()
        yield '</span> <span class="target">('
        yield target
        yield ")</span>"

    def image(self, token: Token) -> Iterator[Step]:
        yield '<span class="image">'
        for child in token.children or ():
            yield from self._step(child)
        yield "</span>"
        self.hidden.append(self._target())

    def _place(self, words: str) -> Part:
        start = self._text.find(words, self._here)
        self._pass(start)
        self._here = start + len(words)
        return Part(start, self._here)

    def _hide(self, words: str) -> None:
        self.hidden.append(self._place(words))

    def _target(self) -> Part:
        """Where a link or an image leads."""
        found = _TARGET.match(self._text, self._here)
        if found is None:
            raise _LostError
        self._here = found.end()
        return Part(*found.span("target"))

    def _pass(self, end: int) -> None:
        """Nothing but syntax may be between two texts."""
        if end < 0 or _WORDS.search(self._text, self._here, end):
            raise _LostError


_DRAWN: dict[str, Callable[[_Reader, Token], Iterator[Step]]] = {
    "text": _Reader.words,
    "text_special": _Reader.words,
    "softbreak": _Reader.line_end,
    "hardbreak": _Reader.line_end,
    "heading_open": _Reader.heading,
    "heading_close": _Reader.heading,
    "list_item_open": _Reader.item,
    "s_open": _Reader.struck,
    "s_close": _Reader.struck,
    "table_open": _Reader.table,
    "table_close": _Reader.table,
    "code_inline": _Reader.code,
    "code_block": _Reader.block,
    "fence": _Reader.block,
    "link_open": _Reader.link,
    "link_close": _Reader.link,
    "image": _Reader.image,
}
