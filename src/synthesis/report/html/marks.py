"""What was said, with every finding in it, and a note on each rule behind them. Reports and pages share it."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from synthesis.model import CaseResult, Finding
from synthesis.model.result import AGAINST, CONTEXT, FOR
from synthesis.report.glossary import Advice, Glossary
from synthesis.report.html.spans import Piece, Span, pieces, shown
from synthesis.report.verdicts import MARKS, UNCOUNTED, UNRECORDED, is_warning, mark_of

SIGNS = {AGAINST: "−", FOR: "+", CONTEXT: "•", UNCOUNTED: "○", UNRECORDED: "?"}
LONG = 3_000  # characters; a longer text gets a window of its own to scroll in
_LINES = 5  # kinds of lines that the style sheet has: solid, double, dashed, dotted, wavy


class SignalStyles:
    """How each signal looks: the mark gives the colour and the sign, the line under the words tells signals apart.

    A signal can have several marks: what counted in one place did not in another. The same whatever the order of the
    results.
    """

    def __init__(self, marked: Iterable[tuple[str, str]]) -> None:
        self.marked = sorted(set(marked), key=lambda pair: (list(MARKS).index(pair[1]), pair[0]))
        self._line: dict[tuple[str, str], int] = {}
        for mark in MARKS:
            members = [pair for pair in self.marked if pair[1] == mark]
            self._line |= {pair: number for number, pair in enumerate(members)}

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> "SignalStyles":
        return cls((finding.signal, mark_of(finding)) for finding in findings)

    def classes(self, signal: str, mark: str) -> str:
        """The classes of highlighted words; past the fifth signal of a mark the lines are thicker."""
        number = self._line[signal, mark]
        return f"{mark} line{number % _LINES}" + (" thick" if number >= _LINES else "")


class Note(NamedTuple):
    """What one rule found in a case, under one mark."""

    number: int
    rule: str
    signal: str
    mark: str
    language: str
    warning: bool
    words: tuple[str, ...]


class Marks:
    """Draws the conversation of one case and the notes on it; `name` tells its notes from those of others.

    With `rule_pages`, the address below which each rule has a page, notes lead there.
    """

    def __init__(
        self, result: CaseResult, styles: SignalStyles, glossary: Glossary, name: str, *, rule_pages: str = ""
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
            for turn, said in enumerate(self._result.exchanges)
            for where, text in zip(("user", "assistant"), said, strict=True)
        )
        return "".join(self._text(where, turn, text) for where, turn, text in sides if text)

    def notes(self) -> str:
        """The rules that fired, each explained."""
        if not self._notes:
            return '<p class="quiet">No rule found anything in this case.</p>\n'
        items = "".join(
            f'<li id="{self._anchor(note.number)}" class="{note.mark}" '
            f'value="{note.number}">{self._explained(note)}</li>\n'
            for note in self._notes
        )
        return f'<h4>What was found</h4>\n<ol class="notes">\n{items}</ol>\n'

    def _text(self, where: str, turn: int, text: str) -> str:
        spans = _spans(self._result, self._notes, where, turn, text)
        marked = "".join(self._piece(piece) for piece in pieces(text, spans))
        code = self._result.language_of(where)
        language = f' lang="{escape(code)}"' if len(code) == 2 else ""
        window = f' tabindex="0" role="group" aria-label="{where}: a long text"' if len(text) > LONG else ""
        size = f' <span class="quiet">{len(text.split()):,} words</span>' if window else ""
        kind = "text long" if window else "text"
        # A reply is the turn that was judged; strips of turns lead to it.
        several = where == "assistant" and len(self._result.exchanges) > 1
        anchor = f' id="{self._name}turn{turn + 1}"' if several else ""
        number = f" · turn {turn + 1}" if several else ""
        return (
            f'<div class="turn {where}"{anchor}><h4>{where.capitalize()}{number}{size}</h4>'
            f'<div class="{kind}" dir="auto"{language}{window}>{marked}</div></div>\n'
        )

    def _piece(self, piece: Piece) -> str:
        if not piece.notes:
            return shown(piece.text)
        covering = [self._notes[number - 1] for number in piece.notes]
        first = min(covering, key=lambda note: list(MARKS).index(note.mark))
        words = shown(piece.text)
        if piece.begins:
            described = " ".join(self._anchor(number) for number in piece.begins)
            words = f'<a href="#{self._anchor(piece.begins[0])}" aria-describedby="{described}">{words}</a>'
        marks = "".join(f'&#8288;<sup dir="ltr">{SIGNS[self._notes[n - 1].mark]}{n}</sup>' for n in piece.ends)
        tip = "".join(self._explained(note) for note in covering)
        several = " several" if len(covering) > 1 else ""
        return (
            f'<mark class="{self._styles.classes(first.signal, first.mark)}{several}">{words}{marks}'
            f'<span class="tip" role="tooltip" dir="ltr" lang="en">{tip}</span></mark>'
        )

    def _explained(self, note: Note) -> str:
        # What did not count gets no advice: "gives an order" would mislead about a step to safety.
        counts = note.mark != UNCOUNTED or note.warning
        advice = self._glossary.on_rule(note.language, note.rule) if counts else Advice()
        signal = self._glossary.signals.get(note.signal, note.signal)
        lead = "Better: " if note.mark == AGAINST else ""
        words = ", ".join(f"<q><bdi>{shown(words)}</bdi></q>" for words in note.words)
        line = f"{SIGNS[note.mark]} {words} <b>{shown(signal)}</b>{_standing(note)}"
        line += f'<span class="why">{shown(advice.why)}</span>' if advice.why else ""
        line += f'<span class="better">{lead}{shown(advice.instead)}</span>' if advice.instead else ""
        return f"{line}<code>{self._rule(note)}</code>"

    def _rule(self, note: Note) -> str:
        if not self._rule_pages:
            return shown(note.rule)
        return f'<a href="{self._rule_pages}/{escape(note.language)}/{escape(note.rule)}">{shown(note.rule)}</a>'

    def _anchor(self, note: int) -> str:
        return f"{self._name}note{note}"


def _standing(note: Note) -> str:
    """Why a finding is shown that decided nothing."""
    if note.warning:
        return " (a warning, never a failure)"
    return f" ({MARKS[note.mark]})" if note.mark in {UNCOUNTED, UNRECORDED} else ""


def _notes(result: CaseResult) -> list[Note]:
    """One note for each rule that fired and how it is marked, numbered in the order of the text."""
    words: dict[tuple[str, str], dict[str, None]] = {}
    first: dict[tuple[str, str], Finding] = {}
    for finding in result.findings:
        key = finding.rule, mark_of(finding)
        first.setdefault(key, finding)
        words.setdefault(key, {})[finding.text] = None
    return [
        Note(
            number,
            rule,
            finding.signal,
            mark,
            result.language_of(finding.where),
            is_warning(finding),
            tuple(words[rule, mark]),
        )
        for number, ((rule, mark), finding) in enumerate(first.items(), start=1)
    ]


def _spans(result: CaseResult, notes: Sequence[Note], where: str, turn: int, text: str) -> list[Span]:
    """The findings in one text; where it is not the text that was evaluated (it is redacted), nothing is marked."""
    number = {(note.rule, note.mark): note.number for note in notes}
    return [
        Span(finding.start, finding.end, number[finding.rule, mark_of(finding)])
        for finding in result.findings
        if (finding.where, finding.turn) == (where, turn) and text[finding.start : finding.end] == finding.text
    ]
