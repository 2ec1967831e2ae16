"""What of a reply is said to the person: code, quoted text, tables and addresses are not.

One place decides this for every check. What is left out becomes blank in a text of the same length, so that sentences
do not run across it and every place is still one of the original. Blocks follow CommonMark (and GitHub's tables) as far
as they show where such a part begins and ends. One pass over the lines, one over what is left: the time grows with the
length, whatever the text.
"""

import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from synthesis.lazy import regex
from synthesis.rules.text import WORD_CHARACTERS, Span

# A letter of no language. It stands where something was named in code or by its address, so that "Open `x`" still has
# an object, and "`git` commit to main" does not begin with an order.
NAMED = "\ua78f"
BREAK = "।"  # ends a sentence by itself, in every language
INVISIBLE = "\u200b"  # drops out of the normal form
LONGEST_NUMBER = 9  # digits of a list item's number
RULE = 3  # characters of a horizontal rule
DEEPEST = 8  # list items on one line
REPEATED = {True: 5, False: 10}  # words, or characters where no space shows them, that make a quotation the user's

_MAY_HOLD_ANY = regex(r"[`|<>]|~~~|://|www\.|\]\(|^(?:    | {0,3}\t)", re.MULTILINE)
_QUOTATION = regex(
    "|".join(rf"{left}[^{left}{right}\n]{{1,2000}}{right}" for left, right in ('""', "“”", "«»", "「」", "『』"))
)
_FENCE = regex(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = regex(rf"(?:[-+*]|\d{{1,{LONGEST_NUMBER}}}[.)])(?=[ \t]|$)")
_HEADING = regex(r"#{1,6}(?=[ \t]|$)")
_DELIMITER = regex(r"[ \t]*:?-+:?[ \t]*")
_BACKTICKS = regex(r"`+")
_UNSPACED = regex("[\u3040-\u30ff\u4e00-\u9fff]")
_WORD = regex(f"[{WORD_CHARACTERS}]+")
_ADDRESS = regex(r"(?:\b[a-z][a-z0-9+.-]{1,15}://|\bwww\.)[\w\-.~:/?#@!$&'()*+,;=%\[\]]+", re.ASCII | re.IGNORECASE)
_TARGET = regex(rf"(?<=\])\([^()\s{NAMED}]*(?:[ \t]+\"[^\"\n]*\")?\)")
_TAG = regex(r"</?([A-Za-z][\w-]*)(?:[ \t][^<>=\n]*=[^<>\n]*|[ \t]*/?)>|<[^\s<>@]+@[^\s<>@]+>")
_BREAKS = regex("br|p|div|li|ul|ol|tr|t[dh]|table|hr|h[1-6]|blockquote|section", re.IGNORECASE)


def prose(text: str, answers: str = "") -> str:
    """The text with what is not said to the person left blank, at the same length.

    `answers` is the message that it replies to: its words between quotation marks are the user's.
    """
    if _MAY_HOLD_ANY.search(text):
        text = _without_inline(*_without_blocks(text))
    return _without_repeated(text, answers) if answers and _QUOTATION.search(text) else text


class _Line(NamedTuple):
    start: int
    end: int  # without its line break
    text: str

    @property
    def indent(self) -> int:
        """The columns of white space in front; a tab reaches to the next multiple of four."""
        space = self.text[: len(self.text) - len(self.text.lstrip(" \t"))]
        return len(space.expandtabs(4))


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        yield _Line(start, start + len(line), line.rstrip("\r"))
        start += len(line) + 1


class _Blocks:
    """Goes through the lines once and notes which are code, quoted or rows of a table."""

    def __init__(self, text: str) -> None:
        self.left_out: list[Span] = []
        self.quoted: list[Span] = []
        self.rules: list[Span] = []
        self.begins: list[int] = []  # where a new stretch of running text begins
        self._fence = ""  # the marks of the fence that is open
        self._inside = 0  # the column where the text of the innermost list item begins
        self._running = False  # a paragraph that the next line may continue
        self._quoting = False  # the same inside a block quote
        self._in_table = False
        lines = list(_lines(text))
        for line, after in pairwise([*lines, _Line(len(text), len(text), "")]):
            self._take(line, after)

    def _take(self, line: _Line, after: _Line) -> None:
        content = line.text.lstrip(" \t")
        indent = line.indent
        if self._fence and not self._leaves_fence(line, content, indent):
            return
        if not content:
            self._running = self._quoting = self._in_table = False
            self.begins.append(line.start)
            return
        self._in_table = self._in_table and "|" in content
        if self._in_table:
            self._leave_out(line)
            return
        if indent >= self._inside + 4 and not (self._running or self._quoting):
            self._leave_out(line)
            return
        self._take_text(line, content, indent, after)

    def _leaves_fence(self, line: _Line, content: str, indent: int) -> bool:
        """Whether the line stands behind the fence: its list item ends. The closing line still belongs to it."""
        if content and indent < self._inside:
            self._fence = ""
            return True
        self._leave_out(line)
        marks = content.rstrip(" \t")
        if indent < self._inside + 4 and len(marks) >= len(self._fence) and set(marks) == {self._fence[0]}:
            self._fence = ""
        return False

    def _take_text(self, line: _Line, content: str, indent: int, after: _Line) -> None:
        """A line that is neither code by its indentation nor a row."""
        if not self._running and not self._quoting and indent < self._inside:
            self._inside = 0
        for _ in range(DEEPEST):
            item = _ITEM.match(content)
            if not item or _is_rule(content):
                break
            rest = content[item.end() :]
            content = rest.lstrip(" \t")
            spaces = len(rest) - len(content)
            indent = self._inside = indent + item.end() + (spaces if content and spaces <= 4 else 1)
            self._running = self._quoting = False
            self.begins.append(line.start)
        self._take_content(line, content, after)

    def _take_content(self, line: _Line, content: str, after: _Line) -> None:
        if content.startswith(">"):
            self._quote(line, content)
        elif opened := _FENCE.match(content):
            self._fence = opened[1] or opened[2]
            self._running = self._quoting = False
            self._leave_out(line)
        elif _HEADING.match(content) or _is_rule(content):
            self.rules += [(line.start, line.end)] if _is_rule(content) else []
            self._running = self._quoting = False
            self.begins += (line.start, line.end)
        elif self._quoting:  # a lazy line: the paragraph of the quotation goes on
            self._leave_out(line, quoted=True)
        elif _is_table_head(content, after.text):
            self._in_table, self._running = True, False
            self._leave_out(line)
        else:
            self._running = bool(content)

    def _quote(self, line: _Line, content: str) -> None:
        inner = content.lstrip("> \t")
        self._running = False
        self._quoting = bool(inner) and not (_FENCE.match(inner) or _HEADING.match(inner) or _is_rule(inner))
        self._leave_out(line, quoted=True)

    def _leave_out(self, line: _Line, *, quoted: bool = False) -> None:
        (self.quoted if quoted else self.left_out).append((line.start, line.end))
        self.begins.append(line.start)


def _is_rule(content: str) -> bool:
    marks = content.replace(" ", "").replace("\t", "")
    return len(marks) >= RULE and marks[0] in "-*_" and marks == marks[0] * len(marks)


def _is_table_head(row: str, below: str) -> bool:
    """Whether a row of dashes with as many cells follows."""
    if "|" not in row or "|" not in below:
        return False
    dashes = _cells(below)
    return all(map(_DELIMITER.fullmatch, dashes)) and len(_cells(row)) == len(dashes)


def _cells(row: str) -> list[str]:
    return row.strip(" \t").replace("\\|", "").removeprefix("|").removesuffix("|").split("|")


def _without_blocks(text: str) -> tuple[str, list[int]]:
    """The text without its blocks of code, quotations and tables, and where each stretch of running text begins.

    A reply that quotes and does nothing else quotes nobody.
    """
    blocks = _Blocks(text)
    blank = _blanked(text, sorted([*blocks.left_out, *blocks.quoted]), _spaces)
    if blocks.quoted and not _WORD.search(blank):
        blank = _blanked(text, blocks.left_out, _spaces)
    return blank, blocks.begins


def _blanked(text: str, spans: Iterable[Span], blank: Callable[[str], str]) -> str:
    parts: list[str] = []
    copied = 0
    for start, end in spans:
        parts += (text[copied:start], blank(text[start:end]))
        copied = end
    parts.append(text[copied:])
    return "".join(parts)


def _spaces(part: str) -> str:
    return " " * len(part)


def _named(part: str) -> str:
    """As long as the part, with a word in its place."""
    return NAMED + " " * (len(part) - 1)


def _nothing(part: str) -> str:
    """As long as the part, and not there for a reader: not even white space."""
    return "".join(char if char == "\n" else INVISIBLE for char in part)


def _without_inline(text: str, begins: list[int]) -> str:
    """The text without code, addresses and tags inside its lines."""
    stretches = list(pairwise([0, *begins, len(text)]))
    if "`" in text:
        text = _blanked(text, _in_each(text, stretches, "`", _code_spans), _named)
    if "<!--" in text:
        text = _blanked(text, _in_each(text, stretches, "<!--", _comments), _nothing)
    if "<" in text:
        text = _TAG.sub(_tag_blank, text)
    if "](" in text:
        text = _TARGET.sub(lambda found: _spaces(found.group()), text)
    return _ADDRESS.sub(_address_blank, text) if "://" in text or "www." in text else text


def _in_each(
    text: str, stretches: list[Span], mark: str, find: Callable[[str, int, int], Iterator[Span]]
) -> Iterator[Span]:
    for start, end in stretches:
        if text.find(mark, start, end) >= 0:
            yield from find(text, start, end)


def _code_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Each run of backticks with the next one of its length in the same stretch of text."""
    runs = [run.span() for run in _BACKTICKS.finditer(text, start, end) if not _is_apostrophe(text, *run.span())]
    waiting: dict[int, list[Span]] = defaultdict(list)
    for run in reversed(runs):
        waiting[run[1] - run[0]].append(run)
    reached = start
    for run in runs:
        same = waiting[run[1] - run[0]]
        while same and same[-1] <= run:
            same.pop()
        if run[0] >= reached and same:
            reached = same[-1][1]
            yield run[0], reached


def _is_apostrophe(text: str, start: int, end: int) -> bool:
    """Many type "don`t": one mark with a letter on either side."""
    return end - start == 1 and text[start - 1 : start].isalpha() and text[end : end + 1].isalpha()


def _comments(text: str, start: int, end: int) -> Iterator[Span]:
    place = text.find("<!--", start, end)
    while place >= 0 and (close := text.find("-->", place + 4, end)) >= 0:
        yield place, close + 3
        place = text.find("<!--", close + 3, end)


def _tag_blank(found: re.Match[str]) -> str:
    name = found[1]
    if name is None:  # an address in angle brackets
        return _named(found.group())
    blank = _nothing(found.group())
    return BREAK + blank[1:] if _BREAKS.fullmatch(name) else blank


def _address_blank(found: re.Match[str]) -> str:
    address = found.group()
    bare = address.rstrip(".,;:!?'*_" + ("" if "(" in address else ")"))
    return _named(bare) + address[len(bare) :]


def _without_repeated(text: str, answers: str) -> str:
    """The text without the user's own words between quotation marks."""
    said = {spaced: set(_runs(answers, spaced)) for spaced in REPEATED}

    def blank(found: re.Match[str]) -> str:
        words = found.group()
        spaced = not _UNSPACED.search(words)
        runs = list(_runs(words, spaced))
        return _named(words) if runs and said[spaced].issuperset(runs) else words

    return _QUOTATION.sub(blank, text)


def _runs(text: str, spaced: bool) -> Iterator[tuple[str, ...]]:
    """Every few words, or characters, that follow each other; as sets they compare texts of any length."""
    words = _WORD.findall(text.lower())
    units = words if spaced else list("".join(words))
    length = REPEATED[spaced]
    return (tuple(units[at : at + length]) for at in range(len(units) - length + 1))


# Where the user asked for a text, the part of the reply that is this text.

SHORT_LINE = 40  # characters of a greeting behind its first words, or of a name below a letter
CLOSING = 12  # characters that may follow closing words on their line: "Yours, Tom"
_MARKS = "*_# \t\r"
_ENDS_GREETING = tuple(",:!，：！、")


def drafts(text: str, openings: Iterable[Span] = (), closings: Iterable[Span] = ()) -> list[Span]:
    """The parts of a reply that can be a text to send: a block, what stands between rules, a letter.

    Openings and closings are words that may begin and end a letter; which they are is a matter of the language.
    """
    blocks = _Blocks(text)
    found = [*blocks.left_out, *blocks.quoted, *_letters(text, dict(openings), dict(closings))]
    if len(blocks.rules) > 1:
        found.append((blocks.rules[0][0], blocks.rules[-1][1]))
    return _joined(sorted(found))


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _letters(text: str, openings: Mapping[int, int], closings: Mapping[int, int]) -> Iterator[Span]:
    """From a subject or a greeting, on a line of its own, to the name below the closing words."""
    start = end = -1
    for line in _lines(text):
        content = line.text.strip(_MARKS)
        first = line.start + line.text.find(content)
        if start < 0 and first in openings and _is_greeting(text[first : openings[first]], content):
            start = line.start
        elif start >= 0 and first in closings and first + len(content) - closings[first] <= CLOSING:
            end = line.end
        elif end >= 0 and content:
            yield start, line.end if len(content) <= SHORT_LINE and content[-1] not in ".!?。！？।:：" else end
            start = end = -1
    if end >= 0:
        yield start, end


def _is_greeting(opening: str, line: str) -> bool:
    """A subject, whatever follows; or words to somebody, and nothing else on the line."""
    if opening.endswith((":", "：")) or line == opening:
        return True
    return len(line) - len(opening) <= SHORT_LINE and line.endswith(_ENDS_GREETING)


def without(text: str, spans: list[Span]) -> str:
    """The text with these parts left blank."""
    return _blanked(text, spans, _spaces)


def is_inside(spans: list[Span], place: int) -> bool:
    """Whether a place lies in one of the spans, which are in order and apart."""
    before = bisect_right(spans, (place, sys.maxsize)) - 1
    return before >= 0 and place < spans[before][1]
