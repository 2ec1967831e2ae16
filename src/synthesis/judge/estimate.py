"""Tokens and cost before the first call."""

from collections.abc import Sequence

import msgspec

from synthesis.judge.clients import create_judge
from synthesis.judge.config import EvaluationConfig
from synthesis.judge.journal.file import JOURNAL, read_ledger
from synthesis.judge.journal.ledger import Ledger
from synthesis.judge.journal.lines import Price, RunLine, SetLine, fingerprint
from synthesis.judge.journal.opening import as_recorded
from synthesis.judge.model import TestCase
from synthesis.judge.records import is_asked_about
from synthesis.judge.result_files import run_folder
from synthesis.judge.rubric import default_rubric
from synthesis.judge.run import judge_settings, open_line, pending_work, price_of

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
    judge = create_judge(msgspec.structs.replace(judge_settings(config, rubric), sends_calls=False))
    try:
        price = price_of(judge, config)
        ledger = _ledger(test_cases, config, open_line(config, judge, rubric, price))
        work = [test_cases[item.sample.position] for item in pending_work(ledger, config)]
        work = [case for case in work if is_asked_about(case)]
        worst = [judge.worst_case(case) for case in work]
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
