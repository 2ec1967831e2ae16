"""A judged run: opens the folder, judges what is left, and writes the results; or estimates what that takes."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from synthesis.errors import JudgeError, OptionError, OutputError, SynthesisError, TestSetError, shorten
from synthesis.judge.calls import Budget, CallContext, Calls, NoFurtherCallError, Pacer, Patience, RunStopError
from synthesis.judge.clients import Judge, JudgeSettings, check_body, check_url, create_judge, paid_model
from synthesis.judge.cost import find_price, spent_so_far
from synthesis.judge.journal import JOURNAL, Journal, JournalFlusher, OnChange, as_recorded, missing_lines, read_ledger
from synthesis.judge.ledger import (
    FORMAT,
    ErrorLine,
    Identity,
    Ledger,
    Price,
    RunLine,
    SetLine,
    State,
    VerdictLine,
    Work,
    fingerprint,
    now,
)
from synthesis.judge.model import Rubric, TestCase, have_courses
from synthesis.judge.records import Record, is_asked_about, make_record, verdict_without_judge
from synthesis.judge.results import (
    DEFAULT_ROOT,
    Results,
    gate_rate,
    remove_results,
    run_folder,
    states,
    write_results,
)
from synthesis.judge.rubric import default_rubric, rubric_hash
from synthesis.report.judged.layout import COURSE_RUBRIC, COURSES, PASSAGES, told

Detail = Literal["scores", "claims"]


class EvaluationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How to judge a test set. Only `output_dir`, the name of the run's folder, has no default.

    `rubric` None takes the course rubric for courses and the general one for passages. `max_cost` is in USD
    and counts everything this run has cost so far.
    `seed`, `reasoning_effort` and `extra_body` are sent along if given; like `temperature` they make another judge.
    `on_change` says what becomes of a verdict whose question, context or answer has changed: `keep` leaves it in the
    records, marked as stale, and counts the sample as one without a verdict. `replace_judge` lets this judge take over
    the folder of another one.
    `detail` "claims" asks a chat judge for the evidence of each claim. `grace` is for how many seconds a cancelled
    run waits for its calls under way, which are paid for. `escalate` ("openai:MODEL") sends what the offline judge
    cannot tell to a model; address, key and what is sent along are then those of that model.
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
    on_change: OnChange = "rejudge"
    replace_judge: bool = False
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
    escalate: str | None = None

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

    `under_way` counts the calls that were sent and not answered; an interrupted run waits for them. `left_stale` are
    samples whose text has changed and which are not judged again.
    """

    total: int
    done: int
    failed: int
    stored_before: int
    cost: float | None
    under_way: int = 0
    interrupted: bool = False
    left_stale: int = 0


class EvaluationResult(msgspec.Struct, frozen=True):
    """The outcome of a run. `stopped` is why it ended early, if it did.

    `records`, `metrics` and `final_metrics` are what the files hold; `results` names fields as for courses.
    """

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
        return tuple(tuple(told(iteration.records, self.run.layout)) for iteration in self.results.iterations)

    @property
    def metrics(self) -> tuple[Mapping[str, Any], ...]:
        """The metrics of each iteration."""
        return tuple(told(iteration.metrics, self.run.layout) for iteration in self.results.iterations)

    @property
    def final_metrics(self) -> Mapping[str, Any] | None:
        """The figures over all iterations; None while one has not begun."""
        figures: Mapping[str, Any] | None = told(self.results.final_metrics, self.run.layout)
        return figures

    @property
    def complete(self) -> bool:
        """Every sample of every iteration has a verdict on its present text."""
        return (
            self.stopped is None
            and self.results.final_metrics is not None
            and all(len(iteration.judged) == self.total for iteration in self.results.iterations)
        )

    @property
    def untold(self) -> float:
        """The share of samples that the offline judge could not tell: the most of any iteration."""
        return max((iteration.metrics["untold"] for iteration in self.results.iterations), default=0) / self.total


Observer = Callable[[Progress], None]


async def run_evaluation(
    test_cases: Sequence[TestCase], config: EvaluationConfig, *, observer: Observer | None = None
) -> EvaluationResult:
    """Judge a test set and return records, metrics and final metrics.

    What the run folder already holds is not judged again. A cancelled run gives calls under way a
    moment to finish, writes its files and can be resumed.
    """
    config.check()
    _check_cases(test_cases)
    rubric = config.rubric or default_rubric(test_cases)
    folder = run_folder(config.root, config.output_dir)
    judge = create_judge(_judge_settings(config, rubric))
    try:
        price = _price_of(judge, config)
        _check_cap(config, judge, price)
        journal = Journal(folder)
        try:
            return await _run(test_cases, config, rubric, judge, price, journal, observer)
        finally:
            journal.close()
    finally:
        await judge.close()


def _judge_settings(config: EvaluationConfig, rubric: Rubric) -> JudgeSettings:
    """What the configuration says about the judge."""
    return JudgeSettings(
        provider=config.judge_provider,
        rubric=rubric,
        model=config.judge_model,
        base_url=config.base_url,
        api_key_env=config.api_key_env,
        prompt_version=config.system_prompt_version,
        temperature=config.temperature,
        timeout=config.timeout,
        max_output_tokens=config.max_output_tokens,
        patience=config.patience,
        seed=config.seed,
        reasoning_effort=config.reasoning_effort,
        headers=config.headers,
        extra_body=config.extra_body,
        detail=config.detail,
        root=config.root,
        escalate=config.escalate,
    )


def _price_of(judge: Judge, config: EvaluationConfig) -> Price | None:
    """What the judge's model costs; None where it is not known."""
    provider, model = paid_model(config.judge_provider, judge.model, config.escalate)
    return find_price(model, provider, config.price_file)


def _open_line(
    cases: Sequence[TestCase], config: EvaluationConfig, judge: Judge, rubric: Rubric, price: Price | None
) -> RunLine:
    """The line that opens a journal: which judge, at which price."""
    rubric_id = f"{rubric.name}:{rubric_hash(rubric)[:12]}"
    identity = Identity(config.judge_provider, judge.model, judge.prompt, rubric_id, getattr(judge, "settings", ""))
    has_courses = rubric.name != COURSE_RUBRIC and have_courses(cases)
    return RunLine(FORMAT, now(), config.output_dir, identity, config.iterations, price, rubric, has_courses)


def _pending_work(ledger: Ledger, config: EvaluationConfig) -> list[Work]:
    """What is left to judge, iteration by iteration, in the order of the set."""
    wanted = {State.PENDING, State.FAILED} | ({State.STALE} if config.on_change == "rejudge" else set())
    return [
        Work(number, sample)
        for number in range(1, config.iterations + 1)
        for sample in ledger.samples
        if ledger.iteration(number).state(sample) in wanted
    ]


async def _run(
    cases: Sequence[TestCase],
    config: EvaluationConfig,
    rubric: Rubric,
    judge: Judge,
    price: Price | None,
    journal: Journal,
    observer: Observer | None,
) -> EvaluationResult:
    run = _open_line(cases, config, judge, rubric, price)
    samples = tuple((case.query_log_id, fingerprint(case)) for case in cases)
    ledger = journal.ledger
    lines = missing_lines(ledger, run, samples, config.on_change, str(journal.path), replace_judge=config.replace_judge)
    if ledger.run is not None and ledger.run.judge != as_recorded(ledger, run).judge:
        # First, so that a run that is killed in between has no results of the judge before beside its own.
        remove_results(journal.folder)
    for line in lines:
        journal.store(line)
    await journal.commit()
    budget = Budget(config.max_cost, price, spent_so_far(ledger, run))
    workers = Workers(judge, cases, rubric, CallContext(journal, budget, Pacer(config.concurrency)), config, observer)
    try:
        stopped = await workers.run(_pending_work(ledger, config))
    finally:
        results = write_results(journal.folder, ledger)
    return EvaluationResult(
        journal.folder,
        ledger.present_run(),
        len(cases),
        results,
        gate_rate(results, len(cases), ledger.present_run()),
        journal.begun,
        stopped,
        tuple(_warnings(ledger, config)),
    )


def _check_cases(cases: Sequence[TestCase]) -> None:
    if not cases:
        raise TestSetError("the test set is empty", hint="Put at least one case into it.")
    seen: dict[str, int] = {}
    for position, case in enumerate(cases, start=1):
        first = seen.setdefault(case.query_log_id, position)
        if first != position:
            raise TestSetError(
                f"the id '{case.query_log_id}' appears twice: cases {first} and {position}",
                hint="A sample is identified by its id; give each its own.",
            )


def _check_cap(config: EvaluationConfig, judge: Judge, price: Price | None) -> None:
    provider, model = paid_model(config.judge_provider, judge.model, config.escalate)
    if config.max_cost is not None and price is None and provider not in ("offline", "replay"):
        raise OptionError(
            f"--max-cost cannot be enforced: the price of '{model}' is not known",
            hint="Give its price with --price-file, or leave --max-cost out.",
        )


def _warnings(ledger: Ledger, config: EvaluationConfig) -> list[str]:
    stale = _count(ledger, config.iterations, State.STALE)
    if not stale:
        return []
    way = (
        "--on-change rejudge judges them again" if config.on_change == "keep" else "the same command judges them again"
    )
    return [
        f"{stale} verdicts are stale: question, context or answer have changed since. "
        f"Their samples have no verdict as they are now; {way}."
    ]


def _count(ledger: Ledger, iterations: int, wanted: State) -> int:
    """How many samples are in a state, over the iterations that are asked for."""
    return sum(states(ledger, number)[wanted] for number in range(1, iterations + 1))


# An estimate: tokens and cost before the first call.


BYTES_PER_TOKEN = 4  # of English text; other scripts take more tokens, the worst case covers them
LIKELY_OUTPUT = 300  # a few sentences of reasoning per axis


class Estimate(msgspec.Struct, frozen=True):
    """`calls` without retries; likely figures beside the most that is possible."""

    model: str
    samples: int
    calls: int
    likely_input: int
    worst_input: int
    likely_output: int
    worst_output: int
    price: Price | None

    @property
    def is_free(self) -> bool:
        """No tokens, no cost."""
        return self.worst_input == 0

    def likely_cost(self) -> float | None:
        """What it will probably cost; None where the price is not known."""
        return self.price.of(self.likely_input, self.likely_output) if self.price else None

    def worst_cost(self) -> float | None:
        """What it costs at most, retries apart."""
        return self.price.of(self.worst_input, self.worst_output) if self.price else None


async def estimate_evaluation(test_cases: Sequence[TestCase], config: EvaluationConfig) -> Estimate:
    """What is left to judge of a test set and what that takes; sends nothing, writes nothing."""
    config.check()
    rubric = config.rubric or default_rubric(test_cases)
    judge = create_judge(msgspec.structs.replace(_judge_settings(config, rubric), sends_calls=False))
    try:
        price = _price_of(judge, config)
        ledger = _ledger(test_cases, config, _open_line(test_cases, config, judge, rubric, price))
        work = [test_cases[item.sample.position] for item in _pending_work(ledger, config)]
        asked = [(case, judge.worst_case(case)) for case in work if is_asked_about(case)]
        paid = [(case, usage) for case, usage in asked if usage.input_tokens] if config.escalate else asked
        work, worst = [case for case, _ in paid], [usage for _, usage in paid]
    finally:
        await judge.close()
    worst_input = sum(usage.input_tokens for usage in worst)
    worst_output = sum(usage.output_tokens for usage in worst)
    return Estimate(
        judge.model,
        len(test_cases),
        len(work),
        worst_input // BYTES_PER_TOKEN,
        worst_input,
        min(worst_output, LIKELY_OUTPUT * len(work)),
        worst_output,
        price,
    )


def _ledger(cases: Sequence[TestCase], config: EvaluationConfig, run: RunLine) -> Ledger:
    """The folder's ledger as the run would find it, or an empty one."""
    folder = run_folder(config.root, config.output_dir)
    ledger = read_ledger(folder) if (folder / JOURNAL).is_file() else Ledger()
    ledger.apply(as_recorded(ledger, run))
    ledger.apply(SetLine(run.at, tuple((case.query_log_id, fingerprint(case)) for case in cases)))
    return ledger


# The workers of a run: each takes the next sample as soon as it is free, and stores it before the next one.


INTERRUPTED = "interrupted"
REASON_WIDTH = 300


class Workers:
    """Judges a list of work with a number of calls at a time."""

    def __init__(
        self,
        judge: Judge,
        cases: Sequence[TestCase],
        rubric: Rubric,
        context: CallContext,
        config: EvaluationConfig,
        observer: Callable[[Progress], None] | None,
    ) -> None:
        self._judge = judge
        self._cases = cases
        self._rubric = rubric
        self._context = context
        self._config = config
        self._observer = observer
        self._layout = context.journal.ledger.present_run().layout
        self._stopped: str | None = None
        self._stored_before = 0
        self._left_stale = 0
        self._flusher = JournalFlusher(context.journal, config.concurrency, self._report)
        self._total = config.iterations * len(cases)
        self._done = 0
        self._failed = 0
        self._queue: deque[Work] = deque()

    async def run(self, work: Sequence[Work]) -> str | None:
        """Judge all of it; returns why it stopped early, if it did."""
        ledger, iterations = self._context.journal.ledger, self._config.iterations
        self._stored_before = self._done = _count(ledger, iterations, State.JUDGED)
        self._left_stale = self._total - self._stored_before - len(work)
        self._report()
        self._queue.extend(work)
        # At least one: asyncio does not wait for an empty list.
        size = max(1, min(self._config.concurrency, len(work)))
        tasks = [asyncio.create_task(self._worker()) for _ in range(size)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            self._stop(INTERRUPTED)
            self._report()
            # Calls under way are paid for. Workers without one have been woken up, and end now.
            await asyncio.wait(tasks, timeout=self._config.grace)
            raise
        finally:
            await self._end_workers(tasks)
        return self._stopped

    async def _end_workers(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """End all workers; an error that a worker could not handle is raised."""
        for worker in tasks:
            worker.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await self._flusher.drain()
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _worker(self) -> None:
        while self._queue and self._stopped is None:
            work = self._queue.popleft()
            await self._judge_one(work, self._cases[work.sample.position])

    async def _judge_one(self, work: Work, case: TestCase) -> None:
        """A sample ends with a verdict or with the reason for having none; both are stored."""
        calls = Calls(self._context, work)
        try:
            verdict = verdict_without_judge(case, self._rubric) or await self._judge.judge(case, calls)
            record = make_record(case, verdict, self._rubric)
        except NoFurtherCallError as error:
            self._stop(error.message)
            return
        except OutputError:
            raise  # the journal cannot be written, so no outcome could be stored
        except Exception as error:
            await self._store(work, self._error_line(work, case, error))
        else:
            sample = work.sample
            record = told(record, self._layout)
            line = VerdictLine(work.iteration, sample.hash, sample.fingerprint, now(), calls.last, record)
            await self._store(work, line)

    async def _store(self, work: Work, line: VerdictLine | ErrorLine) -> None:
        self._context.journal.store(line)
        if isinstance(line, VerdictLine):
            self._done += 1
        else:
            self._failed += 1
        await self._flusher.add(work)

    def _error_line(self, work: Work, case: TestCase, error: Exception) -> ErrorLine:
        reason = error.message if isinstance(error, SynthesisError) else f"{type(error).__name__}: {error}"
        if isinstance(error, RunStopError):
            self._stop(reason)
        sample = work.sample
        name = case.query_log_id
        return ErrorLine(
            i=work.iteration,
            h=sample.hash,
            f=sample.fingerprint,
            at=now(),
            id=name if self._layout == PASSAGES else None,
            query_log_id=name if self._layout == COURSES else None,
            question=case.question,
            reason=shorten(reason, REASON_WIDTH),
            kind=error.kind if isinstance(error, JudgeError) else None,
        )

    def _stop(self, reason: str) -> None:
        """Begin no further sample and send no further call."""
        self._stopped = self._stopped or reason
        self._context.close()

    def _report(self) -> None:
        if self._observer is not None:
            self._observer(
                Progress(
                    self._total,
                    self._done,
                    self._failed,
                    self._stored_before,
                    self._context.budget.known_spending(),
                    self._context.under_way,
                    self._stopped == INTERRUPTED,
                    self._left_stale,
                )
            )
