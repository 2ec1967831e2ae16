"""Markdown inside a paragraph: emphasis, code, links and images, as tags around parts of the text.

A delimiter waits on a stack until its partner comes, as CommonMark has it. Every character is looked at a bounded
number of times, whatever a reply holds. Links lead nowhere and images are not loaded: both are shown as words.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
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
