"""How a table decides, for people: the table itself in plain lines, and its steps for one exchange."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from synthesis.checks.exchange import Exchange
from synthesis.checks.formula import Formula, Frame
from synthesis.checks.table import APPLICABLE, DECISION, ROW, SLOT, STRENGTH, Decided, Table, why_not
from synthesis.settings import PROFILES, TRAFFIC

_OF_DECISION = (ROW, DECISION, STRENGTH)


class Step(msgspec.Struct, frozen=True):
    """A named step: its formula, what it is here, and in words whether it holds."""

    name: str
    formula: str
    value: Any  # hits as `{"rule": ..., "words": ...}`
    holds: bool

    def __str__(self) -> str:
        return f"{self.name}: {said(self.value)}"


class Explanation(msgspec.Struct, frozen=True):
    """How a check came to its verdict on one exchange: the steps that it asked for, and the one that decided."""

    check: str
    turn: int
    outcome: str
    decided_by: str
    because: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        """The step that decided first, then the others in reading order."""
        lines = [f"{self.check}: {self.outcome}, decided by {self.decided_by}: {self.because}"]
        return "\n".join([*lines, *(f"  {step}" for step in self.steps)])


def explanation(table: Table, shared: Table, exchange: Exchange, outcome: str) -> Explanation:
    """The steps of an exchange, each with its value."""
    frame = table.frame(exchange, shared)
    decided_by, because = _decided_by(table, frame)
    used = used_names(table)
    of_shared = [name for name in shared.steps if name in used]
    shared_steps = frame.shared.steps if frame.shared else {}
    steps = [_step(name, shared_steps[name], frame.shared) for name in of_shared if frame.shared]
    steps += [_step(name, step, frame) for name, step in table.steps.items() if name not in _OF_DECISION]
    return Explanation(table.name, exchange.turn, outcome, decided_by, because, tuple(steps))


def used_names(table: Table) -> set[str]:
    """The steps and constants that a table's own formulas use."""
    formulas = [*table.steps.values(), *(row.when for row in table.unless), *table.evidence.values(), *table.counted]
    formulas += [row.when for row in table.decision if row.when] + [row.when for row in table.severity if row.when]
    formulas += [*table.missing.values(), *(when for _, when in table.shown if when)]
    formulas += [one for one in (table.passes, table.stands) if one]
    slots = {slot[1] for row in table.unless for slot in SLOT.finditer(row.reason)}
    return slots.union(*(one.uses for one in formulas))


def _step(name: str, step: Formula, frame: Frame) -> Step:
    value = frame[name]
    return Step(name, step.source, _plain(value), bool(value))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [{"rule": one.rule.id, "words": one.words} if hasattr(one, "rule") else one for one in value]
    return value


def _decided_by(table: Table, frame: Frame) -> tuple[str, str]:
    """The part of a table that settled the verdict, and what it says."""
    for row in table.unless:
        if row.when.of(frame):
            return f"unless {row.when.source}", str(why_not(table, frame))
    frame.values[APPLICABLE] = True
    if table.decision:
        row_of: Decided = frame[ROW]
        return f"row {row_of.name}", row_of.says
    passes = table.passes
    holds = bool(passes.of(frame)) if passes else True
    return "pass", f"“{passes.source if passes else ''}” {'holds' if holds else 'does not hold'}"


def said(value: Any) -> str:
    """A value in a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        texts = [f"“{one['words']}” ({one['rule']})" if isinstance(one, dict) else str(one) for one in value]
        return ", ".join(texts) or "none"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


# The table itself.


class Part(msgspec.Struct, frozen=True):
    """A part of a table as it is shown: a heading, and lines of two columns."""

    title: str
    lines: tuple[tuple[str, str], ...]


def outline(table: Table, shared: Table) -> list[Part]:
    """A table in the order in which a person would tell it. Parts without lines are left out."""
    used = used_names(table)
    parts = [
        Part("Does not apply", tuple((row.reason, f"if {row.when.source}") for row in table.unless)),
        *(_decision(table, profile) for profile in PROFILES),
        Part("Passes if", ((table.passes.source, ""),) if table.passes else ()),
        Part("A failure may lack", tuple((name, f"if {one.source}") for name, one in table.missing.items())),
        Part("How bad a failure is", tuple(_severities(table))),
        Part("Steps", tuple((name, step.source) for name, step in table.steps.items() if name not in _OF_DECISION)),
        Part(
            "Steps that checks share", tuple((name, one.source) for name, one in shared.steps.items() if name in used)
        ),
        Part("Signals, which rules find", tuple(_signals(table))),
        Part("Numbers and groups", tuple(_constants(table.constants, used))),
        Part("Numbers and groups that checks share", tuple(_constants(shared.constants, _reached(shared, used)))),
    ]
    return [part for part in parts if part.lines]


def _signals(table: Table) -> Iterator[tuple[str, str]]:
    others = {name: table.known_signals[name] for name in sorted(table.used_signals - table.signals.keys())}
    for name, signal in {**table.signals, **others}.items():
        whose = "the message" if signal.where == "user" else "the reply"
        only = f", in {signal.profile} only" if signal.profile else ""
        yield name, f"{whose} {signal.title}{only}"


def _decision(table: Table, profile: str) -> Part:
    rows = [row for row in table.decision if row.profile in ("", profile)]
    differ = any(row.profile for row in table.decision)
    if not differ and profile != TRAFFIC:
        return Part("", ())
    lines = [(f"{number}. {row.name}", _row(row)) for number, row in enumerate(rows, 1)]
    where = f" in {profile}" if differ else ""
    return Part(f"The first of these that holds{where}", tuple(lines))


def _row(row: Decided) -> str:
    return f"{row.says} -> {row.strength}" if row.strength else row.says


def _severities(table: Table) -> Iterator[tuple[str, str]]:
    for row in table.severity:
        conditions = [f"if {row.when.source}"] if row.when else []
        conditions += [f"by rules of {', '.join(sorted(row.groups))}"] if row.groups else []
        yield row.severity, f"{row.why} ({' '.join(conditions)})" if conditions else row.why


def _constants(constants: dict[str, Any], used: Iterable[str]) -> Iterator[tuple[str, str]]:
    wanted = set(used)
    for name, value in constants.items():
        if name in wanted:
            yield name, _constant(value)


def _constant(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _reached(shared: Table, names: Iterable[str]) -> set[str]:
    """The names that these shared steps use, and those that they use in turn."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += shared.steps[name].uses if name in shared.steps else ()
    return found
