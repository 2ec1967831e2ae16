"""The folder of each judged run: its test set while it is needed, its state, its results."""

from pathlib import Path
from typing import Annotated

import msgspec

from synthesis.server.errors import ErrorDetail
from synthesis.server.jobs import Job, JobFolder


class JudgeJob(Job, frozen=True, omit_defaults=True):
    """A judged run and how far it is."""

    name: str
    total: Annotated[int, msgspec.Meta(description="Samples to judge, over all iterations.")] = 0
    judged: Annotated[int, msgspec.Meta(description="Samples judged so far.")] = 0
    failed: Annotated[int, msgspec.Meta(description="Samples that could not be judged.")] = 0
    run_id: Annotated[str, msgspec.Meta(description="Its id in the history, once it is saved.")] = ""
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed, or was not saved.")] = None


class JudgeOrder(msgspec.Struct, frozen=True):
    """How a test set is to be judged, and what is to be kept of it."""

    name: str
    iterations: int = 1
    rubric: str | None = None
    save: bool = True
    save_text: bool = False
    history: str | None = None


class JudgeFolder(JobFolder[JudgeJob]):
    """The files of one judged run."""

    kind = JudgeJob
    noun = "judged run"

    @property
    def input(self) -> Path:
        return self.path / "set.json"

    @property
    def results(self) -> Path:
        return self.path / RESULTS

    def clear(self) -> None:
        self.input.unlink(missing_ok=True)


RESULTS = "results"  # the name of the run's own folder; no request has a say in it
