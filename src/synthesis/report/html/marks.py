"""What was said, with every finding in it, and a note on each rule behind them. Reports and pages share it."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from synthesis.report.glossary import Glossary
from synthesis.report.html.signals import SIGNS, SignalStyles
from synthesis.report.html.spans import Piece, Span, pieces, shown
from synthesis.report.reading import Record
from synthesis.report.verdicts import AGAINST, exchanges, is_warning

LONG = 3_000  # characters; a longer text gets a window of its own to scroll in


class Note(NamedTuple):
    """What one rule found in a case."""

    number: int
    rule: str
    signal: str
    language: str
    warning: bool
    words: tuple[str, ...]


class Marks:
    """Draws the conversation of one case and the notes on it; `name` tells its notes from those of others.

    With `rule_pages`, the address below which each rule has a page, notes lead there.
    """

    def __init__(
        self, result: Record, styles: SignalStyles, glossary: Glossary, name: str, *, rule_pages: str = ""
    ) -> None:
        self._result = result
        self._styles = styles
        self._glossary = glossary
        self._name = name
        self._rule_pages = rule_pages
        self._notes = _notes(result)

    def conversation(self) -> str:
        """All turns, marked."""
        sides = (
            (where, turn, text)
            for turn, said in enumerate(exchanges(self._result))
            for where, text in zip(("user", "assistant"), said, strict=True)
        )
        return "".join(self._text(where, turn, text) for where, turn, text in sides if text)

    def notes(self) -> str:
        """The rules that fired, each explained."""
        if not self._notes:
            return '<p class="quiet">No rule found anything in this case.</p>\n'
        items = "".join(
            f'<li id="{self._anchor(note.number)}" class="{self._styles.tones[note.signal]}" '
            f'value="{note.number}">{self._explained(note)}</li>\n'
            for note in self._notes
        )
        return f'<h4>What was found</h4>\n<ol class="notes">\n{items}</ol>\n'

    def _text(self, where: str, turn: int, text: str) -> str:
        spans = _spans(self._result, self._notes, where, turn, text)
        marked = "".join(self._piece(piece) for piece in pieces(text, spans))
        code = language_of_side(self._result, where)
        language = f' lang="{escape(code)}"' if len(code) == 2 else ""
        window = f' tabindex="0" role="group" aria-label="{where}: a long text"' if len(text) > LONG else ""
        size = f' <span class="quiet">{len(text.split()):,} words</span>' if window else ""
        kind = "text long" if window else "text"
        return (
            f'<div class="turn {where}"><h4>{where.capitalize()}{size}</h4>'
            f'<div class="{kind}" dir="auto"{language}{window}>{marked}</div></div>\n'
        )

    def _piece(self, piece: Piece) -> str:
        if not piece.notes:
            return shown(piece.text)
        covering = [self._notes[number - 1] for number in piece.notes]
        first = min(covering, key=lambda note: list(SIGNS.values()).index(self._styles.sign(note.signal)))
        words = shown(piece.text)
        if piece.begins:
            described = " ".join(self._anchor(number) for number in piece.begins)
            words = f'<a href="#{self._anchor(piece.begins[0])}" aria-describedby="{described}">{words}</a>'
        marks = "".join(
            f'&#8288;<sup dir="ltr">{self._styles.sign(self._notes[n - 1].signal)}{n}</sup>' for n in piece.ends
        )
        tip = "".join(self._explained(note) for note in covering)
        several = " several" if len(covering) > 1 else ""
        return (
            f'<mark class="{self._styles.classes(first.signal)}{several}">{words}{marks}'
            f'<span class="tip" role="tooltip" dir="ltr" lang="en">{tip}</span></mark>'
        )

    def _explained(self, note: Note) -> str:
        advice = self._glossary.advice_on(note.language, note.rule)
        signal = self._glossary.signals.get(note.signal, note.signal)
        lead = "Better: " if self._styles.tones[note.signal] == AGAINST else ""
        words = ", ".join(f"<q><bdi>{shown(words)}</bdi></q>" for words in note.words)
        line = f"{self._styles.sign(note.signal)} {words} <b>{shown(signal)}</b>"
        line += " (a warning, never a failure)" if note.warning else ""
        line += f'<span class="why">{shown(advice.why)}</span>' if advice.why else ""
        line += f'<span class="better">{lead}{shown(advice.instead)}</span>' if advice.instead else ""
        return f"{line}<code>{self._rule(note)}</code>"

    def _rule(self, note: Note) -> str:
        if not self._rule_pages:
            return shown(note.rule)
        return f'<a href="{self._rule_pages}/{escape(note.language)}/{escape(note.rule)}">{shown(note.rule)}</a>'

    def _anchor(self, note: int) -> str:
        return f"{self._name}note{note}"


def language_of_side(result: Record, where: str) -> str:
    """The language of the reply, or of the user's message where that is another one."""
    reply: str = result["language"]
    return str(result.get("user_language", reply)) if where == "user" else reply


def _notes(result: Record) -> list[Note]:
    """One note for each rule that fired, numbered in the order of the text."""
    words: dict[str, dict[str, None]] = {}
    first: dict[str, Record] = {}
    for finding in result["findings"]:
        first.setdefault(finding["rule"], finding)
        words.setdefault(finding["rule"], {})[finding["text"]] = None
    return [
        Note(
            number,
            rule,
            finding["signal"],
            language_of_side(result, finding["where"]),
            is_warning(finding),
            tuple(words[rule]),
        )
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
