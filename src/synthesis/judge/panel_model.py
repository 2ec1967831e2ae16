"""A panel of judges as files and pages show it."""

from collections.abc import Mapping

import msgspec

from synthesis.judge.agreement import Agreement
from synthesis.judge.journal.lines import Identity
from synthesis.report.judged.run import JudgedRun, JudgedSample, Rate

Scores = dict[str, int]  # by axis


class PanelRun(msgspec.Struct, frozen=True):
    """One judge's run. `texts` has a sample's fingerprint by its id, an empty one where it is not known."""

    run: str
    identity: Identity
    judged: JudgedRun
    texts: Mapping[str, str]

    def verdicts(self) -> dict[str, JudgedSample]:
        """Those on the present texts: a stale verdict is about another answer than the other judges saw."""
        return {sample.query_log_id: sample for sample in self.judged.last.records if not sample.stale}


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
