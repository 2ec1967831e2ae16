"""A judged run: opens the folder, judges what is left, and writes the results."""

from collections.abc import Callable, Sequence

from synthesis.errors import OptionError, TestSetError
from synthesis.judge.calls import CallContext
from synthesis.judge.clients import Judge, JudgeSettings, create_judge
from synthesis.judge.config import EvaluationConfig, EvaluationResult, Progress
from synthesis.judge.cost import find_price, spent_so_far
from synthesis.judge.journal.file import Journal
from synthesis.judge.journal.ledger import Ledger, State, Work
from synthesis.judge.journal.lines import FORMAT, Identity, Price, RunLine, fingerprint, now
from synthesis.judge.journal.opening import missing_lines
from synthesis.judge.limits import Budget, Pacer
from synthesis.judge.model import Rubric, TestCase
from synthesis.judge.result_files import run_folder, write_results
from synthesis.judge.results import gate_rate
from synthesis.judge.rubric import default_rubric, rubric_hash
from synthesis.judge.workers import Workers

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
    judge = create_judge(judge_settings(config, rubric))
    try:
        price = price_of(judge, config)
        _check_cap(config, judge, price)
        journal = Journal(folder)
        try:
            return await _run(test_cases, config, rubric, judge, price, journal, observer)
        finally:
            journal.close()
    finally:
        await judge.close()


def judge_settings(config: EvaluationConfig, rubric: Rubric) -> JudgeSettings:
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
    )


def price_of(judge: Judge, config: EvaluationConfig) -> Price | None:
    """What the judge's model costs; None where it is not known."""
    return find_price(judge.model, config.judge_provider, config.price_file)


def open_line(config: EvaluationConfig, judge: Judge, rubric: Rubric, price: Price | None) -> RunLine:
    """The line that opens a journal: which judge, at which price."""
    rubric_id = f"{rubric.name}:{rubric_hash(rubric)[:12]}"
    identity = Identity(config.judge_provider, judge.model, judge.prompt, rubric_id, getattr(judge, "settings", ""))
    return RunLine(FORMAT, now(), config.output_dir, identity, config.iterations, price, rubric)


def pending_work(ledger: Ledger, config: EvaluationConfig) -> list[Work]:
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
    run = open_line(config, judge, rubric, price)
    samples = tuple((case.query_log_id, fingerprint(case)) for case in cases)
    ledger = journal.ledger
    for line in missing_lines(ledger, run, samples, config.on_change, str(journal.path)):
        journal.store(line)
    await journal.commit()
    budget = Budget(config.max_cost, price, spent_so_far(ledger, run))
    workers = Workers(judge, cases, rubric, CallContext(journal, budget, Pacer(config.concurrency)), config, observer)
    try:
        stopped = await workers.run(pending_work(ledger, config))
    finally:
        results = write_results(journal.folder, ledger)
    return EvaluationResult(
        journal.folder,
        ledger.present_run(),
        len(cases),
        results,
        gate_rate(results, len(cases)),
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
                f"the queryLogId '{case.query_log_id}' appears twice: cases {first} and {position}",
                hint="A sample is identified by its queryLogId; give each its own.",
            )


def _check_cap(config: EvaluationConfig, judge: Judge, price: Price | None) -> None:
    if config.max_cost is not None and price is None and config.judge_provider not in ("offline", "replay"):
        raise OptionError(
            f"--max-cost cannot be enforced: the price of '{judge.model}' is not known",
            hint="Give its price with --price-file, or leave --max-cost out.",
        )


def _warnings(ledger: Ledger, config: EvaluationConfig) -> list[str]:
    stale = sum(
        ledger.iteration(number).state(sample) is State.STALE
        for number in range(1, config.iterations + 1)
        for sample in ledger.samples
    )
    if not stale:
        return []
    return [
        f"{stale} verdicts are stale: question, context or answer have changed since. "
        "They count as not passed for --fail-under; --on-change rejudge judges them again."
    ]
