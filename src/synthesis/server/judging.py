"""Judged runs by the offline judge: each in a folder of its own, judged one by one in a process beside the server."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from synthesis.errors import SynthesisError
from synthesis.server.errors import ErrorDetail
from synthesis.server.job_queue import run_jobs
from synthesis.server.jobs import CANCELLED, DONE, FAILED, RUNNING, Job, JobFolder, failure

if TYPE_CHECKING:
    from synthesis.judge import Progress

RESULTS = "results"  # the name of the run's own folder; a request cannot choose it


class JudgeJob(Job, frozen=True, omit_defaults=True):
    """A judged run and its progress."""

    name: str
    total: Annotated[int, msgspec.Meta(description="Samples to judge, over all iterations.")] = 0
    judged: Annotated[int, msgspec.Meta(description="Samples judged so far.")] = 0
    failed: Annotated[int, msgspec.Meta(description="Samples that could not be judged.")] = 0
    run_id: Annotated[str, msgspec.Meta(description="Its id in the history, once it is saved.")] = ""
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed, or was not saved.")] = None


class JudgeOptions(msgspec.Struct, frozen=True):
    """How to judge a test set, and what to keep of it."""

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


def run_judging(jobs: Connection) -> None:
    """The process beside the server: judges the test sets that come through the pipe."""
    run_jobs(jobs, lambda path, options: _run(JudgeFolder(path), options))


def _run(folder: JudgeFolder, options: JudgeOptions) -> None:
    """Judge one test set. Its file is removed afterwards, also after an error: it holds what people wrote."""
    try:
        if folder.is_cancelled:
            raise asyncio.CancelledError
        folder.change(state=RUNNING)
        asyncio.run(_judge(folder, options))
        _save(folder, options)
    except asyncio.CancelledError:
        folder.change(state=CANCELLED)
    except Exception as error:  # this set has failed; the process goes on with the next
        folder.change(state=FAILED, error=failure(error, "invalid_set", folder.path))
    finally:
        folder.clear()


async def _judge(folder: JudgeFolder, options: JudgeOptions) -> None:
    from synthesis.judge import EvaluationConfig, load_rubric, load_test_set, run_evaluation

    rubric = load_rubric(options.rubric) if options.rubric else None
    config = EvaluationConfig(output_dir=RESULTS, root=folder.path, iterations=options.iterations, rubric=rubric)
    cases = load_test_set(folder.input)
    folder.change(total=len(cases) * options.iterations)
    running = asyncio.ensure_future(run_evaluation(cases, config, observer=lambda progress: note(progress)))

    def note(progress: "Progress") -> None:
        if folder.is_cancelled:
            running.cancel()
        else:
            folder.note_progress(judged=progress.done, failed=progress.failed)

    iterations = (await running).results.iterations
    folder.change(
        judged=sum(len(iteration.records) for iteration in iterations),
        failed=sum(len(iteration.errors) for iteration in iterations),
    )


def _save(folder: JudgeFolder, options: JudgeOptions) -> None:
    """Save it in the history. If that fails, the results can still be read while the server runs."""
    if not options.save:
        folder.change(state=DONE)
        return
    from synthesis.history import Provenance, open_history

    try:
        with open_history(options.history) as history:
            known = Provenance(with_text=options.save_text, name=options.name)
            run_id = history.add_judged(folder.results, known)
        folder.change(state=DONE, run_id=run_id)
    except SynthesisError as error:
        folder.change(state=DONE, error=failure(error, "not_saved", folder.path))
