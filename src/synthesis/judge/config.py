"""What a run is asked to do, and what it hands back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from synthesis.errors import OptionError
from synthesis.judge.asking import Patience
from synthesis.judge.clients.endpoint import check_body, check_url
from synthesis.judge.journal.lines import RunLine
from synthesis.judge.journal.opening import OnChange
from synthesis.judge.model import Rubric
from synthesis.judge.records import Record
from synthesis.judge.result_files import DEFAULT_ROOT
from synthesis.judge.results import Results

Detail = Literal["scores", "claims"]


class EvaluationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How to judge a test set. Only `output_dir`, the name of the run's folder, has no default.

    `rubric` None takes the course rubric for courses and the general one for passages. `max_cost` is in USD
    and counts everything this run has cost so far.
    `seed`, `reasoning_effort` and `extra_body` are sent along if given; like `temperature` they make another judge.
    `detail` "claims" asks a chat judge for the evidence of each claim. `grace` is for how many seconds a cancelled
    run waits for its calls under way, which are paid for.
    """

    output_dir: str
    root: Path = DEFAULT_ROOT
    judge_provider: str = "offline"
    judge_model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    iterations: int = 1
    concurrency: int = 5
    system_prompt_version: str = "v1"
    rubric: Rubric | None = None
    on_change: OnChange = "keep"
    max_cost: float | None = None
    price_file: Path | None = None
    temperature: float | None = None
    timeout: float = 60.0
    max_output_tokens: int | None = None
    patience: Patience = Patience()
    seed: int | None = None
    reasoning_effort: str | None = None
    headers: Mapping[str, str] = {}
    extra_body: Mapping[str, Any] = {}
    detail: Detail = "scores"
    grace: float = 30.0

    def check(self) -> None:
        """Refuse values out of range, and endpoints that no call could reach."""
        if self.base_url is not None:
            check_url(self.base_url)
        check_body(self.extra_body)
        positive = ("iterations", "concurrency", "timeout", "max_cost", "max_output_tokens")
        for name in positive:
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise OptionError(f"--{name.replace('_', '-')} must be greater than 0, not {value:g}")
        if not 0 <= self.grace < float("inf"):
            raise OptionError(f"--grace must be 0 seconds or more, not {self.grace:g}")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise OptionError(f"--temperature must be between 0 and 2, not {self.temperature:g}")


class Progress(msgspec.Struct, frozen=True):
    """The progress of a run: samples over all iterations, and the cost so far (None: not known).

    `under_way` counts the calls that were sent and not answered; an interrupted run waits for them.
    """

    total: int
    done: int
    failed: int
    stored_before: int
    cost: float | None
    under_way: int = 0
    interrupted: bool = False


class EvaluationResult(msgspec.Struct, frozen=True):
    """The outcome of a run. `stopped` is why it ended early, if it did."""

    folder: Path
    run: RunLine
    total: int
    results: Results
    gate_rate: float
    calls: int
    stopped: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[tuple[Record, ...], ...]:
        """The records of each iteration, in the order of the set."""
        return tuple(iteration.records for iteration in self.results.iterations)

    @property
    def metrics(self) -> tuple[Mapping[str, Any], ...]:
        """The metrics of each iteration."""
        return tuple(iteration.metrics for iteration in self.results.iterations)

    @property
    def final_metrics(self) -> Mapping[str, Any] | None:
        """The figures over all iterations; None while one has not begun."""
        return self.results.final_metrics

    @property
    def complete(self) -> bool:
        """Every sample of every iteration has a verdict."""
        return (
            self.stopped is None
            and self.final_metrics is not None
            and all(len(records) == self.total for records in self.records)
        )
