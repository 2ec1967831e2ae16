"""Judges that send no calls: the offline judge, and recorded verdicts that answer in place of a model."""

from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import JudgeError, OptionError, Place, TestSetError
from synthesis.judge.calls import Calls
from synthesis.judge.clients import JudgeSettings
from synthesis.judge.model import Rubric, TestCase, TokenUsage, Verdict
from synthesis.judge.offline import OfflineJudge
from synthesis.judge.offline.judge import AXES
from synthesis.judge.offline.scoring import weights
from synthesis.judge.replies import UnusableReplyError, read_verdict


class _FreeJudge:
    """What judges have in common that send no calls: no prompt, no cost, nothing to close."""

    model: str
    prompt = None

    def worst_case(self, case: TestCase) -> TokenUsage:  # noqa: ARG002
        """Nothing is paid."""
        return TokenUsage(self.model, 0, 0)

    async def close(self) -> None:
        """There is nothing to close."""


class LocalJudge(_FreeJudge):
    """Asks the offline judge in this process; its name includes the version of its weights."""

    def __init__(self, rubric: Rubric) -> None:
        self.model = f"offline-{weights().version}"
        self._rubric = rubric
        self._judge = OfflineJudge()

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:  # noqa: ARG002
        """The verdict on one sample."""
        return self._judge.judge(case, self._rubric)


def offline_judge(settings: JudgeSettings) -> LocalJudge:
    """The factory that is registered as `offline`."""
    others = [axis.name for axis in settings.rubric.axes if axis.name not in AXES]
    if others:
        raise OptionError(
            f"the offline judge cannot score {', '.join(others)} (rubric '{settings.rubric.name}')",
            hint=f"It knows {' and '.join(AXES)}. Choose another judge with --judge-provider.",
        )
    return LocalJudge(settings.rubric)


_HINT = (
    "A recording is a records file, the folder or name of an earlier run, or a file of verdicts: "
    '{"queryLogId": {"faithfulness": {"score": 5, "reasoning": "..."}, ...}}.'
)
Recording = dict[str, dict[str, Any]]


class ReplayJudge(_FreeJudge):
    """Looks each sample up in a recording; a verdict on another text is refused."""

    def __init__(self, source: Path, rubric: Rubric) -> None:
        self.model = source.name
        self._source = source
        self._rubric = rubric
        self._recordings: dict[int, Recording] = {1: self._recording(1)}

    async def judge(self, case: TestCase, calls: Calls) -> Verdict:
        """The recorded verdict."""
        if calls.iteration not in self._recordings:
            self._recordings[calls.iteration] = self._recording(calls.iteration)
        record = self._recordings[calls.iteration].get(case.query_log_id)
        if record is None:
            raise JudgeError("the recording has no verdict on this sample")
        if (record.get("question", case.question), record.get("systemAnswer", case.answer)) != (
            case.question,
            case.answer,
        ):
            raise JudgeError("the recorded verdict is for another question or answer")
        try:
            axes = read_verdict(record.get("judgeVerdict", record), self._rubric)
        except UnusableReplyError as error:
            raise JudgeError(f"the recorded verdict cannot be used: {error.message}") from None
        return Verdict(axes, details=record.get("details") or {})

    def _recording(self, iteration: int) -> Recording:
        """A run's folder has records per iteration; a single file answers for all of them."""
        if self._source.is_dir():
            return _read_recording(self._source / "records" / f"records-iteration-{iteration}.json")
        return _read_recording(self._source)


def replay_judge(settings: JudgeSettings) -> ReplayJudge:
    """The factory that is registered as `replay`; the model is the recording."""
    if not settings.model:
        raise OptionError("the judge 'replay' needs a recording: --judge-model PATH", hint=_HINT)
    beside = settings.root / settings.model
    source = Path(settings.model)
    return ReplayJudge(beside if not source.exists() and beside.is_dir() else source, settings.rubric)


def _read_recording(path: Path) -> Recording:
    try:
        content = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise TestSetError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint=_HINT) from None
    except msgspec.DecodeError as error:
        raise TestSetError(f"is not valid JSON: {error}", place=Place(str(path)), hint=_HINT) from None
    if isinstance(content, list):
        content = {item.get("queryLogId", ""): item for item in content if isinstance(item, dict)}
    if not isinstance(content, dict) or not all(isinstance(item, dict) for item in content.values()):
        raise TestSetError("contains neither records nor verdicts", place=Place(str(path)), hint=_HINT)
    return content
