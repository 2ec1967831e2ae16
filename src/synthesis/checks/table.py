"""A check as a table: signals, named steps in reading order, when it applies, when it passes, what it shows.

    let:
      claims: identity.claim
    unless:
      - {when: part, reason: the user gave the assistant a part to play}
    pass: not claims

The formulas are those of `formula.py`. A table is read in full before anything is decided by it: a wrong one is an
error with file, line and column, and no part of it comes into force.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from synthesis.checks.exchange import Exchange
from synthesis.checks.formula import (
    NONE,
    OMITTED,
    Formula,
    FormulaError,
    Frame,
    Scope,
    formula,
    function_of,
    shared_frame,
)
from synthesis.checks.operators import HITS, TEXT, TRUTH
from synthesis.documents import Field, read_yaml
from synthesis.lazy import regex
from synthesis.model import CheckResult
from synthesis.model.result import AGAINST, CONTEXT, FOR, SEVERITIES, worst_of
from synthesis.rules.schema import Signal
from synthesis.settings import PROFILES

FOLDER = Path(__file__).with_name("tables")
SHARED = "shared"
APPLICABLE, DECISION, STRENGTH, ROW = "applicable", "decision", "strength", "row"
_NAME = regex(r"[a-z][a-z0-9_]*")
SLOT = regex(r"\{(\w+)(:[^}]*)?\}")
FIELDS = (
    *("name", "tag", "title", "signals", "constants", "let", "carried", "unless", "decision", "pass", "missing"),
    *("evidence", "evidence_without_verdict", "counted", "counted_without_verdict", "shown", "failure_evidence"),
    *("stands", "alert_on", "over_turns", "severity", "cases"),
)
HINT = "A table is YAML with `name`, `let`, `pass` and more: `synthesis rules new-check NAME` writes one."
_EXPLAINING = ("means", "says", "why")
_REQUIRED = ("name", "title", "let", "pass")


class Unless(NamedTuple):
    """When a check does not apply, and why."""

    when: Formula
    reason: str


class Decided(NamedTuple):
    """A row of a decision: of those of the profile the first that holds decides."""

    name: str
    when: Formula | None  # None: it holds
    says: str
    strength: str = ""
    profile: str = ""


class SeverityRow(NamedTuple):
    """How bad a failure is: of the rows the first that holds."""

    severity: str
    why: str
    groups: frozenset[str] = frozenset()  # of rules that speak against the reply; empty: whatever does
    when: Formula | None = None


class OverTurns(NamedTuple):
    """How a conversation is judged from its turns: the worst, and of equals one that is preferred."""

    same: str  # evidence by which turns belong together
    gather: Mapping[str, str]  # evidence whose lists are joined over these turns
    prefer: Formula


class Table(msgspec.Struct, frozen=True, dict=True):
    """A check as data. Formulas are functions of a `Frame`, which computes a step when it is first asked for."""

    name: str
    tag: str
    title: str
    file: str
    signals: dict[str, Signal]
    constants: dict[str, Any]
    steps: dict[str, Formula]
    lines: dict[str, int]  # of the steps, in the file
    carried: tuple[str, ...] = ()
    unless: tuple[Unless, ...] = ()
    decision: tuple[Decided, ...] = ()
    passes: Formula | None = None
    missing: dict[str, Formula] = {}
    evidence: dict[str, Formula] = {}
    evidence_without_verdict: bool = False
    counted: tuple[Formula, ...] = ()
    counted_without_verdict: bool = False
    shown: tuple[tuple[str, Formula | None], ...] = ()
    failure_evidence: dict[str, str] = {}
    stands: Formula | None = None
    alert_on: tuple[str, ...] = ()
    over: OverTurns | None = None
    severity: tuple[SeverityRow, ...] = ()
    cases: tuple[Any, ...] = ()
    known_signals: Mapping[str, Signal] = {}  # all that its formulas could name
    is_own: bool = False  # of a user, in a folder of rules
    deciding: dict[str, Any] = {}  # what can change a verdict, for the hash of the rules

    @cached_property
    def plainly_shown(self) -> tuple[str, ...] | None:
        """The signals that are shown, where none depends on a condition."""
        return None if any(when for _, when in self.shown) else tuple(signal for signal, _ in self.shown)

    @cached_property
    def used_signals(self) -> set[str]:
        """The signals that its formulas name, and those that it shows."""
        formulas = [*self.steps.values(), *self.evidence.values(), *self.counted, *self.missing.values()]
        formulas += [row.when for row in self.unless] + [row.when for row in self.decision if row.when]
        formulas += [self.passes] if self.passes else []
        return {signal for signal, _ in self.shown}.union(*(one.signals for one in formulas))

    def frame(self, exchange: Exchange, shared: "Table") -> Frame:
        return Frame(exchange, self.steps, shared_frame(exchange, shared.steps))


# Deciding.


def decider(table: Table, shared: Table) -> Callable[[Exchange], CheckResult]:
    """The function that decides by a table."""

    def decide(exchange: Exchange) -> CheckResult:
        return verdict(table, table.frame(exchange, shared))

    return decide


def verdict(table: Table, frame: Frame) -> CheckResult:
    """What a table says about an exchange."""
    exchange: Exchange = frame.exchange
    reason = why_not(table, frame)
    frame.values[APPLICABLE] = reason is None
    evidence = _evidence(table, frame) if reason is None or table.evidence_without_verdict else {}
    counts = reason is None or table.counted_without_verdict
    counted = [hit for one in table.counted for hit in one.of(frame)] if counts else ()
    findings = exchange.findings(*_shown(table, frame), counted=counted)
    if reason is not None:
        return CheckResult(table.name, True, evidence, findings, applicable=False, reason=reason)
    passed = bool(table.passes.of(frame)) if table.passes else True
    missing = () if passed else tuple(name for name, lacks in table.missing.items() if lacks.of(frame))
    return CheckResult(table.name, passed, evidence, findings, missing=missing)


def why_not(table: Table, frame: Frame) -> str | None:
    """Why the check does not apply; None where it does."""
    for row in table.unless:
        if row.when.of(frame):
            return SLOT.sub(lambda slot: _said(table, frame, slot[1]), row.reason)
    return None


def _said(table: Table, frame: Frame, name: str) -> str:
    """A step in a sentence: the words of its first hit, or its names."""
    value = frame[name] if name in table.steps else frame.shared[name] if frame.shared else ""
    if isinstance(value, list):
        return value[0].words if value and hasattr(value[0], "words") else ", ".join(value)
    return str(value)


def _evidence(table: Table, frame: Frame) -> dict[str, Any]:
    found = {}
    for name, one in table.evidence.items():
        value = one.of(frame)
        if value is not OMITTED:
            found[name] = value
    return found


def _shown(table: Table, frame: Frame) -> Sequence[str]:
    if table.plainly_shown is not None:
        return table.plainly_shown
    return [signal for signal, when in table.shown if when is None or when.of(frame)]


def decided(rows_of_all: Sequence[Decided], frame: Frame) -> Decided:
    """The row of a decision that holds in the profile at hand."""
    profile = frame.exchange.profile
    rows = (row for row in rows_of_all if row.profile in ("", profile))
    return next(row for row in rows if row.when is None or row.when.of(frame))


# A failure, and a conversation.


class _OfResult:
    """A result as the exchange of a frame: what `stands` and `prefer` may ask."""

    def __init__(self, result: CheckResult) -> None:
        self.result = result

    def shows(self, signal: str) -> bool:
        return any(finding.signal == signal for finding in self.result.findings)


def holds_for(formula: Formula, result: CheckResult) -> bool:
    """Whether a formula about evidence holds for a result."""
    frame = Frame(_OfResult(result), {})
    frame.values = dict.fromkeys(formula.uses) | result.evidence  # a result without a verdict may have no evidence
    return bool(formula.of(frame))


def over_turns(over: OverTurns) -> Callable[[Sequence[CheckResult]], CheckResult]:
    """The verdict on a conversation: the worst turn; turns that belong together know of each other."""

    def of(turns: Sequence[CheckResult]) -> CheckResult:
        gathered: dict[str, dict[Any, list[Any]]] = {key: {} for key in over.gather}
        for turn in turns:
            if over.same in turn.evidence:
                for key, source in over.gather.items():
                    gathered[key].setdefault(turn.evidence[over.same], []).extend(turn.evidence[source])
        return worst_of([_with(turn, gathered) for turn in turns], first=lambda turn: holds_for(over.prefer, turn))

    def _with(turn: CheckResult, gathered: Mapping[str, Mapping[Any, list[Any]]]) -> CheckResult:
        if over.same not in turn.evidence:
            return turn
        about = {key: own[turn.evidence[over.same]] for key, own in gathered.items()}
        return msgspec.structs.replace(turn, evidence=turn.evidence | about)

    return of


# Reading.


def read_table(
    path: Path, signals: Mapping[str, Signal], shared: Table | None = None, root: Field | None = None
) -> Table:
    """The table in a file, whose formulas may name these signals and the steps of `shared`.

    `root` is what stands in the file, where somebody has read it.
    """
    return _TableReader(path, signals, shared, root or read_yaml(path, HINT)).table()


def read_signals(path: Path, root: Field | None = None) -> dict[str, Signal]:
    """The signals that a table declares."""
    fields = (root or read_yaml(path, HINT)).mapping(FIELDS)
    entries = fields["signals"].mapping() if "signals" in fields else {}
    return {name: _signal(name, field) for name, field in entries.items()}


def _signal(name: str, field: Field) -> Signal:
    if not re.fullmatch(r"[a-z_]+\.[a-z_]+", name):
        field.fail(
            f"'{name}' cannot name a signal",
            hint="A signal is called like `agency.negative`: two words in small letters.",
        )
    told = field.mapping(("from", "means", "speaks", "profile", "whole", "anchor"))
    for key in ("from", "means"):
        if key not in told:
            field.fail(f"the signal '{name}' needs `{key}`")
    optional: dict[str, Any] = {key: told[key].boolean() for key in ("whole", "anchor") if key in told}
    if "profile" in told:
        optional["profile"] = told["profile"].one_of(PROFILES)
    if "speaks" in told:
        optional["role"] = told["speaks"].one_of((FOR, AGAINST, CONTEXT))
    return Signal(name, told["from"].one_of(("user", "assistant")), told["means"].text(), **optional)


class _TableReader:
    """Reads one file, from top to bottom: a formula may name what stands above it."""

    def __init__(self, path: Path, signals: Mapping[str, Signal], shared: Table | None, root: Field) -> None:
        self._path = path
        self._root = root
        self._fields = self._root.mapping(FIELDS)
        self._mappings: dict[str, dict[str, Field]] = {}  # those of the fields that are
        self._signals = signals
        self._shared = shared
        self._steps: dict[str, Formula] = {}
        self._lines: dict[str, int] = {}
        self._constants: dict[str, Any] = {}

    def table(self) -> Table:
        fields = self._fields
        is_shared = self._text("name") == SHARED
        for key in () if is_shared else _REQUIRED:
            if key not in fields:
                self._root.fail(
                    f"the table needs `{key}`", hint="`synthesis rules new-check NAME` writes one to begin with."
                )
        self._constants = {name: _plain(field) for name, field in self._entries("constants").items()}
        for name, field in self._entries("let").items():
            self._step(name, field)
        carried = self._carried()
        unless = tuple(self._unless(field) for field in self._items("unless"))
        decision = tuple(self._decided(field) for field in self._items("decision"))
        if decision:
            self._add_decision(decision)
        return Table(
            name=self._text("name"),
            tag=self._text("tag") or self._text("name"),
            title=self._text("title"),
            file=str(self._path),
            signals={name: _signal(name, field) for name, field in self._entries("signals").items()},
            constants=self._constants,
            steps=self._steps,
            lines=self._lines,
            carried=carried,
            unless=unless,
            decision=decision,
            passes=self._formula(fields["pass"]) if "pass" in fields else None,
            missing={name: self._formula(field) for name, field in self._entries("missing").items()},
            evidence={
                name: self._formula(field, also={APPLICABLE: TRUTH})
                for name, field in self._entries("evidence").items()
            },
            evidence_without_verdict=self._flag("evidence_without_verdict"),
            counted=tuple(self._formula(field, kind=HITS) for field in self._items("counted")),
            counted_without_verdict=self._flag("counted_without_verdict"),
            shown=tuple(self._shown(field) for field in self._items("shown")),
            failure_evidence={key: field.text() for key, field in self._entries("failure_evidence").items()},
            stands=self._of_result(fields["stands"]) if "stands" in fields else None,
            alert_on=self._names("alert_on"),
            over=self._over(fields["over_turns"]) if "over_turns" in fields else None,
            severity=tuple(self._severity(field) for field in self._items("severity")),
            cases=tuple(_plain(field) for field in self._items("cases")),
            known_signals=self._signals,
            is_own=self._path.parent != FOLDER,
            deciding=_deciding(fields),
        )

    # Parts of a table.

    def _entries(self, key: str) -> dict[str, Field]:
        if key not in self._mappings:
            self._mappings[key] = self._fields[key].mapping() if key in self._fields else {}
        return self._mappings[key]

    def _items(self, key: str) -> Iterable[Field]:
        return self._fields[key].items() if key in self._fields else ()

    def _text(self, key: str) -> str:
        return self._fields[key].text() if key in self._fields else ""

    def _names(self, key: str) -> tuple[str, ...]:
        """One name, or a list of them."""
        given = _plain(self._fields[key]) if key in self._fields else ()
        return (given,) if isinstance(given, str) else tuple(given)

    def _flag(self, key: str) -> bool:
        return key in self._fields and self._fields[key].boolean()

    def _step(self, name: str, field: Field, carried: Mapping[str, str] | None = None) -> None:
        if not _NAME.fullmatch(name):
            field.fail(f"'{name}' cannot name a step", hint="Small letters, digits and _, such as `asked_for`.")
        if name in self._steps:
            field.fail(f"the step '{name}' appears twice")
        self._lines[name] = field.line
        self._steps[name] = self._formula(field, carried=carried, step=name)

    def _carried(self) -> tuple[str, ...]:
        """Steps that know what they were one turn before. Their kinds depend on each other: found in rounds."""
        entries = self._entries("carried")
        if entries and self._text("name") != SHARED:
            self._fields["carried"].fail("only the table `shared` carries steps from turn to turn")
        above, kinds = dict(self._steps), dict.fromkeys(entries, NONE)
        for _ in range(len(entries) + 1):
            self._steps = dict(above)
            for name, field in entries.items():
                self._step(name, field, kinds)
            found = {name: self._steps[name].kind for name in entries}
            if found == kinds:
                break
            kinds = found
        return tuple(entries)

    def _unless(self, field: Field) -> Unless:
        told = field.mapping(("when", "reason"))
        for key in ("when", "reason"):
            if key not in told:
                field.fail(f"a reason not to apply needs `{key}`")
        reason = told["reason"].text()
        for slot in SLOT.finditer(reason):
            if slot[1] not in {**self._scope().steps, **self._scope().shared}:
                told["reason"].fail(f"no step is called '{slot[1]}'")
        return Unless(self._formula(told["when"]), reason)

    def _decided(self, field: Field) -> Decided:
        told = field.mapping(("name", "when", "says", "strength", "profile"))
        for key in ("name", "says"):
            if key not in told:
                field.fail(f"a row of a decision needs `{key}`")
        return Decided(
            told["name"].text(),
            self._formula(told["when"]) if "when" in told else None,
            told["says"].text().format(**self._constants),
            told["strength"].text() if "strength" in told else "",
            told["profile"].one_of(PROFILES) if "profile" in told else "",
        )

    def _add_decision(self, rows: Sequence[Decided]) -> None:
        if any(not any(row.when is None and row.profile in ("", profile) for row in rows) for profile in PROFILES):
            self._fields["decision"].fail("the last row of a decision has no `when`: it holds where no other does")

        self._steps[ROW] = Formula("the first row that holds", NONE, (), lambda frame: decided(rows, frame))
        for name, tree, told in ((DECISION, (ROW,), "the name of that row"), (STRENGTH, (STRENGTH,), "its strength")):
            self._steps[name] = Formula(told, TEXT, tree, function_of(tree))

    def _shown(self, field: Field) -> tuple[str, Formula | None]:
        told = field.mapping(("signal", "when")) if field.is_mapping() else {"signal": field}
        name = told["signal"].one_of(self._signals)
        return name, self._formula(told["when"]) if "when" in told else None

    def _severity(self, field: Field) -> SeverityRow:
        told = field.mapping(("severity", "groups", "when", "why"))
        for key in ("severity", "why"):
            if key not in told:
                field.fail(f"a row of severity needs `{key}`")
        return SeverityRow(
            told["severity"].one_of(SEVERITIES),
            told["why"].text(),
            frozenset(told["groups"].texts()) if "groups" in told else frozenset(),
            self._formula(told["when"], only_shared=True) if "when" in told else None,
        )

    def _over(self, field: Field) -> OverTurns:
        told = field.mapping(("same", "gather", "prefer"))
        for key in ("same", "gather", "prefer"):
            if key not in told:
                field.fail(f"`over_turns` needs `{key}`")
        evidence = self._entries("evidence")
        gather = {key: source.one_of(evidence) for key, source in told["gather"].mapping().items()}
        return OverTurns(told["same"].one_of(evidence), gather, self._of_result(told["prefer"]))

    # Formulas.

    def _scope(self, carried: Mapping[str, str] | None = None) -> Scope:
        steps = {name: step.kind for name, step in self._steps.items()}
        shared = {name: step.kind for name, step in self._shared.steps.items()} if self._shared else {}
        return Scope(self._signals, steps, self._constants, carried or {}, shared)

    def _formula(
        self,
        field: Field,
        *,
        kind: str = "",
        carried: Mapping[str, str] | None = None,
        step: str = "",
        also: Mapping[str, str] | None = None,
        only_shared: bool = False,
    ) -> Formula:
        scope = self._scope(carried)
        below = self._entries("let").keys() - scope.steps.keys()
        scope = scope._replace(elsewhere=dict.fromkeys(below, "It is defined below: move it above this step."))
        if also:
            scope = scope._replace(steps={**scope.steps, **also})
        if only_shared:
            own = dict.fromkeys({**scope.steps, **scope.constants}, "Severity can ask for shared steps only.")
            scope = scope._replace(steps={}, constants={}, elsewhere=own)
        found = self._read(field, scope, step)
        if kind and found.kind not in (kind, NONE):
            field.fail(f"this is {found.kind}, and {kind} are needed here")
        return found

    def _of_result(self, field: Field) -> Formula:
        """A formula about the evidence of a result."""
        steps = {
            name: self._formula(one, also={APPLICABLE: TRUTH}).kind for name, one in self._entries("evidence").items()
        }
        return self._read(field, Scope(self._signals, steps, self._constants, facts=False))

    def _read(self, field: Field, scope: Scope, step: str = "") -> Formula:
        try:
            return formula(field.text(), scope)
        except FormulaError as error:
            named = f"step '{step}': " if step else ""
            field.fail(f"{named}{error}", hint=error.hint, column=1 + field.quote_width + error.at)


def _deciding(fields: Mapping[str, Field]) -> dict[str, Any]:
    """A table without what explains it."""
    return {key: _without(_plain(field), _EXPLAINING) for key, field in fields.items() if key not in ("title", "cases")}


def _without(value: Any, keys: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(one, keys) for key, one in value.items() if key not in keys}
    return [_without(one, keys) for one in value] if isinstance(value, list) else value


def _plain(field: Field) -> Any:
    if field.is_list():
        return [_plain(item) for item in field.items()]
    if field.is_mapping():
        return {key: _plain(value) for key, value in field.mapping().items()}
    return field.scalar()
