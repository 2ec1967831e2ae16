"""Jobs: uploads and judged runs that take longer than a request, done one by one in a process beside the server."""

import asyncio
import multiprocessing
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeVar

import msgspec

from synthesis.errors import InputError, SynthesisError
from synthesis.model.report import Report
from synthesis.report.stored import replaced
from synthesis.run.files import Pace, evaluate_files
from synthesis.run.spec import InputFile, RunSpec
from synthesis.server.http import ApiError, ErrorDetail, Slots, as_api_error, not_found
from synthesis.server.rulebook import loaded_rules
from synthesis.server.upload_view import in_page_words
from synthesis.settings import TRAFFIC

if TYPE_CHECKING:
    from synthesis.judge import Progress

PAUSE = 0.1  # seconds between two writes of a job's progress
KEPT = 20  # finished jobs; older ones are removed
WAITING: Final = "waiting"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
OVER = {DONE, FAILED, CANCELLED}
State = Literal["waiting", "running", "done", "failed", "cancelled"]
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_CANCEL = "cancel"


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all jobs have: an id and a state."""

    id: str
    state: State


J = TypeVar("J", bound=Job)


def failure(error: Exception, code: str, folder: Path, *, placed: bool = False) -> ErrorDetail:
    """Why a job failed; `placed`: where in its file. An unexpected error is told without details: they may quote."""
    if not isinstance(error, SynthesisError):
        return as_api_error(error).detail
    message, hint = (str(error), "") if placed else (error.message, error.hint or "")
    return ErrorDetail(code, _told(message, folder), _told(hint, folder))


def _told(text: str, folder: Path) -> str:
    """Without a path of this machine; what was not UTF-8 in the file is spelled out, since JSON cannot hold it."""
    return text.replace(f"{folder}/", "").encode("utf-8", "backslashreplace").decode()


def no_such_job(noun: str) -> ApiError:
    return not_found(f"There is no such {noun}.", f"The latest {KEPT} are kept while the server runs.")


class JobFolder(Generic[J]):
    """The files of one job."""

    kind: ClassVar[type[Any]] = Job
    noun: ClassVar[str] = "job"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = 0.0

    def load(self) -> J:
        try:
            found: J = msgspec.json.decode((self.path / "state.json").read_bytes(), type=self.kind)
        except FileNotFoundError:
            raise no_such_job(self.noun) from None
        return found

    def save(self, job: J) -> None:
        with replaced(self.path / "state.json") as file:
            file.write(msgspec.json.encode(job))
        self._saved = monotonic()

    def change(self, **fields: Any) -> J:
        changed = msgspec.structs.replace(self.load(), **fields)
        self.save(changed)
        return changed

    def note_progress(self, **fields: Any) -> None:
        """Change the state unless that was done a moment ago: progress comes faster than anybody reads it."""
        if monotonic() - self._saved > PAUSE:
            self.change(**fields)

    @property
    def is_cancelled(self) -> bool:
        return (self.path / _CANCEL).exists()

    def cancel(self) -> J:
        """Ask a job that waits or runs to end, and return its state; a finished one stays as it is."""
        if self.load().state not in OVER:
            (self.path / _CANCEL).touch()
        return self.load()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self) -> None:
        """Remove the files that a finished job does not need."""


F = TypeVar("F", bound=JobFolder[Any])


class JobStore(Generic[F]):
    """All jobs of one kind. An id from a request becomes part of a path, so it must look like one of ours."""

    def __init__(self, root: Path, kind: type[F]) -> None:
        self._root = root / f"{kind.noun}s"
        self._kind = kind
        self._root.mkdir(mode=0o700, exist_ok=True)

    def new(self) -> tuple[str, F]:
        self._make_room()
        name = secrets.token_urlsafe(16)
        folder = self._kind(self._root / name)
        folder.path.mkdir(mode=0o700)
        return name, folder

    def has(self, name: str) -> bool:
        return bool(_ID.fullmatch(name)) and (self._root / name / "state.json").is_file()

    def folder(self, name: str) -> F:
        if not self.has(name):
            raise no_such_job(self._kind.noun)
        return self._kind(self._root / name)

    def _make_room(self) -> None:
        with suppress(OSError, ApiError):  # another worker may be removing it too
            states = sorted(self._root.glob("*/state.json"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in states[KEPT - 1 :]:
                folder = self._kind(path.parent)
                if folder.load().state in OVER:
                    folder.remove()


# Jobs are done one by one in a process beside the server, so that none holds up a request.


_DIED = ErrorDetail("died", "The process that ran this job died.", "It may have run out of memory.")


class JobQueue:
    """Runs jobs one by one in a process of its own, which starts with the first job."""

    def __init__(self, most: int, what: str, target: Callable[[Connection], None]) -> None:
        self.slots = Slots(most, what)
        self._target = target
        self._thread = ThreadPoolExecutor(1, "jobs")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, folder: JobFolder[Any], options: object) -> None:
        """Run a job when its turn comes; 429 if too many wait."""
        self.slots.take()
        task = asyncio.get_running_loop().create_task(self._wait(folder, options))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait(self, folder: JobFolder[Any], options: object) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._run, folder, options)
        finally:
            self.slots.free()

    def _run(self, folder: JobFolder[Any], options: object) -> None:
        """Block until the job is over. If the process dies, only this job fails; the next one starts a new process."""
        try:
            pipe = self._started()
            pipe.send((str(folder.path), options))
            pipe.recv()
        except (EOFError, OSError):
            self._process = None
            with suppress(SynthesisError, ApiError, OSError):  # at shutdown the folder may be gone already
                folder.clear()
                folder.change(state=FAILED, error=_DIED)

    def _started(self) -> Connection:
        if self._process is None or self._pipe is None or not self._process.is_alive():
            # Spawned, not forked: a fork would inherit locks held by threads, and the listening socket.
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=self._target, args=(theirs,), daemon=True, name="synthesis jobs")
            self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.terminate()


def run_jobs(jobs: Connection, run: Callable[[Path, Any], None]) -> None:
    """The loop of the process beside the server: run each job that comes through the pipe, and answer when it is over.

    It ends when the server closes the pipe, and in the middle of a job when the server dies.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    threading.Thread(target=_end_with_server, daemon=True).start()
    while True:
        try:
            path, options = jobs.recv()
        except EOFError:
            return
        try:
            run(Path(path), options)
            jobs.send(None)
        except (OSError, ApiError):
            if Path(path).exists():
                raise
            return  # a server that ends has removed the folder


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)  # nobody can ask for the result; the job's own thread would go on for as long as it takes


# Uploaded case files: each in a folder of its own, evaluated one by one in a process beside the server.


BLOCK = 128 << 10  # bytes between two looks at whether to cancel, and two counts of progress


class Upload(Job, frozen=True, omit_defaults=True):
    """An uploaded file and the progress of its evaluation."""

    size: Annotated[int, msgspec.Meta(description="Bytes of the file.")]
    read: Annotated[int, msgspec.Meta(description="Bytes evaluated so far.")] = 0
    cases: Annotated[int, msgspec.Meta(description="Cases evaluated so far.")] = 0
    cases_per_second: Annotated[float, msgspec.Meta(description="How fast it is lately; 0 before the first cases.")] = 0
    seconds_left: Annotated[
        float | None, msgspec.Meta(description="About how long it will still take; null where nobody can tell.")
    ] = None
    summary: Annotated[
        dict[str, Any] | None, msgspec.Meta(description="The report's summary, once it is finished.")
    ] = None
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed.")] = None


class UploadOptions(msgspec.Struct, frozen=True):
    """How to evaluate an uploaded file."""

    kind: str = "jsonl"
    checks: tuple[str, ...] = ()
    language: str | None = None
    on_bad_row: str | None = None
    columns: dict[str, str] = {}
    sort: bool = False
    profile: str = TRAFFIC
    folders: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    most_line: int = 1 << 20


class UploadFolder(JobFolder[Upload]):
    """The files of one upload."""

    kind = Upload
    noun = "upload"

    def input(self, kind: str) -> Path:
        return self.path / f"upload.{kind}"

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    def clear(self) -> None:
        for path in self.path.glob("upload.*"):
            path.unlink(missing_ok=True)


class _Cancelled(Exception):  # noqa: N818 - not an error: a client asked for it
    """The upload was cancelled."""


def run_uploads(jobs: Connection) -> None:
    """The process beside the server: evaluates the uploads that come through the pipe."""
    run_jobs(jobs, lambda path, options: _run_upload(UploadFolder(path), options))


def _run_upload(folder: UploadFolder, options: UploadOptions) -> None:
    """Evaluate one upload. Its file is removed afterwards, also after an error: it holds what people wrote."""
    try:
        folder.change(state=RUNNING)
        summary = _evaluate(folder, options).summary
        size = folder.load().size
        folder.change(state=DONE, seconds_left=None, read=size, cases=summary["cases"], summary=summary)
    except _Cancelled:
        folder.change(state=CANCELLED)
    except Exception as error:  # this file has failed; the process goes on with the next
        folder.change(state=FAILED, error=_upload_failure(error, folder, options))
    finally:
        folder.input(options.kind).unlink(missing_ok=True)


def _upload_failure(error: Exception, folder: UploadFolder, options: UploadOptions) -> ErrorDetail:
    if isinstance(error, InputError):
        return in_page_words(error, folder.input(options.kind).name)
    return failure(error, "invalid_cases", folder.path, placed=True)


def _evaluate(folder: UploadFolder, options: UploadOptions) -> Report:
    pace = Pace()

    def note(cases: int, read: int, total: int) -> None:
        _require_wanted(folder)
        pace.note(cases, read, total)
        speed, left = round(pace.rows_per_second or 0, 1), pace.seconds_left
        left = None if left is None else round(left, 1)
        folder.note_progress(cases=cases, read=read, cases_per_second=speed, seconds_left=left)

    _require_wanted(folder)
    rules = loaded_rules(options.folders, options.disabled)
    return evaluate_files(_spec(folder, options), progress=note, rules=rules, block_size=BLOCK).report


def _require_wanted(folder: UploadFolder) -> None:
    if folder.is_cancelled:
        raise _Cancelled


def _spec(folder: UploadFolder, options: UploadOptions) -> RunSpec:
    return RunSpec(
        profile=options.profile,
        inputs=(InputFile(folder.input(options.kind), f"upload.{options.kind}"),),
        checks=options.checks,
        columns=options.columns,
        sort=options.sort,
        on_bad_row=options.on_bad_row,
        language=options.language,
        rules=options.folders,
        disabled=options.disabled,
        max_line=options.most_line,
        out=folder.report,
    )


# Judged runs by the offline judge: each in a folder of its own, judged one by one in a process beside the server.


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
    run_jobs(jobs, lambda path, options: _run_judging(JudgeFolder(path), options))


def _run_judging(folder: JudgeFolder, options: JudgeOptions) -> None:
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
