"""Notes on a case: each rule that fired, explained, below the checks that counted it."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from synthesis.model import CaseResult, Finding
from synthesis.model.result import AGAINST, CONTEXT, FAIL, FOR
from synthesis.report.glossary import Advice, Glossary
from synthesis.report.html.spans import shown
from synthesis.report.plain import count
from synthesis.report.verdicts import (
    MARKS,
    ON_REQUEST,
    OUTWEIGHED,
    UNCOUNTED,
    UNRECORDED,
    is_warning,
    marks_of,
)

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
