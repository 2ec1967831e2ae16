"""What follows a run: its conditions, and further documents made from the stored report."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.checks.learned import learned_reader
from synthesis.checks.registry import checks, rules_in_force
from synthesis.cli import ExitCode
from synthesis.cli.report import Output, Taken, parse_outputs, write_outputs
from synthesis.cli.terminal import warn
from synthesis.errors import OptionError
from synthesis.glossary import glossary_of
from synthesis.model import CaseResult
from synthesis.model.case import NEGATIVE_ENDING
from synthesis.model.report import reader_name
from synthesis.model.result import FAIL, LEAST_IN_HALF, NOT_APPLICABLE
from synthesis.report.compare import (
    Entry,
    changed_checks,
    changed_conditions,
    newly_failing,
    paired,
    reader_of,
    ruler_changes,
    same_input,
    unexpected_failures,
    worst_of,
)
from synthesis.report.drift import LEAST_CONVERSATIONS, drift_of
from synthesis.report.findings import MISSED, count, kind_of
from synthesis.report.stored import Record, StoredReport, open_report
from synthesis.run.limits import Limits
from synthesis.run.spec import RunSpec
from synthesis.settings import AUTHORED, FORMER_PROFILES, RULES

SHOWN = 5


def exit_code(summary: dict[str, Any], *, unmet: bool, undecided: bool = False) -> int:
    """How a run of the checks ends: incomplete outranks unmet."""
    if summary["errors"] or undecided:
        return ExitCode.INCOMPLETE
    return ExitCode.UNMET if unmet else ExitCode.OK


def name_reasons(summary: dict[str, Any], code: int, unmet: Sequence[str], undecided: Sequence[str] = ()) -> None:
    """Why a run does not end with 0, each reason with the number that the process ends with."""
    for message in unmet:
        warn(f"not met: {message} (exit code {code:d})", colour="red")
    for message in undecided:
        warn(f"too few to tell: {message} (exit code {code:d})")
    if errors := summary["errors"]:
        warn(f"no verdict: {count(errors, 'case')} ended in error (exit code {code:d})", colour="red")


def too_many_failures(summary: dict[str, Any], spec: RunSpec) -> list[str]:
    """Why a run does not meet its limits, in words."""
    return Limits.of(spec.fail_on).unmet(summary["by_severity"], summary["cases"], spec.profile or AUTHORED)


class Gates(msgspec.Struct, frozen=True):
    """The conditions of a run; the baseline is read first, so that a bad one stops the run."""

    spec: RunSpec
    known: list[Entry[dict[str, str]]] | None = None  # the unexpected failures of the baseline
    conditions: Record = {}  # what was in force when the baseline was evaluated
    checked: frozenset[str] = frozenset()  # the checks of the baseline
    least_accuracy: float | None = None
    strict: bool = False
    drift: dict[str, float] = {}  # check -> the most that its mean difference may surely be

    @classmethod
    def of(cls, options: Mapping[str, Any], spec: RunSpec, out: Path | None) -> "Gates":
        if options["strict"] and options.get("failures_only"):
            raise OptionError("--strict needs all results", hint="Leave out --failures-only.")
        least = options["min_label_accuracy"]
        if least is not None and least != least:  # NaN, which every range lets through
            raise OptionError("--min-label-accuracy must be a number from 0 to 100", hint="For example 95.")
        baseline = _baseline(options["baseline"], out, spec)
        held = cls(spec, least_accuracy=least, strict=options["strict"], drift=spec.fail_on_drift)
        if baseline is None:
            return held
        checked = frozenset(baseline.summary["by_check"])
        known = unexpected_failures(baseline)
        return msgspec.structs.replace(held, known=known, conditions=baseline.header, checked=checked)

    def unmet(self, report: StoredReport, tags: Mapping[str, str]) -> list[str]:
        """Every condition that is not met, in words; `tags` are the tag words of the checks."""
        messages = [*self._failures(report), *self._accuracy(report.summary), *self._drifted(report.summary)]
        return messages + (list(_strict(report, tags)) if self.strict else [])

    def doubts(self, report: StoredReport) -> Iterator[str]:
        """Why a comparison with the baseline is uncertain, in words."""
        if self.known is None:
            return
        changed = changed_conditions(self.conditions, report.header)
        changed |= changed_checks([self.checked], [frozenset(report.summary["by_check"])])
        for name in ruler_changes(changed):
            before, after = changed[name]
            yield (
                f"{name} changed since the baseline ({before} -> {after}), so a new failure may not come from a "
                "reply; review it, then make a new baseline"
            )

    def undecided(self, summary: Record) -> Iterator[str]:
        """Every drift condition with too few conversations to decide it, in words."""
        for name in self.drift:
            usable = drift_of(summary, name)["usable"]
            if usable < LEAST_CONVERSATIONS:
                yield (
                    f"drift of {name}: {usable} conversations have {LEAST_IN_HALF} or more assessed turns in each half"
                    f", {LEAST_CONVERSATIONS} are needed"
                )

    def _drifted(self, summary: Record) -> Iterator[str]:
        for name, most in self.drift.items():
            found = drift_of(summary, name)
            if found["usable"] >= LEAST_CONVERSATIONS and found["interval"][0] > most:
                low, high = found["interval"]
                yield (
                    f"drift of {name}: {found['difference']:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}, "
                    f"allowed: {most:+g}"
                )

    def _failures(self, report: StoredReport) -> Iterator[str]:
        if self.known is None:
            yield from too_many_failures(report.summary, self.spec)
            return
        same = same_input(self.conditions, report.header)
        pairs = paired(self.known, unexpected_failures(report), same_file=same)
        new = newly_failing(pairs.before, pairs.after)
        failures = Counter(worst_of(checks.values()) for _, checks in new)
        limits, cases = Limits.of(self.spec.fail_on), report.summary["cases"]
        if exceeded := limits.unmet(failures, cases, self.spec.profile or AUTHORED):
            named = _named("failures not in the baseline", [name for name, _ in new])
            yield f"{named}: {'; '.join(exceeded)}"

    def _accuracy(self, summary: Record) -> Iterator[str]:
        if self.least_accuracy is None:
            return
        found = summary.get("label_accuracy")
        if found is None:
            yield "label accuracy: there are no labels"
        elif 100 * found["matched"] < self.least_accuracy * found["total"]:
            yield f"label accuracy: {found['accuracy']} % ({found['matched']} of {found['total']})"


def _baseline(path: str | None, out: Path | None, spec: RunSpec) -> StoredReport | None:
    if path is None:
        return None
    if out and out.exists() and Path(path).exists() and out.samefile(path):
        raise OptionError(
            f"--baseline and --out are the same file ({path})",
            hint="A run would become its own baseline; keep the baseline elsewhere.",
        )
    report = open_report(path)
    before = FORMER_PROFILES.get(report.header["profile"], report.header["profile"])
    if before != spec.profile:
        raise OptionError(
            f"the baseline {path} was evaluated in the profile '{before}', this run is '{spec.profile}'",
            hint=f"Verdicts of different profiles cannot be compared: give --profile {before}, or make a new baseline.",
        )
    _require_reader(report, path, spec)
    checked = set(report.summary["by_check"])
    if spec.checks and checked and checked != set(spec.checks):
        raise OptionError(
            f"the baseline {path} was evaluated with other checks ({', '.join(sorted(checked))})",
            hint=f"Give --checks {','.join(sorted(checked))}, or make a new baseline.",
        )
    return report


def _require_reader(report: StoredReport, path: str, spec: RunSpec) -> None:
    """A package without weights reads by rules alone, whatever is asked for."""
    before, found = reader_of(report.header), learned_reader(spec.reader)
    if (before == RULES) == (found is None):
        return
    can_repeat = before == RULES or learned_reader(before) is not None
    raise OptionError(
        f"the baseline {path} was evaluated by the reader '{reader_name(report.header)}', "
        f"this run by '{found.name if found else RULES}'",
        hint="Verdicts of different readers cannot be compared: "
        + (f"give --reader {before}, or make a new baseline." if can_repeat else "make a new baseline."),
    )


def _strict(report: StoredReport, tags: Mapping[str, str]) -> Iterator[str]:
    """What a curated file must not have: missed labels, cases not assessed, negative examples not caught."""
    found: dict[str, list[str]] = {
        "labels missed": [],
        "cases not assessed": [],
        "negative examples not caught": [],
        "negative examples caught only by a check that their tag does not name": [],
    }
    labels, idle, slipped, elsewhere = found.values()
    for result in report.results():
        name = result.name
        labels += [name] if any(not label.match for label in result.label_comparison.values()) else []
        idle += [name] if result.outcome == NOT_APPLICABLE else []
        slipped += [name] if kind_of(result) == MISSED else []
        elsewhere += [name] if _caught_elsewhere(result, tags) else []
    yield from (_named(what, names) for what, names in found.items() if names)


def _caught_elsewhere(result: CaseResult, tags: Mapping[str, str]) -> bool:
    if result.outcome != FAIL:
        return False
    failed = result.failed_checks
    return any(check not in failed for tag in result.tags for check in named_checks(tag, tags))


def named_checks(tag: str, tags: Mapping[str, str]) -> list[str]:
    """The checks that a tag such as `pivot-fail` or `ack-but-pivot-fail` names; `tags`: tag word -> check."""
    if not tag.endswith(NEGATIVE_ENDING):
        return []
    stem = f"-{tag.removesuffix(NEGATIVE_ENDING)}-"
    return [check for word, check in tags.items() if f"-{word}-" in stem]


def _named(what: str, names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{what}: {len(names)} ({', '.join(names[:SHOWN])}{more})"


# Options that need what only a report with results holds.
_NEED_RESULTS = {"formats": "--format", "baseline": "--baseline", "strict": "--strict"}


class Conclusion(msgspec.Struct, frozen=True):
    """The requested documents and conditions; made before the run, so that a mistake stops it."""

    outputs: tuple[Output, ...]
    gates: Gates

    @classmethod
    def of(cls, options: Mapping[str, Any], spec: RunSpec) -> "Conclusion":
        for name, option in _NEED_RESULTS.items():
            if spec.table and options[name]:
                raise OptionError(f"{option} cannot be combined with --out-table", hint="Drop one of the two.")
        out = spec.out or Path()
        baseline = {"--baseline": Path(options["baseline"])} if options["baseline"] else {}
        taken: Taken = {"--cases": [file.path for file in spec.inputs], **baseline}
        written = None if options["no_report"] else out
        return cls(parse_outputs(options["formats"], out, taken), Gates.of(options, spec, written))

    @property
    def is_asked_for(self) -> bool:
        return bool(self.outputs) or self.gates != Gates(self.gates.spec)

    def draw(self, written: Path, spec: RunSpec, *, saved: bool, quiet: bool, printed: str | None) -> int:
        """Write the documents and name the conditions that are not met; returns the exit code of the run."""
        report = open_report(written)
        if self.outputs:
            rules = rules_in_force(spec.rules, spec.disabled, spec.reader)
            write_outputs(self.outputs, report, glossary_of(rules), to_stderr=printed is not None)
        unmet = self.gates.unmet(report, {check.tag: check.name for check in checks().values()})
        undecided = list(self.gates.undecided(report.summary))
        code = exit_code(report.summary, unmet=bool(unmet), undecided=bool(undecided) or not saved)
        for message in () if quiet else self.gates.doubts(report):
            warn(f"warning: {message}")
        name_reasons(report.summary, code, unmet, undecided)
        return code
