"""The registry of checks. The bundled ones are tables (`tables/*.yaml`); yours can be a table, or a function:

    @check("reply_length", tag="length", title="Length of the reply")
    def reply_length(exchange: Exchange) -> CheckResult: ...

A package announces its module with the entry point group `synthesis.checks`. Names in schemas, statistics,
label accuracy, reports and command line all come from here. A check sees hits of its own signals and of shared ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from synthesis.checks.exchange import Exchange
from synthesis.checks.facts import constants_of_facts
from synthesis.checks.helplines import lines
from synthesis.checks.learned import learned_reader
from synthesis.checks.plugins import load_plugins
from synthesis.checks.table import FOLDER, HINT, SHARED, Table, decider, holds_for, over_turns, read_signals, read_table
from synthesis.documents import Field
from synthesis.errors import OptionError, Place, RuleError, did_you_mean
from synthesis.garbage import without_collection
from synthesis.model import CheckResult
from synthesis.model.result import MINOR, worst_of
from synthesis.rules.cache import cached_documents, cached_values, code_of
from synthesis.rules.loader import TABLES, require_folder
from synthesis.rules.ruleset import RuleSet, load_rules
from synthesis.rules.schema import Signal
from synthesis.rules.text import Language
from synthesis.settings import DEFAULT_CHECKS, LEARNED

ALL = "all"
Decide = Callable[[Exchange], CheckResult]
Stands = Callable[[CheckResult], bool]
OverTurns = Callable[[Sequence[CheckResult]], CheckResult]


@dataclass(frozen=True, slots=True)
class Check:
    """A check: its names, the signals that it reads, and the function that decides."""

    name: str
    tag: str  # the word in tags such as `pivot-fail`
    title: str
    decide: Decide
    signals: tuple[Signal, ...] = ()
    failure_evidence: Mapping[str, str] = field(default_factory=dict)  # key in the report's failures -> evidence
    packs: Path | None = None  # a folder of rules that come with the check
    absences: tuple[str, ...] = ()  # what `CheckResult.missing` can name; packs say it in their `texts.yaml`
    constants: Mapping[str, object] = field(default_factory=dict)  # numbers and words that a verdict depends on
    over_turns: OverTurns = worst_of  # the verdict on a whole conversation
    alert_on: tuple[Signal, ...] = ()  # in traffic, where one is found the check decides, although nobody asked for it
    severity: str = MINOR  # of a failure of a check without a table
    stands: Stands | None = None  # whether no later text can undo a failure of a part of a reply; None: any may
    table: Table | None = None  # what decides, unless it is a function of somebody's own


_registered: dict[str, Check] = {}
_shared: dict[str, Signal] = {}


def check(
    name: str,
    *,
    tag: str,
    title: str,
    signals: tuple[Signal, ...] = (),
    failure_evidence: Mapping[str, str] | None = None,
    packs: Path | None = None,
    absences: tuple[str, ...] = (),
    constants: Mapping[str, object] | None = None,
    over_turns: OverTurns = worst_of,
    alert_on: Signal | None = None,
    severity: str = MINOR,
    stands: Stands | None = None,
) -> Callable[[Decide], Decide]:
    """Register the decorated function as the check `name`."""

    def register(decide: Decide) -> Decide:
        made = Check(
            name,
            tag,
            title,
            decide,
            signals,
            failure_evidence or {},
            packs,
            absences,
            constants or {},
            over_turns,
            (alert_on,) if alert_on else (),
            severity,
            stands,
        )
        _add(made)
        return decide

    return register


def share_signal(signal: Signal) -> Signal:
    """Declare a signal that several checks read."""
    return _shared.setdefault(signal.name, signal)


@cache
def shared_table() -> Table:
    """The steps that every table can use, and the signals that every check can read."""
    path = FOLDER / f"{SHARED}.yaml"
    found = read_table(path, _bundled_signals(), root=_bundled()[path])
    for signal in found.signals.values():
        share_signal(signal)
    return found


@cache
def _bundled() -> dict[Path, Field]:
    """The files of the bundled tables, parsed."""
    paths = sorted(FOLDER.glob("*.yaml"))
    kept = cached_documents(paths, HINT)
    return {path: Field(kept[path.name], str(path), []) for path in paths}


@cache
def _bundled_signals() -> dict[str, Signal]:
    declared: dict[str, Signal] = {}
    for path, root in _bundled().items():
        declared |= read_signals(path, root)
    return declared


def check_of(table: Table) -> Check:
    """The check that a table describes."""
    stands = table.stands
    return Check(
        table.name,
        table.tag,
        table.title,
        decider(table, shared_table()),
        tuple({**table.signals, **_used_signals(table)}.values()),
        table.failure_evidence,
        absences=tuple(table.missing),
        over_turns=over_turns(table.over) if table.over else worst_of,
        alert_on=tuple(table.known_signals[name] for name in table.alert_on),
        stands=None if stands is None else lambda failed: holds_for(stands, failed),
        table=table,
    )


def _used_signals(table: Table) -> dict[str, Signal]:
    """The signals of other checks that a table uses: they have to be read for it, too."""
    used = table.used_signals - table.signals.keys() - _shared.keys()
    return {name: table.known_signals[name] for name in sorted(used)}


@cache
@without_collection()
def _load() -> None:
    shared = shared_table()
    for path, root in _bundled().items():
        if path.stem != SHARED:
            _add(check_of(read_table(path, _bundled_signals(), shared, root)))
    load_plugins()


def load_tables(folders: Iterable[str | Path]) -> list[Table]:
    """Register the tables in the folder `checks` of these folders of rules; all of them, or none if one is wrong."""
    roots = [Path(folder) for folder in folders]
    for root in roots:
        require_folder(root)
    paths = [path for root in roots for path in sorted((root / TABLES).glob("*.yaml"))]
    if not paths:
        return []
    _load()
    declared = signals()
    for path in paths:
        declared |= _own_signals(path, declared)
    found = [_own_table(path, declared) for path in paths]
    _add(*map(check_of, found))
    return found


def _add(*made: Check) -> None:
    _registered.update((each.name, each) for each in made)
    signals_read.cache_clear()  # a table may be loaded again with other signals


def _own_signals(path: Path, known: Mapping[str, Signal]) -> dict[str, Signal]:
    """What a table of a user's own declares: signals that nobody has, or that are meant the same way."""
    found = read_signals(path)
    for name, signal in found.items():
        if name in known and known[name] != signal and not _is_own(name):
            raise RuleError(f"the signal '{name}' is declared elsewhere in another way", place=Place(str(path)))
    return found


def _is_own(signal: str) -> bool:
    return any(signal in each.table.signals for each in _registered.values() if each.table and each.table.is_own)


def _own_table(path: Path, declared: Mapping[str, Signal]) -> Table:
    table = read_table(path, declared, shared_table())
    known = _registered.get(table.name)
    place = Place(str(path))
    if known is not None and not (known.table and known.table.is_own):
        raise RuleError(f"there is a check called '{table.name}' already", place=place, hint="Choose another name.")
    if path.stem != table.name:
        raise RuleError(f"the file holds the check '{table.name}'", place=place, hint=f"Call it {table.name}.yaml.")
    return table


def checks() -> dict[str, Check]:
    """Every check by name, in order of name."""
    _load()
    return dict(sorted(_registered.items()))


def get_check(name: str) -> Check:
    _load()
    if name not in _registered:
        raise OptionError(f"no check is called '{name}'", hint=did_you_mean(name, _registered))
    return _registered[name]


def named_checks(names: str | Iterable[str]) -> tuple[str, ...]:
    """The checks of these names, each once: a list or a text with commas; `all,-flattery` is all but one."""
    given = names.split(",") if isinstance(names, str) else names
    wanted = list(dict.fromkeys(name.strip() for name in given if name.strip()))
    left_out = {get_check(name[1:]).name for name in wanted if name.startswith("-")}
    named = [name for name in wanted if not name.startswith("-")]
    if left_out and not named:
        hint = f"Name what to exclude from: all,{','.join(wanted)}"
        raise OptionError("the list of checks only excludes checks", hint=hint)
    chosen = checks() if ALL in named else [get_check(name).name for name in named]
    found = tuple(name for name in chosen if name not in left_out)
    if names and not found:
        raise OptionError("the list of checks names no check", hint=did_you_mean("", checks()))
    return found


def asked_checks(names: str | Iterable[str] = ()) -> tuple[str, ...]:
    """The same where nobody has to name one: then all, since each says itself whether it applies."""
    return named_checks(names) or named_checks(DEFAULT_CHECKS)


def alerting() -> tuple[Check, ...]:
    """The checks that report by themselves in traffic."""
    return tuple(each for each in checks().values() if each.alert_on)


def signals() -> dict[str, Signal]:
    """Every signal that a rule may belong to."""
    own = {signal.name: signal for each in checks().values() for signal in each.signals}
    return dict(sorted((own | _shared).items()))


@cache
def signals_read(names: tuple[str, ...], profile: str) -> frozenset[str]:
    """The signals that are read for these checks in a profile: their own, those that are shared, and those of checks
    that report by themselves, whose steps other checks follow, too."""
    own = (signal for name in names for signal in get_check(name).signals)
    reporting = (signal for each in alerting() for signal in each.signals)
    readable = (*own, *_shared.values(), *reporting)
    return frozenset(signal.name for signal in readable if signal.profile in {"", profile})


def rules_in_force(folders: Iterable[str | Path] = (), disabled: Iterable[str] = (), reader: str = LEARNED) -> RuleSet:
    """The bundled packs, those of plugins, and `folders` on top, less `disabled`; `reader` reads beside them."""
    folders = tuple(folders)
    load_tables(folders)
    brought = [each.packs for each in checks().values() if each.packs is not None]
    return load_rules(
        signals(),
        (*brought, *folders),
        disabled,
        also=_also_deciding,
        also_code=code_of(Path(__file__).parent),
        learned=learned_reader(reader),
    )


def _also_deciding(languages: Mapping[str, Language]) -> dict[str, object]:
    """What verdicts and evidence depend on beside the rules: tables, constants of functions, facts, helplines."""
    tables = {name: each.table.deciding for name, each in checks().items() if each.table}
    return {
        "tables": {SHARED: shared_table().deciding} | tables,
        "constants": {name: each.constants for name, each in checks().items() if each.constants},
        "facts": constants_of_facts(languages),
        "helplines": [(line.label, line.also) for line in lines()],
    }


# Held-out accuracy: counts on labelled texts that nobody had read, by check, language and source.
# `benchmarks/quality.py --measured` writes them; a source with fewer positives than the protocol asks for is left out.
MEASURED_FILE = Path(__file__).with_name("measured.yaml")


class Counts(msgspec.Struct, frozen=True):
    """The verdicts of a check on the labelled texts of one source."""

    source: str
    positives: int
    found: int
    negatives: int
    alarms: int


@cache
def measured() -> dict[str, dict[str, list[Counts]]]:
    """Counts by check and language."""
    return msgspec.convert(cached_values(MEASURED_FILE), dict[str, dict[str, list[Counts]]])


def measured_languages() -> dict[str, list[str]]:
    """The languages in which each check was measured."""
    return {check: sorted(languages) for check, languages in sorted(measured().items())}
