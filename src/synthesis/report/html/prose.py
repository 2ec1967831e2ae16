"""Markdown inside a paragraph: emphasis, code, links and images, as tags around parts of the text.

A delimiter waits on a stack until its partner comes, as CommonMark has it. Every character is looked at a bounded
number of times, whatever a reply holds. Links lead nowhere and images are not loaded: both are shown as words.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

_TARGET = r"[^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?(?: {1,9}\"[^\"\n]{0,200}\")?"
_TOKEN = re.compile(rf"\\[!-/:-@\[-`{{-~]|`+|!?\[|\]\((?P<target>{_TARGET})\)|\*+|_+|~~")
_TAGS = {("*", 1): "em", ("_", 1): "em", ("*", 2): "strong", ("_", 2): "strong", ("~", 2): "del"}


class Edit(NamedTuple):
    """At `start`, `hidden` characters of the text are replaced by `markup`."""

    start: int
    hidden: int
    markup: str


@dataclass
class _Opener:
    """Delimiters that wait for their partner: `left` of them, the innermost before `end`."""

    kind: str
    left: int
    end: int


@dataclass
class _Openers:
    """The stack, with a count of each kind: it is not searched for a kind that is not in it."""

    stack: list[_Opener] = field(default_factory=list)
    waiting: Counter[str] = field(default_factory=Counter)

    def push(self, opener: _Opener) -> None:
        self.stack.append(opener)
        self.waiting[opener.kind] += 1

    def nearest(self, kinds: str) -> _Opener | None:
        """The innermost one of these kinds; anything inside it has no partner and stays text."""
        if not any(self.waiting[kind] for kind in kinds):
            return None
        while self.stack[-1].kind not in kinds:
            self.drop()
        return self.stack[-1]

    def drop(self) -> None:
        self.waiting[self.stack.pop().kind] -= 1


def edits_of(text: str) -> list[Edit]:
    """What turns a paragraph into markup, in the order of the text; the tags are properly nested."""
    edits: list[Edit] = []
    openers, ticks = _Openers(), _ticks(text)
    place = 0
    while (token := _TOKEN.search(text, place)) is not None:
        place = token.end()
        first = token[0][0]
        if first == "\\":
            edits.append(Edit(token.start(), 1, ""))
        elif first == "`":
            place = _code(token.start(), place, ticks, edits)
        elif token[0] in {"[", "!["}:
            openers.push(_Opener(token[0][0], len(token[0]), place))
        elif first == "]":
            place = _target(token, openers, edits) or token.start() + 2
        else:
            _emphasis(text, token, openers, edits)
    return sorted(edits)


def _ticks(text: str) -> dict[int, list[int]]:
    """Where runs of backticks begin, by their length."""
    found: dict[int, list[int]] = defaultdict(list)
    for run in re.finditer("`+", text):
        found[len(run[0])].append(run.start())
    return found


def _code(start: int, end: int, ticks: dict[int, list[int]], edits: list[Edit]) -> int:
    """Code up to the next run of as many backticks; where there is none, they are text. Where to read on."""
    runs, length = ticks.get(end - start, []), end - start
    number = bisect_left(runs, end)
    if number == len(runs):
        return end
    closing = runs[number]
    edits += [Edit(start, length, "<code>"), Edit(closing, length, "</code>")]
    return closing + length


def _target(token: re.Match[str], openers: _Openers, edits: list[Edit]) -> int | None:
    """The end of a link, whose target is shown as text, or of an image, of which the words stay. Where to read on."""
    opener = openers.nearest("[!")
    if opener is None:
        return None
    openers.drop()
    start, (first, last) = opener.end - opener.left, token.span("target")
    if opener.kind == "!":
        edits += [
            Edit(start, opener.left, '<span class="image">'),
            Edit(token.start(), token.end() - token.start(), "</span>"),
        ]
    else:
        edits += [
            Edit(start, 1, '<span class="link">'),
            Edit(token.start(), first - token.start(), '</span> <span class="target">('),
            Edit(last, 1, ")</span>"),
        ]
    return token.end()


def _emphasis(text: str, token: re.Match[str], openers: _Openers, edits: list[Edit]) -> None:
    """Closes what waits for these delimiters; those that are left may open something."""
    kind, start, end = token[0][0], token.start(), token.end()
    before, after = text[start - 1 : start], text[end : end + 1]
    opens, closes = bool(after.strip()), bool(before.strip())
    if kind == "_":  # inside a word it is a part of the word
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    while closes and start < end and (opener := openers.nearest(kind)) is not None:
        length = 2 if min(opener.left, end - start) >= 2 else 1
        tag = _TAGS[kind, length]
        edits += [Edit(opener.end - length, length, f"<{tag}>"), Edit(start, length, f"</{tag}>")]
        opener.left, opener.end = opener.left - length, opener.end - length
        start += length
        if not opener.left:
            openers.drop()
    if opens and start < end:
        openers.push(_Opener(kind, end - start, end))


# A reply as it was meant to be read: its Markdown as paragraphs, lists, headings and code, nothing of it as HTML.


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
