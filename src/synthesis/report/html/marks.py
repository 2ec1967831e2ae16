"""What was said, with the words that decided marked in it: findings may be nested or overlap."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice, pairwise
from typing import NamedTuple

from synthesis.model import CaseResult, Finding
from synthesis.model.result import AGAINST, CONTEXT, FAIL, FOR
from synthesis.model.texts import Advice
from synthesis.report.findings import (
    MARKS,
    ON_REQUEST,
    OUTWEIGHED,
    UNCOUNTED,
    UNRECORDED,
    Glossary,
    count,
    is_unseen,
    is_warning,
    marks_of,
)
from synthesis.report.html.prose import Part, Step, prose


class Span(NamedTuple):
    """Code points `start` to `end` of a text, found for the note of this number."""

    start: int
    end: int
    note: int


class Piece(NamedTuple):
    """A part of a text with the notes that cover it, those that begin here, and those that end here."""

    text: str
    notes: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]


def pieces(text: str, spans: Iterable[Span]) -> list[Piece]:
    """The text cut so that each piece lies wholly inside or wholly outside of every span."""
    inside = sorted({span for span in spans if 0 <= span.start < span.end <= len(text)})
    cuts = sorted({0, len(text), *(span.start for span in inside), *(span.end for span in inside)})
    found = []
    active: list[Span] = []
    following = 0
    for start, end in pairwise(cuts):
        active = [span for span in active if span.end > start]
        while following < len(inside) and inside[following].start == start:
            active.append(inside[following])
            following += 1
        found.append(
            Piece(
                text[start:end],
                _notes(active),
                _notes([span for span in active if span.start == start]),
                _notes([span for span in active if span.end == end]),
            )
        )
    return found


def _notes(spans: Sequence[Span]) -> tuple[int, ...]:
    return tuple(sorted({span.note for span in spans}))


def shown(text: str) -> str:
    """Text for a page: escaped, with characters that nobody would see made visible."""
    plain = text.replace("\r\n", "\n")
    if plain.isascii() and plain.isprintable():
        return escape(plain)
    return "".join(escape(char) if char in "\n\t" or not is_unseen(char) else _picture(char) for char in plain)


def _picture(char: str) -> str:
    """A stand-in for a character that shows nothing by itself."""
    return f'<span class="unseen">[U+{ord(char):04X}]</span>'


# Notes on a case: each rule that fired, explained, below the checks that counted it.


SIGNS = {AGAINST: "−", OUTWEIGHED: "−", FOR: "+", CONTEXT: "•", UNCOUNTED: "○", UNRECORDED: "?"}
OPEN = 3  # notes of one check that are shown; the others are folded
_TONES = {AGAINST: "Against", OUTWEIGHED: "Against, outweighed", FOR: "For", CONTEXT: "Scene"}
_ORDER = list(MARKS)
Place = tuple[str, int, int, int, str]  # where, turn, start, end, the words


class Note(NamedTuple):
    """What one rule found in a case for one check, under one mark."""

    number: int
    check: str
    rule: str
    signal: str
    mark: str
    language: str
    warning: bool
    words: tuple[str, ...]
    places: tuple[Place, ...]


def notes_on(result: CaseResult) -> list[Note]:
    """The notes by check, those that failed first, in each what decided first."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for finding, mark in zip(result.findings, marks_of(result), strict=True):
        for check in (finding.checks if mark not in ON_REQUEST else ()) or ("",):
            found.setdefault((check, finding.rule, mark), []).append(finding)
    failed = {name for name, check in result.checks.items() if check.outcome == FAIL}
    names = list(result.checks)

    def order(key: tuple[str, str, str]) -> tuple[bool, bool, int, int]:
        check, _, mark = key
        place = names.index(check) if check in names else len(names)
        return mark in ON_REQUEST, check not in failed, place, _ORDER.index(mark)

    return [_note(number, *key, found[key], result) for number, key in enumerate(sorted(found, key=order), start=1)]


def _note(number: int, check: str, rule: str, mark: str, findings: Sequence[Finding], result: CaseResult) -> Note:
    first = findings[0]
    words = tuple(dict.fromkeys(finding.text for finding in findings))
    places = tuple((one.where, one.turn, one.start, one.end, one.text) for one in findings)
    language = result.language_of(first.where)
    return Note(number, check, rule, first.signal, mark, language, is_warning(first), words, places)


def note_list(notes: Sequence[Note], glossary: Glossary, name: str, rule_pages: str) -> str:
    """The notes of a case; what did not count is folded."""
    if not notes:
        return '<p class="quiet">No rule found anything in this case.</p>\n'

    def item(note: Note) -> str:
        text = explained(note, glossary, rule_pages)
        return f'<li id="{anchor(name, note)}" class="{note.mark}">{text}</li>\n'

    shown_notes = [note for note in notes if note.mark not in ON_REQUEST]
    parts = []
    for check in dict.fromkeys(note.check for note in shown_notes):
        title = f"<h5>{shown(check) or 'Found'}</h5>"
        parts.append(title + _folded([item(note) for note in shown_notes if note.check == check]))
    quiet = [item(note) for note in notes if note.mark in ON_REQUEST]
    if quiet:
        summary = f"{count(len(quiet), 'rule')} that set the scene or did not count"
        parts.append(f"<details><summary>{summary}</summary>{_listed(quiet)}</details>\n")
    lead = "" if shown_notes else '<p class="quiet">No rule found anything that counted.</p>\n'
    return f'<div class="found"><h4>What was found</h4>\n{lead}{"".join(parts)}</div>\n'


def _folded(items: Sequence[str]) -> str:
    rest = items[OPEN:]
    folded = f"<details><summary>{len(rest)} more</summary>{_listed(rest)}</details>\n" if rest else ""
    return _listed(items[:OPEN]) + folded


def _listed(items: Sequence[str]) -> str:
    return f'<ul class="notes">\n{"".join(items)}</ul>\n'


def explained(note: Note, glossary: Glossary, rule_pages: str) -> str:
    """One note: the words, what they do, why it matters, what would be better, and the rule."""
    # What did not count gets no advice: "gives an order" would mislead about a step to safety.
    counts = note.mark != UNCOUNTED or note.warning
    advice = glossary.on_rule(note.language, note.rule) if counts else Advice()
    words = ", ".join(f"<q><bdi>{shown(words)}</bdi></q>" for words in note.words)
    does = advice.why or glossary.signals.get(note.signal, note.signal)
    line = f'<span class="tone">{_tone(note)}</span> {words}<span class="why">{shown(does)}</span>'
    if advice.instead and (note.warning or note.mark in {AGAINST, OUTWEIGHED, UNRECORDED}):
        line += f'<span class="better">Better: {shown(advice.instead)}</span>'
    return f"{line}<code>{_rule(note, rule_pages)}</code>"


def _tone(note: Note) -> str:
    if note.warning:
        return "A warning, never a failure"
    return _TONES.get(note.mark) or MARKS[note.mark].capitalize()


def _rule(note: Note, rule_pages: str) -> str:
    if not rule_pages:
        return shown(note.rule)
    return f'<a href="{rule_pages}/{escape(note.language)}/{escape(note.rule)}">{shown(note.rule)}</a>'


def anchor(name: str, note: Note) -> str:
    return f"{name}note{note.number}"


# What was said, with the words that decided marked in it. Reports and pages share it.


LONG = 3_000  # characters; a longer text gets a window of its own to scroll in


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
        steps = prose(text, [(one.start, one.end) for one in highlights]) if is_reply else None
        marked = "".join(self._drawn(text, [Part(0, len(text))] if steps is None else steps, highlights))
        code = self._result.language_of(where)
        language = f' lang="{escape(code)}"' if len(code) == 2 else ""
        window = f' tabindex="0" role="group" aria-label="{where}: a long text"' if len(text) > LONG else ""
        size = f' <span class="quiet">{len(text.split()):,} words</span>' if window else ""
        kind = f"text{' prose' if steps is not None else ''}{' long' if window else ''}"
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

    def _drawn(self, text: str, steps: Iterable[Step], highlights: Sequence[Highlight]) -> Iterator[str]:
        linked: set[int] = set()  # markup may cut a mark into several; its first words lead to the notes
        for step in steps:
            if isinstance(step, str):
                yield step
                continue
            for part, highlight in _cut(step, highlights):
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
