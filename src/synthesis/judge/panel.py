"""A panel: runs of several judges on the same samples. What they say together, and how far they agree.

Samples are matched by id in the last iteration of each run. A sample counts when two judges or more have a
verdict on the same text of it; a score that is missing is left out of the median and of the agreement, never guessed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from synthesis.errors import InputError, OptionError, RunFolderError
from synthesis.judge.ledger import Identity, Ledger
from synthesis.judge.records import SCORES
from synthesis.judge.results import judged_run
from synthesis.report.findings import count
from synthesis.report.judged.run import NOT_VALIDATED, JudgedRun, JudgedSample, Rate, axis_title
from synthesis.stats import Agreement, agreement_of, mean_of_counts, rate

Scores = dict[str, int]  # by axis


class PanelRun(msgspec.Struct, frozen=True):
    """One judge's run. `texts` has a sample's fingerprint by its id, an empty one where it is not known."""

    run: str
    identity: Identity
    judged: JudgedRun
    texts: Mapping[str, str]

    def verdicts(self) -> dict[str, JudgedSample]:
        """Those on the present texts: a stale verdict is about another answer than the other judges saw.

        A sample that needs a judge has no score, so it has no verdict.
        """
        scored = (sample for sample in self.judged.last.records if sample.has_scores and not sample.stale)
        return {sample.query_log_id: sample for sample in scored}


class PanelAxis(msgspec.Struct, frozen=True, rename="camel"):
    """One axis: how the medians are spread, and how far the judges agree."""

    name: str
    pass_at: int
    mean_of_medians: float
    medians: dict[str, int]
    agreement: Agreement


class PanelJudge(msgspec.Struct, frozen=True, rename="camel"):
    """One judge over the panel's samples; `missing` are those of its own set that it has no verdict on."""

    run: str
    judge: str
    identity: Identity
    scored: int
    means: dict[str, float | None]
    passed: Rate
    missing: list[str]


class PanelSample(msgspec.Struct, frozen=True, rename="camel"):
    """One sample: the median on each axis, the scores by run, and highest minus lowest score (`spread`).

    `split`: some judges let it pass and others do not.
    """

    query_log_id: str
    question: str | None
    median: Scores
    passed: bool
    spread: Scores
    split: bool
    scores: dict[str, Scores]


class LeftOut(msgspec.Struct, frozen=True, rename="camel"):
    """Samples that the panel cannot count, by reason."""

    only_in_one_run: list[str]
    different_texts: list[str]
    fewer_than_two_verdicts: list[str]


class Panel(msgspec.Struct, frozen=True, rename="camel"):
    """What `panel.json` holds. `differ_most` has the ids of samples with different scores, the widest spread first."""

    format: int
    rubric: str
    judges: list[PanelJudge]
    axes: list[PanelAxis]
    passed: Rate
    split: Rate
    differ_most: list[str]
    samples: list[PanelSample]
    left_out: LeftOut
    warnings: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether every judge has a verdict on every sample that its set shares with another's."""
        return not any(judge.missing for judge in self.judges)

    def most_different(self, limit: int) -> list[PanelSample]:
        """The samples on which the judges differ most."""
        samples = {sample.query_log_id: sample for sample in self.samples}
        return [samples[name] for name in self.differ_most[:limit]]


# From runs to a panel.


FORMAT = 1


def lower_median(scores: Sequence[int]) -> int:
    """The middle score; the lower of the two middle ones for an even number.

    So it is always a score that a judge gave, and a sample on which two judges are divided does not pass.
    """
    return sorted(scores)[(len(scores) - 1) // 2]


def panel_run(name: str, ledger: Ledger) -> PanelRun:
    """A run of a panel, from its journal."""
    texts = {sample.query_log_id: sample.fingerprint for sample in ledger.samples}
    return PanelRun(name, ledger.present_run().judge, judged_run(ledger), texts)


def build_panel(runs: Sequence[PanelRun]) -> Panel:
    """The panel of these runs; refuses runs that do not belong together."""
    _check(runs)
    found = [run.verdicts() for run in runs]
    shared, left_out = _shared(runs, found)
    uncounted = set(left_out.fewer_than_two_verdicts)
    samples = [_sample(name, runs, found) for name in shared if name not in uncounted]
    if not samples:
        raise _no_sample(left_out)
    judges = [_judge(run, verdicts, shared, samples) for run, verdicts in zip(runs, found, strict=True)]
    return Panel(
        format=FORMAT,
        rubric=runs[0].judged.rubric,
        judges=judges,
        axes=[_axis(name, pass_at, samples) for name, pass_at in runs[0].judged.axes],
        passed=_rate(samples, lambda sample: sample.passed),
        split=_rate(samples, lambda sample: sample.split),
        differ_most=_differ_most(samples),
        samples=samples,
        left_out=left_out,
        warnings=list(_warnings(runs, judges, left_out)),
    )


def _check(runs: Sequence[PanelRun]) -> None:
    names = [run.run for run in runs]
    if len(runs) < 2:
        raise OptionError("a panel needs two runs or more", hint="Name the runs of different judges on one test set.")
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise OptionError(f"the run '{twice[0]}' is named twice", hint="Name every run once.")
    other = next((run for run in runs if run.identity.rubric != runs[0].identity.rubric), None)
    if other is not None:
        pair = f"'{names[0]}' has {runs[0].identity.rubric}, '{other.run}' has {other.identity.rubric}"
        hint = "Scores compare only under one rubric: judge the set again with the same --rubric for each judge."
        raise RunFolderError(f"the runs have different rubrics: {pair}", hint=hint)


def _shared(runs: Sequence[PanelRun], found: Sequence[Mapping[str, JudgedSample]]) -> tuple[list[str], LeftOut]:
    """The samples of two runs or more, in the order of the first run that has them, and what is left out."""
    shared, left_out = [], LeftOut([], [], [])
    for name in dict.fromkeys(name for run in runs for name in run.texts):
        inside = [run.texts[name] for run in runs if name in run.texts]
        if len(inside) < 2:
            left_out.only_in_one_run.append(name)
        elif len({text for text in inside if text}) > 1:
            left_out.different_texts.append(name)
        else:
            shared.append(name)
            if sum(name in verdicts for verdicts in found) < 2:
                left_out.fewer_than_two_verdicts.append(name)
    return shared, left_out


def _no_sample(left_out: LeftOut) -> InputError:
    if left_out.fewer_than_two_verdicts:
        return RunFolderError(
            "no sample has verdicts of two judges",
            hint="`synthesis judge status RUN` says what is missing; `synthesis judge run` again finishes a run.",
        )
    if left_out.different_texts:
        return RunFolderError(
            "the runs have judged different texts under the same ids",
            hint="Judge the same test set with each judge; question, context and answer have to be the same.",
        )
    return RunFolderError(
        "the runs have no sample in common",
        hint="Samples are matched by id: judge one test set with each judge.",
    )


def _sample(name: str, runs: Sequence[PanelRun], found: Sequence[Mapping[str, JudgedSample]]) -> PanelSample:
    said = {run.run: verdicts[name] for run, verdicts in zip(runs, found, strict=True) if name in verdicts}
    axes = runs[0].judged.axes
    scores = {
        run: {axis: score for axis, _ in axes if (score := sample.score(axis)) is not None}
        for run, sample in said.items()
    }
    by_axis = {axis: [given[axis] for given in scores.values()] for axis, _ in axes}
    median = {axis: lower_median(given) for axis, given in by_axis.items()}
    return PanelSample(
        query_log_id=name,
        question=next((sample.question for sample in said.values() if sample.question), None),
        median=median,
        passed=all(median[axis] >= pass_at for axis, pass_at in axes),
        spread={axis: max(given) - min(given) for axis, given in by_axis.items()},
        split=len({sample.passed for sample in said.values()}) > 1,
        scores=scores,
    )


def _judge(
    run: PanelRun, verdicts: Mapping[str, JudgedSample], shared: Sequence[str], samples: Sequence[PanelSample]
) -> PanelJudge:
    given = [sample.scores[run.run] for sample in samples if run.run in sample.scores]
    passed = sum(verdicts[sample.query_log_id].passed for sample in samples if run.run in sample.scores)
    return PanelJudge(
        run=run.run,
        judge=run.judged.judge,
        identity=run.identity,
        scored=len(given),
        means={axis: mean_of_counts(Counter(scores[axis] for scores in given)) for axis, _ in run.judged.axes},
        passed=msgspec.convert(rate(passed, len(given)), Rate),
        missing=[name for name in shared if name in run.texts and name not in verdicts],
    )


def _axis(name: str, pass_at: int, samples: Sequence[PanelSample]) -> PanelAxis:
    medians = Counter(sample.median[name] for sample in samples)
    units = [tuple(sorted(scores[name] for scores in sample.scores.values())) for sample in samples]
    return PanelAxis(
        name=name,
        pass_at=pass_at,
        mean_of_medians=sum(medians.elements()) / len(samples),
        medians={f"score{score}": medians[score] for score in SCORES},
        agreement=agreement_of(units),
    )


def _rate(samples: Sequence[PanelSample], holds: Callable[[PanelSample], bool]) -> Rate:
    return msgspec.convert(rate(sum(map(holds, samples)), len(samples)), Rate)


def _differ_most(samples: Sequence[PanelSample]) -> list[str]:
    """By the widest spread on any axis, then by all of them together, then in the order of the set."""
    differing = [sample for sample in samples if any(sample.spread.values())]
    differing.sort(key=lambda sample: (-max(sample.spread.values()), -sum(sample.spread.values())))
    return [sample.query_log_id for sample in differing]


def _warnings(runs: Sequence[PanelRun], judges: Sequence[PanelJudge], left_out: LeftOut) -> Iterator[str]:
    first: dict[Identity, str] = {}
    for run in runs:
        known = first.setdefault(run.identity, run.run)
        if known != run.run:
            yield f"{known} and {run.run} are by the same judge, {run.judged.judge}: it agrees with itself too easily"
    for judge in judges:
        if judge.missing:
            yield f"{judge.run} has no verdict on {count(len(judge.missing), 'sample')} that others have as well"
    yield from (f"{count(len(names), 'sample')} left out: {why}" for names, why in _reasons(left_out) if names)
    for axis, _ in runs[0].judged.axes:
        if any(axis_title(run.judged.judge, axis) != axis for run in runs):
            yield f"{axis} by the offline judge is {NOT_VALIDATED}"


def _reasons(left_out: LeftOut) -> list[tuple[list[str], str]]:
    return [
        (left_out.only_in_one_run, "only one of the runs has them"),
        (left_out.different_texts, "the runs have judged different texts under the same id"),
        (left_out.fewer_than_two_verdicts, "fewer than two judges have a verdict"),
    ]
