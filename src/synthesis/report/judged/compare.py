"""Two judged runs of the same questions: what flipped, and whether that is more than chance."""

import msgspec

from synthesis.report.compare import JUDGE, MEASURED_DIFFERENTLY, RUBRIC, ruler_changes
from synthesis.report.judged.run import JudgedRun, JudgedSample
from synthesis.stats import Difference, difference, verdict_on


class JudgedComparison(msgspec.Struct, frozen=True):
    """What changed from one run to another, in the last iteration of each; ids in the order of the new run."""

    in_both: int
    newly_failing: tuple[str, ...]
    newly_passing: tuple[str, ...]
    changed_scores: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    conditions: dict[str, tuple[str, str]]
    passed_before: int
    passed_after: int
    difference: Difference | None

    @property
    def ruler_changes(self) -> list[str]:
        """The changed conditions because of which neither run may be called better: judge and rubric."""
        return ruler_changes(self.conditions)

    @property
    def verdict(self) -> str:
        """Better or worse only where test and interval agree, and the same judge used the same rubric."""
        if self.ruler_changes:
            return MEASURED_DIFFERENTLY
        return verdict_on(self.difference) if self.difference else ""


def compare_runs(before: JudgedRun, after: JudgedRun) -> JudgedComparison:
    """Compare the samples that both runs have judged; one that could not be judged is in neither."""
    old, new = _by_id(before), _by_id(after)
    shared = [name for name in new if name in old]
    lost = tuple(name for name in shared if old[name].passed and not new[name].passed)
    won = tuple(name for name in shared if new[name].passed and not old[name].passed)
    return JudgedComparison(
        in_both=len(shared),
        newly_failing=lost,
        newly_passing=won,
        changed_scores=tuple(name for name in shared if _scores(old[name]) != _scores(new[name])),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
        conditions=_conditions(before, after),
        passed_before=sum(old[name].passed for name in shared),
        passed_after=sum(new[name].passed for name in shared),
        difference=difference(len(lost), len(won), len(shared)),
    )


def _by_id(run: JudgedRun) -> dict[str, JudgedSample]:
    return {sample.query_log_id: sample for sample in run.last.records}


def _scores(sample: JudgedSample) -> dict[str, int]:
    return {axis: said.score for axis, said in sample.judge_verdict.items()}


def _conditions(before: JudgedRun, after: JudgedRun) -> dict[str, tuple[str, str]]:
    pairs = {JUDGE: (before.judge, after.judge), RUBRIC: (before.rubric, after.rubric)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
