"""A judged run: opens the folder, judges what is not yet judged, writes down what came of it."""

from collections.abc import Callable, Sequence

from synthesis.errors import OptionError, Place, RunFolderError, TestSetError
from synthesis.judge.billing import spent_so_far
from synthesis.judge.calls import Desk
from synthesis.judge.clients import Judge, JudgeSettings, create_judge
from synthesis.judge.config import EvaluationConfig, EvaluationResult, Progress
from synthesis.judge.cost import Budget, find_price
from synthesis.judge.journal import Journal
from synthesis.judge.keeping import Work
from synthesis.judge.ledger import Ledger, Sample, State
from synthesis.judge.lines import FORMAT, Identity, Price, RunLine, SetLine, fingerprint, now
from synthesis.judge.model import Rubric, TestCase
from synthesis.judge.pacing import Pacer
from synthesis.judge.results import gate_rate
from synthesis.judge.rubric import default_rubric, rubric_hash
from synthesis.judge.store import run_folder, write_results
from synthesis.judge.work import Workers

Observer = Callable[[Progress], None]


async def run_evaluation(
    test_cases: Sequence[TestCase], config: EvaluationConfig, *, observer: Observer | None = None
) -> EvaluationResult:
    """Judge a test set and return records, metrics and final metrics.

    What the run folder already holds is not judged again. A cancelled run lets calls under way finish for a
    moment, writes its files and can be gone on with.
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
        root=config.root,
    )


def price_of(judge: Judge, config: EvaluationConfig) -> Price | None:
    """What the judge's model costs; None where nobody says."""
    return find_price(judge.model, config.judge_provider, config.price_file)


def open_line(config: EvaluationConfig, judge: Judge, rubric: Rubric, price: Price | None) -> RunLine:
    """The line that opens a journal: whose verdicts follow, at which price."""
    rubric_id = f"{rubric.name}:{rubric_hash(rubric)[:12]}"
    identity = Identity(config.judge_provider, judge.model, judge.prompt, rubric_id)
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
    _check_judge(journal, run.judge, config)
    samples = tuple((case.query_log_id, fingerprint(case)) for case in cases)
    _check_changes(journal, run, samples, config)
    await _open(journal, run, samples)
    ledger = journal.ledger
    desk = Desk(journal, Budget(config.max_cost, price, spent_so_far(ledger, run)), Pacer(config.concurrency))
    workers = Workers(judge, cases, rubric, desk, config, observer)
    calls_before = ledger.next_call
    try:
        stopped = await workers.run(pending_work(ledger, config))
    finally:
        results = write_results(journal.path.parent, ledger)
    return EvaluationResult(
        journal.path.parent,
        ledger.present_run(),
        len(cases),
        results,
        gate_rate(results, len(cases)),
        ledger.next_call - calls_before,
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
                f"the queryLogId '{case.query_log_id}' stands twice: cases {first} and {position}",
                hint="A sample is known by its queryLogId; give each its own.",
            )


def _check_cap(config: EvaluationConfig, judge: Judge, price: Price | None) -> None:
    if config.max_cost is not None and price is None and config.judge_provider not in ("offline", "replay"):
        raise OptionError(
            f"--max-cost can not be kept: the price of '{judge.model}' is not known",
            hint="Give its price with --price-file, or leave --max-cost out.",
        )


def _check_judge(journal: Journal, identity: Identity, config: EvaluationConfig) -> None:
    run = journal.ledger.run
    if run is not None and run.judge != identity and config.on_change != "rejudge":
        raise RunFolderError(
            f"this folder belongs to another judge: it has {run.judge.difference(identity)}",
            place=Place(str(journal.path)),
            hint="Use --output-dir NAME, or judge all samples here again with --on-change rejudge.",
        )


def _check_changes(
    journal: Journal, run: RunLine, samples: tuple[tuple[str, str], ...], config: EvaluationConfig
) -> None:
    """`error` stops before anything is written."""
    if config.on_change != "error" or journal.ledger.run is None or journal.ledger.run.judge != run.judge:
        return
    future = Ledger()
    future.apply(SetLine(run.at, samples))
    changed = [sample.query_log_id for sample in future.samples if _is_stale(journal.ledger, sample, config.iterations)]
    if changed:
        raise RunFolderError(
            f"{len(changed)} samples have changed since they were judged: {', '.join(changed[:5])}",
            place=Place(str(journal.path)),
            hint="--on-change keep keeps and flags their verdicts, --on-change rejudge judges them again.",
        )


def _is_stale(ledger: Ledger, sample: Sample, iterations: int) -> bool:
    return any(ledger.iteration(number).state(sample) is State.STALE for number in range(1, iterations + 1))


async def _open(journal: Journal, run: RunLine, samples: tuple[tuple[str, str], ...]) -> None:
    """Note judge, price and set where they are not the ones noted last."""
    before = journal.ledger.run
    if before is None or _noted(before) != _noted(run):
        journal.append(run)
    if tuple((s.query_log_id, s.fingerprint) for s in journal.ledger.samples) != samples:
        journal.append(SetLine(run.at, samples))
    await journal.commit()


def _noted(run: RunLine) -> tuple[object, ...]:
    return (run.test_set_name, run.judge, run.iterations, run.price)


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
