"""One case: what was said with the words that decided marked in it, then each check with the rules that it counted."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from synthesis.model import CaseResult, CheckResult, Finding
from synthesis.model.result import AGAINST, CONTEXT, ERROR, EXPLICIT_CUE, FAIL, FOR, NOT_APPLICABLE, PASS
from synthesis.model.texts import ENGLISH, Advice
from synthesis.report.findings import (
    EXPECTED,
    IN_CRISIS,
    MARKS,
    ON_REQUEST,
    OUTWEIGHED,
    UNCOUNTED,
    UNEXPECTED,
    UNRECORDED,
    AlertNotice,
    Glossary,
    Remark,
    check_kind,
    deciding_turn,
    found_by,
    is_warning,
    marks_of,
    notice_of,
    remarks_on_check,
    shares_of,
    why_it_fails,
)
from synthesis.report.html.prose import Part, Step, plain, prose
from synthesis.report.templates import macro

PARTS = "case_parts.html"
LEARNED = "learned"  # class of words that no rule found
EXCERPT = {"user": 160, "assistant": 220}  # characters of what was said, in a list of cases that need a look
BRIEF = 90  # the same for the others
LONG = 3_000  # characters; a longer text gets a window of its own to scroll in
OPEN = 3  # notes of one check that are shown; the others are folded
_FAILS = {UNEXPECTED: "Fails", EXPECTED: "Fails, as expected,"}
_TONES = {AGAINST: "Against", OUTWEIGHED: "Outweighed", FOR: "For", IN_CRISIS: "Crisis", CONTEXT: "Scene"}
_ORDER = list(MARKS)
_BLOCKS = ("<p", "<li", "<td", "<th")  # tags that a line of words shows as a space
_SHARED = {FOR, IN_CRISIS, OUTWEIGHED}  # marks whose rules a page of many cases explains once
_SCENE = {*ON_REQUEST, IN_CRISIS}  # marks that no check is explained by: a check on a crisis names its cue itself


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


# Notes on a case: each rule that fired, explained, below the checks that counted it.


Place = tuple[str, int, int, int, str]  # where, turn, start, end, the words


class Note(NamedTuple):
    """What one rule found in a case for one check, under one mark; `page` is the address of the rule, if it has one.

    What `is_shared` is explained at the end of the page, once for all cases.
    """

    anchor: str
    check: str
    rule: str
    mark: str
    words: tuple[str, ...]
    places: tuple[Place, ...]
    tone: str
    why: str
    better: str
    page: str
    is_shared: bool = False
    learned: str = ""  # what a learned reader says about the words; empty: a rule found them


class RuleNotes:
    """The rules that a page of many cases explains once, at its end, in the order in which cases come to them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], str] = {}  # mark, rule and why, by which languages differ

    def anchor(self, mark: str, rule: str, why: str) -> str:
        return self._found.setdefault((mark, rule, why), f"rule{len(self._found) + 1}")

    def entries(self) -> list[tuple[str, str, str, str, str]]:
        """Anchor, mark, what that means in a word, why, and the rule."""
        return [(anchor, mark, _TONES[mark], why, rule) for (mark, rule, why), anchor in self._found.items()]


def _grouped(result: CaseResult) -> list[tuple[str, str, str, list[Finding]]]:
    """Findings by check, rule and mark: those of checks that failed first, in each what decided first."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for finding, mark in zip(result.findings, marks_of(result), strict=True):
        for check in (finding.checks if mark not in _SCENE else ()) or ("",):
            found.setdefault((check, finding.rule, mark), []).append(finding)
    failed = {name for name, check in result.checks.items() if check.outcome == FAIL}
    names = list(result.checks)

    def order(key: tuple[str, str, str]) -> tuple[bool, bool, int, int]:
        check, _, mark = key
        place = names.index(check) if check in names else len(names)
        return mark in _SCENE, check not in failed, place, _ORDER.index(mark)

    return [(*key, found[key]) for key in sorted(found, key=order)]


class Highlight(NamedTuple):
    """Code points `start` to `end` of a text under one mark, with the notes behind it."""

    start: int
    end: int
    mark: str
    notes: tuple[Note, ...]

    @property
    def look(self) -> str:
        """Its classes: words that a learned reader alone found have a sign of their own."""
        return f"{self.mark} {LEARNED}" if all(note.learned for note in self.notes) else self.mark


class Said(NamedTuple):
    """Tags, then words, under a mark or not; the first words of a mark lead to its notes."""

    tags: Markup
    words: str = ""
    mark: str = ""
    notes: tuple[Note, ...] = ()
    leads: bool = False


class SaidTurn(NamedTuple):
    """What one side says in one turn; with an anchor where strips of turns lead to it."""

    where: str
    number: int
    anchor: str
    language: str
    is_prose: bool
    long: int  # words of a text that is too long to be shown at once
    said: list[Said]


class Marks:
    """The conversation of one case and the notes on it; `name` tells its notes from those of others.

    With `rule_pages`, the address below which each rule has a page, notes lead there. Without `tips`, a script of the
    page shows the notes on a mark beside it: a page of thousands of cases cannot hold every note twice. With `shared`
    it holds what did not decide against a reply only once for all of them.
    """

    def __init__(
        self,
        result: CaseResult,
        glossary: Glossary,
        name: str,
        *,
        rule_pages: str = "",
        tips: bool = True,
        shared: RuleNotes | None = None,
    ) -> None:
        self.name, self.tips, self._shared = name, tips, shared
        self._result, self._glossary, self._rule_pages = result, glossary, rule_pages
        self._highlighted: dict[tuple[str, int], list[Highlight]] = {}
        self._drawn: dict[int, list[Step] | None] = {}
        self.all_notes = [self._note(number, *key) for number, key in enumerate(_grouped(result), start=1)]

    def conversation(self) -> Markup:
        """All turns, marked, after a switch for what did not count."""
        return macro(PARTS, "conversation")(self)

    def notes(self) -> Markup:
        """The rules that the list of checks does not explain."""
        return macro(PARTS, "notes")(self)

    def notes_of(self, check: str) -> list[Note]:
        """The rules that a check counted, those that decided first."""
        return [
            note for note in self.all_notes if note.check == check and note.mark not in _SCENE and not note.is_shared
        ]

    def turns(self) -> list[SaidTurn]:
        return [
            self._turn(where, turn, text)
            for turn, said in enumerate(self._result.exchanges)
            for where, text in zip(("user", "assistant"), said, strict=True)
            if text
        ]

    @property
    def quiet(self) -> list[Note]:
        """Notes on what set the scene or did not count."""
        return [note for note in self.all_notes if note.mark in _SCENE and not note.is_shared]

    @property
    def on_request(self) -> int:
        """How many wordings are not marked until somebody asks for them."""
        return sum(len(note.words) for note in self.all_notes if note.mark in ON_REQUEST)

    @property
    def loose(self) -> list[tuple[str, list[Note]]]:
        """Notes of no check that the case has a verdict of: on the trial of a rule, or an alert of an old report."""
        names = dict.fromkeys(note.check for note in self.all_notes if note.check not in self._result.checks)
        return [(name, notes) for name in names if (notes := self.notes_of(name))]

    def first_words(self, where: str, most: int, *, marked: bool = True) -> list[Said]:
        """The words of the exchange that decided, without links and Markdown: for a list of cases."""
        turn = deciding_turn(self._result)
        text = self._result.exchanges[turn][0 if where == "user" else 1]
        hidden = {*ON_REQUEST, OUTWEIGHED}
        decided = [one for one in self._highlights(where, turn, text) if marked and one.mark not in hidden]
        first = next((one.start for one in decided if one.mark in {AGAINST, IN_CRISIS}), 0)
        start = _excerpt_start(text, first, most)
        end = _excerpt_end(text, start, most)
        steps = self._steps(where, turn, text) or [Part(0, len(text))]
        before, behind = (
            [Said(Markup(), dots)] if cut else [] for dots, cut in (("… ", start), (" …", end < len(text)))
        )
        return [*before, *_flowing(text, steps, Part(start, end), decided), *behind]

    def _note(self, number: int, check: str, rule: str, mark: str, findings: Sequence[Finding]) -> Note:
        first = findings[0]
        language, warning = self._result.language_of(first.where), is_warning(first)
        # What did not count gets no advice: "gives an order" would mislead about a step to safety.
        advice = self._glossary.on_rule(language, rule) if mark != UNCOUNTED or warning else Advice()
        tone = "A warning, never a failure" if warning else _TONES.get(mark) or MARKS[mark].capitalize()
        why = advice.why or self._glossary.signals.get(first.signal, first.signal)
        shared = self._shared if mark in _SHARED and check not in self._result.failed_checks else None
        return Note(
            shared.anchor(mark, rule, why) if shared else f"{self.name}note{number}",
            check,
            rule,
            mark,
            tuple(dict.fromkeys(plain(finding.text) for finding in findings)),
            tuple((one.where, one.turn, one.start, one.end, one.text) for one in findings),
            tone,
            why,
            advice.instead if warning or mark in {AGAINST, OUTWEIGHED, UNRECORDED} else "",
            f"{self._rule_pages}/{language}/{rule}" if self._rule_pages and not first.reader else "",
            shared is not None,
            _found_by(findings),
        )

    def _turn(self, where: str, turn: int, text: str) -> SaidTurn:
        highlights = self._highlights(where, turn, text)
        is_reply = where == "assistant"
        steps = self._steps(where, turn, text)
        code = self._result.language_of(where)
        several = is_reply and len(self._result.exchanges) > 1
        return SaidTurn(
            where,
            turn + 1,
            f"{self.name}turn{turn + 1}" if several else "",
            code if len(code) == 2 and code != ENGLISH else "",  # the page is English
            steps is not None,
            len(text.split()) if len(text) > LONG else 0,
            list(_said(text, [Part(0, len(text))] if steps is None else steps, highlights)),
        )

    def _steps(self, where: str, turn: int, text: str) -> list[Step] | None:
        """A reply without its Markdown; None for what is shown as it was written."""
        if where == "user":
            return None
        if turn not in self._drawn:
            self._drawn[turn] = prose(text, [(one.start, one.end) for one in self._highlights(where, turn, text)])
        return self._drawn[turn]

    def _highlights(self, where: str, turn: int, text: str) -> list[Highlight]:
        """One for each stretch of words under one mark; asked for by the excerpt and by the conversation."""
        if (where, turn) not in self._highlighted:
            self._highlighted[where, turn] = self._found(where, turn, text)
        return self._highlighted[where, turn]

    def _found(self, where: str, turn: int, text: str) -> list[Highlight]:
        """None where the text is not the one that was evaluated."""
        spans = [
            Span(start, end, number)
            for number, note in enumerate(self.all_notes)
            for at, of_turn, start, end, words in note.places
            if (at, of_turn) == (where, turn) and text[start:end] == words
        ]
        found: list[Highlight] = []
        place = 0
        for piece in pieces(text, spans):
            start, place = place, place + len(piece.text)
            if not piece.notes:
                continue
            covering = [self.all_notes[number] for number in piece.notes]
            mark = min((note.mark for note in covering), key=_ORDER.index)
            notes = [note for note in covering if (note.mark in ON_REQUEST) == (mark in ON_REQUEST)]
            drawn = Highlight(start, place, mark, tuple(dict.fromkeys(notes)))
            if found and (found[-1].end, found[-1].look) == (start, drawn.look):
                last = found.pop()
                drawn = Highlight(last.start, place, mark, tuple(dict.fromkeys((*last.notes, *notes))))
            found.append(drawn)
        return found


def _found_by(findings: Sequence[Finding]) -> str:
    """What the words of one turn carry together; empty for those of a rule."""
    return found_by(findings[0].reader, shares_of(findings))


def _said(text: str, steps: Iterable[Step], highlights: Sequence[Highlight]) -> Iterator[Said]:
    linked: set[int] = set()  # markup may cut a mark into several; its first words lead to the notes
    tags = ""
    for step in steps:
        if isinstance(step, str):
            tags += step
            continue
        for part, highlight in _cut(step, highlights):
            words = text[part.start : part.end]
            if highlight is None:
                yield Said(_markup(tags), words)
            else:
                leads = highlight.start not in linked and highlight.mark not in ON_REQUEST
                linked.add(highlight.start)
                yield Said(_markup(tags), words, highlight.look, highlight.notes, leads)
            tags = ""
    yield Said(_markup(tags))


@lru_cache(512)
def _markup(tags: str) -> Markup:
    """Tags of our own; a few of them are most."""
    return Markup(tags)


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


def _flowing(text: str, steps: Iterable[Step], window: Part, highlights: Sequence[Highlight]) -> Iterator[Said]:
    """What a window of the text shows, as one line: blocks are parted by a space."""
    gap, begun = "", False
    for step in steps:
        if isinstance(step, str):
            gap = " " if begun and (step == "\n" or step.startswith(_BLOCKS)) else gap
            continue
        inside = Part(max(step.start, window.start), min(step.end, window.end))
        for part, highlight in _cut(inside, highlights) if inside.start < inside.end else ():
            if gap:
                yield Said(Markup(), gap)
            words = plain(text[part.start : part.end]).replace("\n", " ")
            yield Said(Markup(), words, highlight.look if highlight else "")
            gap, begun = "", True


def excerpt(marks: Marks, result: CaseResult, glossary: Glossary) -> Markup:
    """A case in a list: what was said where it was decided, the words that decided marked, and why it fails."""
    return macro(PARTS, "excerpt")(*excerpt_of(marks, result, glossary))


def excerpt_of(marks: Marks, result: CaseResult, glossary: Glossary) -> tuple[str, list[tuple[str, list[Said]]]]:
    sides = (("user", "User"), ("assistant", "Reply")) if result.exchanges else ()
    why = plain(_why(result, glossary))
    needs_look = bool(why)
    return why, [
        (who, marks.first_words(where, EXCERPT[where] if needs_look else BRIEF, marked=needs_look))
        for where, who in sides
    ]


def _why(result: CaseResult, glossary: Glossary) -> str:
    """In one line: why the worst check fails the reply, or how the reply answers a crisis."""
    if not result.failed_checks:
        notice = notice_of(result, glossary)
        return notice.verdict if notice else ""
    worst, *others = result.failed_checks
    also = f" Fails {', '.join(others)} too." if others else ""
    return f"{worst}: {why_it_fails(result, result.checks[worst], glossary)}.{also}"


# Alerts: what leads on a page that folds the words of a crisis, and in a report that lacks their check.


Fields = Sequence[tuple[str, list[str]]]  # evidence by name, each as lines


class AlertBox(NamedTuple):
    """An explicit cue; `check` gave its verdict because it was asked for."""

    outcome: str
    words: str
    check: str = ""
    verdict: str = ""
    lines: Sequence[str] = ()
    evidence: Fields = ()


def alert_box(result: CaseResult, glossary: Glossary) -> Markup:
    """The words of a crisis, and what the check says about the reply; empty where there are none."""
    return macro(PARTS, "alert_boxes")(alerts_of(result, glossary))


def alerts_of(result: CaseResult, glossary: Glossary) -> list[AlertBox]:
    """The alert of a result; without one, since the check was asked for, its cue leads all the same."""
    notice = notice_of(result, glossary)
    if notice is not None and result.alert is not None:
        lines = notice.lines[1:]
        return [AlertBox(result.alert.outcome, str(notice), lines=lines, evidence=_fields(result.alert))]
    return [_cue_box(result, check, glossary) for check in result.checks.values() if _has_cue(check)]


def unlisted_alerts(result: CaseResult, glossary: Glossary) -> list[AlertBox]:
    """Only an alert whose check is not among those of the case: the list of checks says the others."""
    return alerts_of(result, glossary) if result.alert and result.alert.check not in result.checks else []


def _has_cue(check: CheckResult) -> bool:
    return check.evidence.get("cue") == EXPLICIT_CUE


def _cue_box(result: CaseResult, check: CheckResult, glossary: Glossary) -> AlertBox:
    notice = notice_of(msgspec.structs.replace(result, alert=check), glossary)
    verdict = {PASS: "passes the reply", FAIL: "fails the reply"}.get(check.outcome, "gives no verdict")
    return AlertBox(check.outcome, notice.cue if notice else "", check.check, verdict)


# Why the case came out as it did: each check that failed with the rules that decided, the others named in a line.


class CheckLine(NamedTuple):
    """A check that is worth a line of its own; the label is what people said where they differ."""

    kind: str
    sign: str
    lead: str
    name: str
    why: str
    is_loud: bool = True
    missing: Sequence[Remark] = ()
    label: str = ""
    evidence: Fields = ()
    severity: str = ""
    notes: Sequence[Note] = ()
    more: Sequence[Note] = ()  # that are folded


class CalmCheck(NamedTuple):
    """A check that needs no look."""

    name: str
    reason: str
    evidence: Fields
    notes: Sequence[Note]


class CalmChecks(NamedTuple):
    """Those of one outcome."""

    lead: str
    checks: list[CalmCheck]


def check_list(result: CaseResult, glossary: Glossary, told_in: str = ENGLISH, marks: Marks | None = None) -> Markup:
    """Every check of a case, with its evidence to unfold; `told_in` is the language of advice."""
    return macro(PARTS, "check_list")(*checks_of(result, glossary, told_in, marks))


def checks_of(
    result: CaseResult, glossary: Glossary, told_in: str = ENGLISH, marks: Marks | None = None
) -> tuple[list[CheckLine], list[CalmChecks]]:
    """Those that are worth a line, the worst first, and the others; with marks, each explained by its rules."""
    lines = [_failed(result, name, glossary, told_in, _notes_in(marks, name)) for name in result.failed_checks]
    lines += [
        CheckLine(ERROR, "!", "No verdict of", check.check, check.error or "")
        for check in result.checks.values()
        if check.outcome == ERROR
    ]
    others = [check for check in result.checks.values() if check.outcome not in {FAIL, ERROR}]
    notable = [check for check in others if _is_notable(result, check)]
    lines += [_noted(result, check, glossary, _notes_in(marks, check.check)) for check in notable]
    calm = [
        CalmChecks(
            lead,
            [
                CalmCheck(one.check, one.reason or "", _fields(one), _notes_in(marks, one.check))
                for one in others
                if one.outcome == outcome and one not in notable
            ],
        )
        for outcome, lead in ((PASS, "✓ Passes"), (NOT_APPLICABLE, "Does not apply:"))
    ]
    return lines, [group for group in calm if group.checks]


def _notes_in(marks: Marks | None, check: str) -> list[Note]:
    return marks.notes_of(check) if marks else []


def _is_notable(result: CaseResult, check: CheckResult) -> bool:
    return check.has_soft_cue or _has_cue(check) or bool(_missed_label(result, check.check))


def _failed(result: CaseResult, name: str, glossary: Glossary, told_in: str, notes: list[Note]) -> CheckLine:
    """The rules below a check say why; where none are shown, its line does."""
    kind, check = check_kind(result, name), result.checks[name]
    remarks = remarks_on_check(result, name, glossary, told_in)
    missing = [remark for remark in remarks if remark.missing]
    is_told = missing or any(note.mark == AGAINST for note in notes)
    cue = _told_cue(result, check, glossary)
    why = cue.cue if cue else "" if is_told else f"{why_it_fails(result, check, glossary, told_in)}."
    return CheckLine(
        kind,
        "✗",
        _FAILS[kind],
        name,
        plain(why),
        missing=missing,
        label=_missed_label(result, name),
        evidence=_fields(check),
        severity=check.severity or "",
        notes=notes[:OPEN],
        more=notes[OPEN:],
    )


def _told_cue(result: CaseResult, check: CheckResult, glossary: Glossary) -> AlertNotice | None:
    """What a check says about an explicit cue and the answer to it."""
    return notice_of(msgspec.structs.replace(result, alert=check), glossary) if _has_cue(check) else None


def _noted(result: CaseResult, check: CheckResult, glossary: Glossary, notes: list[Note]) -> CheckLine:
    """A check that did not fail and is worth a line: an answered crisis, a label that differs, or a soft cue."""
    sign, lead = ("✓", "Passes") if check.outcome == PASS else ("–", "Does not apply:")
    hints = check.evidence.get("warnings", ()) if check.has_soft_cue else ()
    better = f". A good reply would hold {' '.join(hints)}" if hints else ""
    cue = _told_cue(result, check, glossary) if check.outcome == PASS else None
    why = plain(str(cue)) if cue else check.reason + better if check.reason else ""
    label = _missed_label(result, check.check)
    evidence = _fields(check)
    return CheckLine(
        check.outcome, sign, lead, check.check, why, is_loud=False, label=label, evidence=evidence, more=notes
    )


def _missed_label(result: CaseResult, name: str) -> str:
    label = result.label_comparison.get(name)
    return "" if label is None or label.match else "pass" if label.expected else "fail"


def _fields(check: CheckResult) -> Fields:
    shown = ((key, value) for key, value in check.evidence.items() if key != "applicable" and value not in ([], None))
    return [(key, _lines(value) or [""]) for key, value in shown]


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [line for item in value for line in _lines(item)]
    if isinstance(value, dict):
        found = ((key, _lines(item) or [""]) for key, item in value.items() if item != [])
        return [line for key, (first, *rest) in found for line in (f"{key}: {first}", *rest)]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(value)]
