"""What was said, with the words that decided marked in it. Reports and pages share it.

Marks have two tones, for and against the reply, which differ by the line under the words as well as by colour. What did
not count is there, and shows on request. Who points at a mark, or moves to it by keyboard, reads the rule behind it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice
from typing import NamedTuple

from synthesis.model import CaseResult
from synthesis.model.result import AGAINST
from synthesis.report.glossary import Glossary
from synthesis.report.html.notes import Note, anchor, explained, note_list, notes_on
from synthesis.report.html.prose import Part, Token, prose
from synthesis.report.html.spans import Span, pieces, shown
from synthesis.report.plain import count
from synthesis.report.verdicts import MARKS, ON_REQUEST

LONG = 3_000  # characters; a longer text gets a window of its own to scroll in
_ORDER = list(MARKS)


class Highlight(NamedTuple):
    """Code points `start` to `end` of a text under one mark, with the notes behind it."""

    start: int
    end: int
    mark: str
    notes: tuple[Note, ...]


class Marks:
    """Draws the conversation of one case and the notes on it; `name` tells its notes from those of others.

    With `rule_pages`, the address below which each rule has a page, notes lead there. Without `tips`, a script of the
    page shows the notes on a mark beside it: a page of thousands of cases cannot hold every note twice.
    """

    def __init__(
        self, result: CaseResult, glossary: Glossary, name: str, *, rule_pages: str = "", tips: bool = True
    ) -> None:
        self._tips = tips
        self._result = result
        self._glossary = glossary
        self._name = name
        self._rule_pages = rule_pages
        self._notes = notes_on(result)

    def conversation(self) -> str:
        """All turns, marked, after a switch for what did not count."""
        sides = (
            (where, turn, text)
            for turn, said in enumerate(self._result.exchanges)
            for where, text in zip(("user", "assistant"), said, strict=True)
        )
        turns = "".join(self._text(where, turn, text) for where, turn, text in sides if text)
        return f'<div class="conversation">{self._switch()}{turns}</div>\n' if turns else ""

    def notes(self) -> str:
        """The rules that fired, each explained, by the checks that counted them."""
        return note_list(self._notes, self._glossary, self._name, self._rule_pages)

    def first_words(self, where: str, most: int) -> str:
        """The first words of the last exchange, marked, without links: for a list of cases."""
        turn = len(self._result.exchanges) - 1
        text = self._result.exchanges[turn][0 if where == "user" else 1] if turn >= 0 else ""
        decided = [one for one in self._highlights(where, turn, text) if one.mark not in ON_REQUEST]
        against = [one.start for one in decided if one.mark == AGAINST]
        start = _excerpt_start(text, against[0] if against else 0, most)
        end = _excerpt_end(text, start, most)
        parts = "".join(_plain_piece(text, piece) for piece in _cut(Part(start, end), decided))
        return f"{'… ' if start else ''}{parts}{' …' if end < len(text) else ''}"

    def _switch(self) -> str:
        quiet = sum(len(note.words) for note in self._notes if note.mark in ON_REQUEST)
        if not quiet:
            return ""
        name = f"{self._name}also"
        words = f"Also mark {count(quiet, 'wording')} that set the scene or did not count"
        return f'<input type="checkbox" class="also" id="{name}"><label class="also-label" for="{name}">{words}</label>'

    def _text(self, where: str, turn: int, text: str) -> str:
        is_reply = where == "assistant"
        highlights = self._highlights(where, turn, text)
        tokens: Iterable[Token] = prose(text) if is_reply else [Part(0, len(text))]
        marked = "".join(self._drawn(text, tokens, highlights))
        code = self._result.language_of(where)
        language = f' lang="{escape(code)}"' if len(code) == 2 else ""
        window = f' tabindex="0" role="group" aria-label="{where}: a long text"' if len(text) > LONG else ""
        size = f' <span class="quiet">{len(text.split()):,} words</span>' if window else ""
        kind = f"text{' prose' if is_reply else ''}{' long' if window else ''}"
        # A reply is the turn that was judged; strips of turns lead to it.
        several = is_reply and len(self._result.exchanges) > 1
        place = f' id="{self._name}turn{turn + 1}"' if several else ""
        number = f" · turn {turn + 1}" if several else ""
        return (
            f'<div class="turn {where}"{place}><h4>{where.capitalize()}{number}{size}</h4>'
            f'<div class="{kind}" dir="auto"{language}{window}>{marked}</div></div>\n'
        )

    def _highlights(self, where: str, turn: int, text: str) -> list[Highlight]:
        """One for each stretch of words under one mark; none where the text is not the one that was evaluated."""
        spans = [
            Span(start, end, number)
            for number, note in enumerate(self._notes)
            for at, of_turn, start, end, words in note.places
            if (at, of_turn) == (where, turn) and text[start:end] == words
        ]
        found: list[Highlight] = []
        place = 0
        for piece in pieces(text, spans):
            start, place = place, place + len(piece.text)
            if not piece.notes:
                continue
            covering = [self._notes[number] for number in piece.notes]
            mark = min((note.mark for note in covering), key=_ORDER.index)
            notes = [note for note in covering if (note.mark in ON_REQUEST) == (mark in ON_REQUEST)]
            if found and (found[-1].end, found[-1].mark) == (start, mark):
                last = found.pop()
                start, notes = last.start, [*last.notes, *notes]
            found.append(Highlight(start, place, mark, tuple(dict.fromkeys(notes))))
        return found

    def _drawn(self, text: str, tokens: Iterable[Token], highlights: Sequence[Highlight]) -> Iterator[str]:
        linked: set[int] = set()  # markup may cut a mark into several; its first words lead to the notes
        for token in tokens:
            if isinstance(token, str):
                yield token
                continue
            for part, highlight in _cut(token, highlights):
                words = shown(text[part.start : part.end])
                yield words if highlight is None else self._mark(words, highlight, highlight.start not in linked)
                linked |= {highlight.start} if highlight else set()

    def _mark(self, words: str, highlight: Highlight, is_first: bool) -> str:
        if is_first and highlight.mark not in ON_REQUEST:
            names = [anchor(self._name, note) for note in highlight.notes]
            words = f'<a href="#{names[0]}" aria-describedby="{" ".join(names)}">{words}</a>'
        return f'<mark class="{highlight.mark}">{words}{self._tip(highlight) if self._tips else ""}</mark>'

    def _tip(self, highlight: Highlight) -> str:
        told = "".join(explained(note, self._glossary, self._rule_pages) for note in highlight.notes)
        return f'<span class="tip" role="tooltip" dir="ltr" lang="en">{told}</span>'


def _cut(part: Part, highlights: Sequence[Highlight]) -> Iterator[tuple[Part, Highlight | None]]:
    """A part of the text, cut where marks begin and end; these are in order and do not overlap."""
    here = part.start
    for highlight in islice(highlights, bisect_right(highlights, here, key=lambda one: one.end), None):
        start, end = max(highlight.start, here), min(highlight.end, part.end)
        if start >= end:
            break
        if here < start:
            yield Part(here, start), None
        yield Part(start, end), highlight
        here = end
    if here < part.end:
        yield Part(here, part.end), None


def _plain_piece(text: str, piece: tuple[Part, Highlight | None]) -> str:
    (start, end), highlight = piece
    words = shown(" ".join(text[start:end].split("\n")))
    return words if highlight is None else f'<mark class="{highlight.mark}">{words}</mark>'


def _excerpt_end(text: str, start: int, most: int) -> int:
    """Where it ends: between words, if there are any."""
    if len(text) - start <= most:
        return len(text)
    space = text.rfind(" ", start + most // 2, start + most)
    return space if space > 0 else start + most


def _excerpt_start(text: str, first: int, most: int) -> int:
    """Where an excerpt begins: at the start of the text, unless what is marked comes too late for it."""
    if first < most * 2 // 3:
        return 0
    return text.rfind(" ", 0, first - most // 4) + 1
