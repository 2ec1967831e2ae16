"""One case on the page: what was said, with every finding in it, then the notes, then the verdict of each check."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from synthesis.report.glossary import Glossary
from synthesis.report.html.evidence import check_list
from synthesis.report.html.filters import Filters
from synthesis.report.html.signals import SIGNS, SignalStyles
from synthesis.report.html.spans import Piece, Span, pieces, shown
from synthesis.report.reading import Record
from synthesis.report.verdicts import AGAINST, KINDS, exchanges, is_warning, kind_of

LONG = 3_000  # characters; a longer text gets a window of its own to scroll in


class Note(NamedTuple):
    """What one rule found in a case."""

    number: int
    rule: str
    signal: str
    warning: bool
    words: tuple[str, ...]


class CaseView:
    """Draws cases, numbered in their order on the page."""

    def __init__(self, styles: SignalStyles, glossary: Glossary, filters: Filters) -> None:
        self._styles = styles
        self._glossary = glossary
        self._filters = filters
        self._number = 0

    def draw(self, result: Record) -> str:
        self._number += 1
        kind, notes = kind_of(result), _notes(result)
        parts = [
            f'<article class="case {self._filters.classes(result)}" aria-labelledby="case{self._number}">\n'
            f'<header><h3 id="case{self._number}">{shown(result["id"])}</h3> '
            f'<span class="badge {kind}">{KINDS[kind]}</span>{_meta(result)}</header>\n',
            *(self._turn(result, notes, turn) for turn in range(len(exchanges(result)))),
            self._note_list(notes, result["language"]),
            check_list(result, self._glossary),
            "</article>\n",
        ]
        return "".join(parts)

    def _turn(self, result: Record, notes: Sequence[Note], turn: int) -> str:
        said = exchanges(result)[turn]
        sides = zip(("user", "assistant"), said, strict=True)
        return "".join(self._text(result, notes, where, turn, text) for where, text in sides if text)

    def _text(self, result: Record, notes: Sequence[Note], where: str, turn: int, text: str) -> str:
        spans = _spans(result, notes, where, turn, text)
        marked = "".join(self._piece(piece, notes, result["language"]) for piece in pieces(text, spans))
        language = f' lang="{escape(result["language"])}"' if len(result["language"]) == 2 else ""
        window = f' tabindex="0" role="group" aria-label="{where}: a long text"' if len(text) > LONG else ""
        size = f' <span class="quiet">{len(text.split()):,} words</span>' if window else ""
        kind = "text long" if window else "text"
        return (
            f'<div class="turn {where}"><h4>{where.capitalize()}{size}</h4>'
            f'<div class="{kind}" dir="auto"{language}{window}>{marked}</div></div>\n'
        )

    def _piece(self, piece: Piece, notes: Sequence[Note], language: str) -> str:
        if not piece.notes:
            return shown(piece.text)
        covering = [notes[number - 1] for number in piece.notes]
        first = min(covering, key=lambda note: list(SIGNS.values()).index(self._styles.sign(note.signal)))
        words = shown(piece.text)
        if piece.begins:
            described = " ".join(self._anchor(number) for number in piece.begins)
            words = f'<a href="#{self._anchor(piece.begins[0])}" aria-describedby="{described}">{words}</a>'
        marks = "".join(f'&#8288;<sup dir="ltr">{self._styles.sign(notes[n - 1].signal)}{n}</sup>' for n in piece.ends)
        tip = "".join(self._explained(note, language) for note in covering)
        several = " several" if len(covering) > 1 else ""
        return (
            f'<mark class="{self._styles.classes(first.signal)}{several}">{words}{marks}'
            f'<span class="tip" role="tooltip" dir="ltr" lang="en">{tip}</span></mark>'
        )

    def _note_list(self, notes: Sequence[Note], language: str) -> str:
        if not notes:
            return '<p class="quiet">No rule found anything in this case.</p>\n'
        items = "".join(
            f'<li id="{self._anchor(note.number)}" class="{self._styles.tones[note.signal]}" '
            f'value="{note.number}">{self._explained(note, language)}</li>\n'
            for note in notes
        )
        return f'<h4>What was found</h4>\n<ol class="notes">\n{items}</ol>\n'

    def _explained(self, note: Note, language: str) -> str:
        advice = self._glossary.advice_on(language, note.rule)
        signal = self._glossary.signals.get(note.signal, note.signal)
        lead = "Better: " if self._styles.tones[note.signal] == AGAINST else ""
        words = ", ".join(f"<q><bdi>{shown(words)}</bdi></q>" for words in note.words)
        line = f"{self._styles.sign(note.signal)} {words} <b>{shown(signal)}</b>"
        line += " (a warning, never a failure)" if note.warning else ""
        line += f'<span class="why">{shown(advice.why)}</span>' if advice.why else ""
        line += f'<span class="better">{lead}{shown(advice.instead)}</span>' if advice.instead else ""
        return f"{line}<code>{shown(note.rule)}</code>"

    def _anchor(self, note: int) -> str:
        return f"case{self._number}note{note}"


def _notes(result: Record) -> list[Note]:
    """One note for each rule that fired, numbered in the order of the text."""
    words: dict[str, dict[str, None]] = {}
    first: dict[str, Record] = {}
    for finding in result["findings"]:
        first.setdefault(finding["rule"], finding)
        words.setdefault(finding["rule"], {})[finding["text"]] = None
    return [
        Note(number, rule, finding["signal"], is_warning(finding), tuple(words[rule]))
        for number, (rule, finding) in enumerate(first.items(), start=1)
    ]


def _spans(result: Record, notes: Sequence[Note], where: str, turn: int, text: str) -> list[Span]:
    """The findings in one text; where it is not the text that was evaluated (it is redacted), nothing is marked."""
    number = {note.rule: note.number for note in notes}
    return [
        Span(finding["start"], finding["end"], number[finding["rule"]])
        for finding in result["findings"]
        if (finding["where"], finding["turn"]) == (where, turn)
        and text[finding["start"] : finding["end"]] == finding["text"]
    ]


def _meta(result: Record) -> str:
    source = result.get("source")
    place = [f"<code>{shown(source['file'])}:{source['line']}</code>"] if source else []
    tags = [f'<span class="tag">{shown(tag)}</span>' for tag in result.get("tags", ())]
    language = [f'<span class="quiet">{shown(result["language"])}</span>'] if result["language"] else []
    return f'<p class="meta">{" ".join([*place, *language, *tags])}</p>'
