"""A reply as it was meant to be read: its Markdown as paragraphs, lists, headings and code, nothing of it as HTML.

What is drawn are parts of the original text, so that marks stay on the words they were found on. Markup is our own;
a line stays a line, since people write their chats so.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from synthesis.report.html.inline import edits_of

MOST_NESTED = 8  # lists and quotes inside each other; deeper ones are shown as they are written
_LIST = re.compile(r"([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(?=\S)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?=\S)")
_HEADING_END = re.compile(r"[ \t]#+$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
_QUOTE = re.compile(r" {0,3}> ?")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_INDENT = re.compile(r"[ \t]*")


class Part(NamedTuple):
    """Code points `start` to `end` of the text, to be shown."""

    start: int
    end: int


Token = Part | str  # a part of the text, or markup of our own
Lines = Sequence[Part]
Steps = Generator[Token, None, int]  # returns the line after the block


def prose(text: str) -> Iterator[Token]:
    """The tokens of a text; whatever of it is not syntax is in one of its parts, in order."""
    yield from _Reader(text).blocks(_lines(text), 0)


def _lines(text: str) -> list[Part]:
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(Part(start, start + len(line.rstrip(" \t\r"))))
        start += len(line) + 1
    return lines


class _Reader:
    """Reads blocks of lines; a list or a quote is read again without what marks it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def blocks(self, lines: Lines, depth: int) -> Iterator[Token]:
        here = 0
        while here < len(lines):
            line = lines[here]
            if self._is_blank(line):
                here += 1
            elif self._at(_FENCE, line):
                here = yield from self._fenced(lines, here)
            elif found := self._at(_HEADING, line):
                yield from self._heading(Part(found.end(), line.end))
                here += 1
            elif self._at(_RULE, line):
                yield "<hr>"
                here += 1
            elif depth < MOST_NESTED and self._at(_QUOTE, line):
                here = yield from self._quote(lines, here, depth)
            elif depth < MOST_NESTED and self._at(_LIST, line):
                here = yield from self._list(lines, here, depth)
            else:
                here = yield from self._paragraph(lines, here, depth)

    def _at(self, pattern: re.Pattern[str], line: Part) -> re.Match[str] | None:
        return pattern.match(self._text, line.start, line.end)

    def _is_blank(self, line: Part) -> bool:
        return not self._text[line.start : line.end].strip()

    def _heading(self, words: Part) -> Iterator[Token]:
        closing = _HEADING_END.search(self._text, words.start, words.end)
        yield '<p class="heading">'
        yield from self._inline([Part(words.start, closing.start() if closing else words.end)])
        yield "</p>"

    def _fenced(self, lines: Lines, here: int) -> Steps:
        fence = self._at(_FENCE, lines[here])
        assert fence is not None
        ends = re.compile(rf" {{0,3}}{fence[1][0]}{{{len(fence[1])},}}$")
        last = here + 1
        while last < len(lines) and not self._at(ends, lines[last]):
            last += 1
        yield "<pre><code>"
        yield from self._joined(lines[here + 1 : last])
        yield "</code></pre>"
        return last + 1

    def _quote(self, lines: Lines, here: int, depth: int) -> Steps:
        inside = []
        while here < len(lines) and (found := self._at(_QUOTE, lines[here])):
            inside.append(Part(min(found.end(), lines[here].end), lines[here].end))
            here += 1
        yield "<blockquote>"
        yield from self.blocks(inside, depth + 1)
        yield "</blockquote>"
        return here

    def _list(self, lines: Lines, here: int, depth: int) -> Steps:
        first = self._at(_LIST, lines[here])
        assert first is not None
        tag = "ul" if first[2] else "ol"
        yield f"<{tag}>"
        while here < len(lines) and (item := self._at(_LIST, lines[here])) and bool(item[2]) == bool(first[2]):
            yield "<li>" if item[2] else f'<li value="{int(item[3])}">'
            inside, here = self._item(lines, here, item)
            yield from self.blocks(inside, depth + 1)
            yield "</li>"
        yield f"</{tag}>"
        return here

    def _item(self, lines: Lines, here: int, marker: re.Match[str]) -> tuple[list[Part], int]:
        """The lines of an item without its marker, and where the next block begins."""
        indent, width_of_marker = len(marker[1]), marker.end() - marker.start()
        inside = [Part(marker.end(), lines[here].end)]
        here += 1
        while here < len(lines):
            following = self._following(lines, here)
            if following is None:
                break
            width = self._width(lines[following])
            deeper = width > indent + (1 if self._at(_LIST, lines[following]) else 0)
            lazy = following == here and not self._begins_block(lines[here])
            if not (deeper or lazy):
                here = following if self._at(_LIST, lines[following]) and width >= indent else here
                break
            inside += [self._dedented(line, width_of_marker) for line in lines[here : following + 1]]
            here = following + 1
        return inside, here

    def _following(self, lines: Lines, here: int) -> int | None:
        """The next line that is not blank."""
        return next((number for number in range(here, len(lines)) if not self._is_blank(lines[number])), None)

    def _width(self, line: Part) -> int:
        return len(_INDENT.match(self._text, line.start, line.end)[0])  # type: ignore[index]

    def _dedented(self, line: Part, most: int) -> Part:
        return Part(line.start + min(self._width(line), most), line.end)

    def _begins_block(self, line: Part, *, in_text: bool = False) -> bool:
        """Whether a line begins something new; in the middle of text a number does only if it is 1."""
        item = self._at(_LIST, line)
        listed = item and (not in_text or item[2] or item[3] == "1")
        fenced = self._at(_FENCE, line)
        return bool(listed or fenced or any(self._at(begun, line) for begun in (_HEADING, _RULE, _QUOTE)))

    def _paragraph(self, lines: Lines, here: int, depth: int) -> Steps:
        last = here + 1
        while last < len(lines) and not self._is_blank(lines[last]):
            if depth < MOST_NESTED and self._begins_block(lines[last], in_text=True):
                break
            last += 1
        yield "<p>"
        yield from self._inline(lines[here:last])
        yield "</p>"
        return last

    def _joined(self, lines: Lines) -> Iterator[Token]:
        """Lines of one block, each with the line end that is in the text."""
        for number, line in enumerate(lines):
            if number:
                yield "\n"
            if line.start < line.end:
                yield line

    def _inline(self, lines: Lines) -> Iterator[Token]:
        """The words of a paragraph, with tags for what is emphasised."""
        content = "\n".join(self._text[line.start : line.end] for line in lines)
        places = [place for line in lines for place in (*range(line.start, line.end), -1)]
        here = 0
        for edit in edits_of(content):
            yield from _parts(places[here : edit.start])
            yield edit.markup
            here = edit.start + edit.hidden
        yield from _parts(places[here : len(content)])


def _parts(places: list[int]) -> Iterator[Token]:
    """Places in the text as parts of it; -1 is the end of a line."""
    for is_end, run in groupby(places, key=lambda place: place < 0):
        found = list(run)
        if is_end:
            yield "\n" * len(found)
        else:
            yield Part(found[0], found[-1] + 1)
