"""The offline judge behind the same contract as the others: no key, no network, no cost."""

from synthesis._version import __version__
from synthesis.errors import OptionError
from synthesis.judge.calls import Calls
from synthesis.judge.clients.contract import JudgeSettings
from synthesis.judge.model import Rubric, TestCase, TokenUsage, Verdict
from synthesis.judge.offline import OfflineJudge
from synthesis.judge.offline.judge import AXES


class LocalJudge:
    """Asks the offline judge in this process; its rules change with the version, so its name tells it."""

    model = f"offline-{__version__}"
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
    others = [axis.name for axis in settings.rubric.axes if axis.name not in AXES]
    if others:
        raise OptionError(
            f"the offline judge cannot score {', '.join(others)} (rubric '{settings.rubric.name}')",
            hint=f"It knows {' and '.join(AXES)}. Choose another judge with --judge-provider.",
        )
    return LocalJudge(settings.rubric)
