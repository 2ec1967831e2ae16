"""The offline judge behind the same contract as the others: no key, no network, no cost."""

from synthesis.judge.calls import Calls
from synthesis.judge.clients.contract import JudgeSettings
from synthesis.judge.model import Rubric, TestCase, TokenUsage, Verdict
from synthesis.judge.offline import OfflineJudge


class LocalJudge:
    """Asks the offline judge in this process."""

    model = "offline"
    prompt = None

    def __init__(self, rubric: Rubric) -> None:
        self._rubric = rubric
        self._judge = OfflineJudge()

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:  # noqa: ARG002
        """The verdict on one sample."""
        return self._judge.judge(case, self._rubric)

    def worst_case(self, case: TestCase) -> TokenUsage:  # noqa: ARG002
        """Nothing is paid."""
        return TokenUsage(self.model, 0, 0)

    async def close(self) -> None:
        """There is nothing to let go of."""


def offline_judge(settings: JudgeSettings) -> LocalJudge:
    """The factory that is registered as `offline`."""
    return LocalJudge(settings.rubric)
