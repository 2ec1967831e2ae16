"""Jobs: uploads and judged runs, which take longer than a request and run one by one in a separate process.

A job has a folder of its own with a state file, so that any worker process can answer for it. Its `Task` says what to
do; the queue sends both through a pipe to the job process.
"""

import asyncio
import multiprocessing
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

import msgspec

from synthesis.errors import NO_CHECKS, RETURNS, CaseError, SynthesisError
from synthesis.io import replaced
from synthesis.lazy import regex
from synthesis.read.inputs import Input
from synthesis.run.files import Pace, evaluate_files
from synthesis.run.spec import RunSpec
from synthesis.server.http import ApiError, ErrorDetail, Slots, as_api_error, not_found
from synthesis.server.rulebook import loaded_rules
from synthesis.settings import LEARNED, TRAFFIC

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
_ID = regex(r"[A-Za-z0-9_-]{22}")
_STATE = "state.json"
_CANCEL = "cancel"


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all jobs have: an id and a state. Each kind adds its progress."""

    noun: ClassVar[str] = "job"
    id: str
    state: State


J = TypeVar("J", bound=Job)


class JobCancelled(Exception):  # noqa: N818 - not an error: a client asked for it
    """A client has cancelled the job."""


class JobFolder(Generic[J]):
    """The files of one job of this kind."""

    def __init__(self, path: Path, kind: type[J]) -> None:
        self.path = path
        self.kind = kind
        self._saved = 0.0

    @property
    def id(self) -> str:
        return self.path.name

    def load(self) -> J:
        try:
            return msgspec.json.decode((self.path / _STATE).read_bytes(), type=self.kind)
        except FileNotFoundError:
            raise no_such_job(self.kind) from None

    def save(self, job: J) -> None:
        """Not durable: it is written ten times a second, and a server that starts again knows no jobs of before."""
        with replaced(self.path / _STATE, durable=False) as file:
            file.write(msgspec.json.encode(job))
        self._saved = monotonic()

    def change(self, **fields: Any) -> None:
        self.save(msgspec.structs.replace(self.load(), **fields))

    def note_progress(self, **fields: Any) -> None:
        """Change the state unless that was done a moment ago: progress comes faster than anybody reads it."""
        if monotonic() - self._saved > PAUSE:
            self.change(**fields)

    def require_done(self, missing: str) -> None:
        """409 unless the job is done; `missing` begins the message."""
        if self.load().state != DONE:
            message = f"{missing}: the {self.kind.noun} is not finished."
            raise ApiError(409, "not_done", message, "Its state says why.")

    @property
    def is_cancelled(self) -> bool:
        return (self.path / _CANCEL).exists()

    def require_wanted(self) -> None:
        if self.is_cancelled:
            raise JobCancelled

    def cancel(self) -> J:
        """End a job that waits, ask one that runs to end, and return its state; a finished one stays as it is."""
        if self.load().state not in OVER:
            (self.path / _CANCEL).touch()
        if self.load().state == WAITING:  # read again: what starts after the mark was made sees it
            self.clear()
            self.change(state=CANCELLED)
        return self.load()

    def clear(self) -> None:
        """Delete all files but the state; one that is just being written begins with a dot."""
        for path in self.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name not in {_STATE, _CANCEL} and not path.name.startswith("."):
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def no_such_job(kind: type[Job]) -> ApiError:
    return not_found(f"There is no such {kind.noun}.", f"The latest {KEPT} are kept while the server runs.")


class JobStore(Generic[J]):
    """All jobs of one kind. An id from a request becomes part of a path, so it must look like one of ours."""

    def __init__(self, root: Path, kind: type[J]) -> None:
        self._root = root / f"{kind.noun}s"
        self._kind = kind
        self._root.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def new(self) -> Iterator[JobFolder[J]]:
        """The folder of a new job; it is removed if the block that fills it fails."""
        self._make_room()
        folder = JobFolder(self._root / secrets.token_urlsafe(16), self._kind)
        folder.path.mkdir(mode=0o700)
        try:
            yield folder
        except BaseException:
            folder.remove()
            raise

    def has(self, name: str) -> bool:
        return bool(_ID.fullmatch(name)) and (self._root / name / _STATE).is_file()

    def folder(self, name: str) -> JobFolder[J]:
        if not self.has(name):
            raise no_such_job(self._kind)
        return JobFolder(self._root / name, self._kind)

    def _make_room(self) -> None:
        with suppress(OSError, ApiError):  # another worker may be removing it too
            states = sorted(self._root.glob(f"*/{_STATE}"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in states[KEPT - 1 :]:
                folder = JobFolder(path.parent, self._kind)
                if folder.load().state in OVER:
                    folder.remove()


# The queue, in the server, and the loop of the job process.


_DIED = ErrorDetail("died", "The process that ran this job died.", "It may have run out of memory.")
_UNSAVED = ErrorDetail("unsaved", "The result of this job could not be saved.", "The server's disk may be full.")


class Task(Protocol):
    """What to do for a job. It is pickled on its way to the job process."""

    @property
    def file(self) -> str:
        """The name of the file that a client sent, in the job's folder."""

    def waiting(self, job_id: str, size: int) -> Job:
        """The state of the job before its turn; `size` is that of the file."""

    def run(self, folder: JobFolder[Any]) -> dict[str, Any]:
        """Do the work and return the fields of the finished job."""

    def failure(self, error: SynthesisError, folder: JobFolder[Any]) -> ErrorDetail:
        """Why it failed, without a path of this machine."""


class JobQueue:
    """Runs jobs one by one in a process of its own, which starts with the first job."""

    def __init__(self, most: int) -> None:
        self.slots = Slots(most, "jobs waiting or running")
        self._thread = ThreadPoolExecutor(1, "jobs")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._waiting: set[asyncio.Task[None]] = set()

    def add(self, folder: JobFolder[Any], task: Task, size: int) -> Job:
        """Run a job when its turn comes; 429 if too many wait."""
        job = task.waiting(folder.id, size)
        folder.save(job)
        self.slots.take()  # last: if the state cannot be saved, nobody would free it
        waiting = asyncio.get_running_loop().create_task(self._wait(folder, task))
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)
        return job

    async def _wait(self, folder: JobFolder[Any], task: Task) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._run, folder, task)
        finally:
            self.slots.free()

    def _run(self, folder: JobFolder[Any], task: Task) -> None:
        """Block until the job is over. If the process dies, only this job fails; the next one starts a new process."""
        if _is_settled(folder):
            return
        try:
            pipe = self._started()
            pipe.send((folder, task))
            pipe.recv()
        except (EOFError, OSError):
            self._process = None
            with suppress(SynthesisError, ApiError, OSError):  # at shutdown the folder may be gone already
                _finish(folder, task, state=FAILED, error=_DIED)

    def _started(self) -> Connection:
        if self._process is None or self._pipe is None or not self._process.is_alive():
            # Spawned, not forked: a fork would inherit locks held by threads, and the listening socket.
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=run_jobs, args=(theirs,), daemon=True, name="synthesis jobs")
            self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.terminate()


def _is_settled(folder: JobFolder[Any]) -> bool:
    """Whether a job ended while it waited; it may have been deleted since then."""
    try:
        return folder.load().state in OVER
    except ApiError:
        return True


def run_jobs(jobs: Connection) -> None:
    """The loop of the job process: run each job that comes through the pipe, and answer when it is over.

    It ends when the server closes the pipe, and in the middle of a job when the server dies.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends this process
    threading.Thread(target=_end_with_server, daemon=True).start()
    while True:
        try:
            folder, task = jobs.recv()
        except EOFError:
            return
        try:
            _run_to_an_end(folder, task)
            jobs.send(None)
        except (OSError, ApiError):
            if folder.path.exists():
                raise
            return  # a server that ends has removed the folder


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)  # nobody can ask for the result, and the job could run for hours


def _run_to_an_end(folder: JobFolder[Any], task: Task) -> None:
    """Run one job. If its end cannot be saved, not even without its files, no job is better than an endless one."""
    try:
        run_job(folder, task)
    except SynthesisError:
        folder.clear()
        try:
            folder.change(state=FAILED, error=_UNSAVED)
        except SynthesisError:
            folder.remove()


def run_job(folder: JobFolder[Any], task: Task) -> None:
    """Run one job and save how it ended; one that was cancelled while it waited has ended."""
    if folder.load().state in OVER:
        return
    try:
        folder.change(state=RUNNING)
        folder.require_wanted()  # after the change: `cancel` makes its mark first and then looks at the state
        _finish(folder, task, state=DONE, **task.run(folder))
    except (JobCancelled, asyncio.CancelledError):
        _finish(folder, task, state=CANCELLED)
    except SynthesisError as error:
        _finish(folder, task, state=FAILED, error=task.failure(error, folder))
    except Exception as error:  # this job has failed; the process continues with the next
        _finish(folder, task, state=FAILED, error=as_api_error(error).detail)


def _finish(folder: JobFolder[Any], task: Task, **fields: Any) -> None:
    """Delete the file first: it holds people's texts, and a finished job must not keep them."""
    (folder.path / task.file).unlink(missing_ok=True)
    folder.change(**fields)


# Uploads: a case file, a chat log or a table, evaluated.


BLOCK = 128 << 10  # bytes between two checks for cancellation and two progress updates
REPORT = "report.json"


class Upload(Job, frozen=True, omit_defaults=True):
    """An uploaded file and the progress of its evaluation."""

    noun = "upload"
    size: Annotated[int, msgspec.Meta(description="Bytes of the file.")]
    read: Annotated[int, msgspec.Meta(description="Bytes evaluated so far.")] = 0
    cases: Annotated[int, msgspec.Meta(description="Cases evaluated so far.")] = 0
    cases_per_second: Annotated[float, msgspec.Meta(description="Recent speed; 0 before the first cases.")] = 0
    seconds_left: Annotated[float | None, msgspec.Meta(description="Estimated time left; null if unknown.")] = None
    summary: Annotated[
        dict[str, Any] | None, msgspec.Meta(description="The report's summary, once it is finished.")
    ] = None
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed.")] = None


class UploadTask(msgspec.Struct, frozen=True):
    """How to evaluate an uploaded file."""

    kind: str = "jsonl"
    checks: tuple[str, ...] = ()
    language: str | None = None
    on_bad_row: str | None = None
    columns: dict[str, str] = {}
    sort: bool = False
    profile: str = TRAFFIC
    reader: str = LEARNED
    folders: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    most_line: int = 1 << 20

    @property
    def file(self) -> str:
        return f"upload.{self.kind}"

    def waiting(self, job_id: str, size: int) -> Upload:
        return Upload(job_id, WAITING, size)

    def run(self, folder: JobFolder[Any]) -> dict[str, Any]:
        pace = Pace()

        def note(cases: int, read: int, total: int) -> None:
            folder.require_wanted()
            pace.note(cases, read, total)
            speed, left = round(pace.rows_per_second or 0, 1), pace.seconds_left
            left = None if left is None else round(left, 1)
            folder.note_progress(cases=cases, read=read, cases_per_second=speed, seconds_left=left)

        rules = loaded_rules(self.folders, self.disabled, self.reader)
        evaluated = evaluate_files(self._spec(folder.path), progress=note, rules=rules, block_size=BLOCK)
        summary = evaluated.report.summary
        return {"seconds_left": None, "read": folder.load().size, "cases": summary["cases"], "summary": summary}

    def _spec(self, folder: Path) -> RunSpec:
        return RunSpec(
            profile=self.profile,
            reader=self.reader,
            inputs=(Input.of(folder / self.file, self.file),),
            checks=self.checks,
            columns=self.columns,
            sort=self.sort,
            on_bad_row=self.on_bad_row,
            language=self.language,
            rules=self.folders,
            disabled=self.disabled,
            max_line=self.most_line,
            out=folder / REPORT,
        )

    def failure(self, error: SynthesisError, folder: JobFolder[Any]) -> ErrorDetail:  # noqa: ARG002
        return in_page_words(error, self.file)


# Error messages for the upload page: no paths of the server, no command-line options.


SHOWN = 10
SORT = "Tick “Sort rows by conversation”, then evaluate the file again."
CHOOSE = "Choose what a row is and which columns hold it, then evaluate the file again."
_NAMED_BY_OPTION = regex(r"--map \w+=(?:NAME|\S+) (?:names|may name) it(?:; )?")
_SENTENCE = regex(r"(?<=[.?!])\s+")
_OPTION = regex(r"--[a-z]|`synthesis ")


def in_page_words(error: SynthesisError, file: str) -> ErrorDetail:
    """`file` is the server's name for the file, which the person who sent it does not know."""
    if isinstance(error, CaseError):
        return ErrorDetail("invalid_cases", _problems(error), _cure(error))
    line = f"Line {error.place.line}: " if error.place and error.place.line else ""
    message = without_options(_without_path(error.message, file))
    hint = without_options(_without_path(error.hint or "", file))
    if not hint and _OPTION.search(error.hint or ""):
        hint = CHOOSE
    return ErrorDetail("invalid_cases", line + message[:1].upper() + message[1:], hint)


def _problems(error: CaseError) -> str:
    many = "One problem" if error.total == 1 else f"{error.total:,} problems"
    lines = [
        f"{many} in the file, nothing was evaluated:",
        *(without_options(words) for words, _ in error.told[:SHOWN]),
    ]
    left = error.total - sum(number for _, number in error.told[:SHOWN])
    if left > 0:
        lines.append(f"... and {left:,} more")
    return "\n".join(lines)


def _cure(error: CaseError) -> str:
    if RETURNS in error.kinds:
        return SORT
    return CHOOSE if NO_CHECKS in error.kinds else ""


def _without_path(text: str, file: str) -> str:
    return re.sub(rf"\S*{re.escape(file)}", "the file", text)


def without_options(text: str) -> str:
    """Drop sentences about command-line options."""
    sentences = _SENTENCE.split(_NAMED_BY_OPTION.sub("", text).replace(" ()", ""))
    return spelled_out(" ".join(sentence for sentence in sentences if not _OPTION.search(sentence)))


# Judged runs: a test set, judged by the offline judge.


RESULTS = "results"  # the name of the run's own folder; a request cannot choose it


class JudgeJob(Job, frozen=True, omit_defaults=True):
    """A judged run and its progress."""

    noun = "judged run"
    name: str
    total: Annotated[int, msgspec.Meta(description="Samples to judge, over all iterations.")] = 0
    judged: Annotated[int, msgspec.Meta(description="Samples judged so far.")] = 0
    failed: Annotated[int, msgspec.Meta(description="Samples that could not be judged.")] = 0
    run_id: Annotated[str, msgspec.Meta(description="Its id in the history, once it is saved.")] = ""
    error: Annotated[ErrorDetail | None, msgspec.Meta(description="Why it failed, or was not saved.")] = None


class JudgeTask(msgspec.Struct, frozen=True):
    """How to judge a test set, and what to save."""

    file: ClassVar[str] = "set.json"
    name: str
    iterations: int = 1
    rubric: str | None = None
    save: bool = True
    save_text: bool = False
    history: str | None = None

    def waiting(self, job_id: str, size: int) -> JudgeJob:  # noqa: ARG002
        return JudgeJob(job_id, WAITING, self.name)

    def run(self, folder: JobFolder[Any]) -> dict[str, Any]:
        counts = asyncio.run(self._judge(folder))
        return counts | (self._save(folder) if self.save else {})

    async def _judge(self, folder: JobFolder[Any]) -> dict[str, Any]:
        from synthesis.judge import EvaluationConfig, load_rubric, load_test_set, run_evaluation

        rubric = load_rubric(self.rubric) if self.rubric else None
        config = EvaluationConfig(output_dir=RESULTS, root=folder.path, iterations=self.iterations, rubric=rubric)
        cases = load_test_set(folder.path / self.file)
        folder.change(total=len(cases) * self.iterations)
        running = asyncio.ensure_future(run_evaluation(cases, config, observer=lambda progress: note(progress)))

        def note(progress: "Progress") -> None:
            if folder.is_cancelled:
                running.cancel()
            else:
                folder.note_progress(judged=progress.done, failed=progress.failed)

        iterations = (await running).results.iterations
        judged = sum(len(iteration.judged) for iteration in iterations)
        return {"judged": judged, "failed": sum(len(iteration.errors) for iteration in iterations)}

    def _save(self, folder: JobFolder[Any]) -> dict[str, Any]:
        """Save it in the history. If that fails, the results can still be read while the server runs."""
        from synthesis.history import Provenance, open_history

        try:
            with open_history(self.history) as history:
                known = Provenance(with_text=self.save_text, name=self.name)
                return {"run_id": history.add_judged(folder.path / RESULTS, known)}
        except SynthesisError as error:
            return {"error": _detail("not_saved", error, folder.path)}

    def failure(self, error: SynthesisError, folder: JobFolder[Any]) -> ErrorDetail:
        return _detail("invalid_set", error, folder.path)


def _detail(code: str, error: SynthesisError, folder: Path) -> ErrorDetail:
    """The error without paths of this machine."""
    return ErrorDetail(
        code, *(spelled_out(text.replace(f"{folder}/", "")) for text in (error.message, error.hint or ""))
    )


def spelled_out(text: str) -> str:
    """Escape what is not valid UTF-8, since JSON cannot hold it."""
    return text.encode("utf-8", "backslashreplace").decode()
