"""An audit from the paths that somebody names to the document. `verify` comes the same way."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from synthesis.audit.document import document_of
from synthesis.audit.options import AuditOptions
from synthesis.audit.run import Audited, audit_files
from synthesis.audit.stored import LOG, REPORT, TABLE, audit_report, audit_stored, kind_of, kind_of_all
from synthesis.cases.blocks import CHUNK
from synthesis.checks.registry import checks
from synthesis.engines.base import LOCAL
from synthesis.errors import InputError, OptionError, Place
from synthesis.report.reading import StoredReport
from synthesis.runner.spec import InputFile, RunSpec
from synthesis.runner.stream import Progress, available_cores

ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".pq")
_LOGS = "Leave them out, or audit the logs."
_NO_LOG = "If this file is not a log, move it out of the folder, or name the logs one by one."


class HowToRead(msgspec.Struct, frozen=True, kw_only=True):
    """How logs are read and evaluated, as far as a figure depends on it."""

    checks: tuple[str, ...] = ()  # none: all of them
    map: dict[str, str] = {}
    sort: bool = False  # rows by their conversation, before they are joined
    profile: str | None = None
    language: str | None = None
    rules: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work is done, which changes no figure."""

    engine: str = LOCAL
    address: str | None = None
    workers: int = 0  # 0: the cores available


class Audit(msgspec.Struct, frozen=True):
    """What came of it: the document, and the counts that a sample is drawn from."""

    document: dict[str, Any]
    audited: Audited


def audit(
    paths: Sequence[Path],
    how: HowToRead,
    options: AuditOptions,
    where: Where | None = None,
    progress: Progress | None = None,
    sampled: Any = None,
) -> Audit:
    """Read logs or stored results, and make the document."""
    folders = [path for path in paths if path.is_dir()]
    paths = [file for path in paths for file in _expanded(path)]
    _require_once(paths)
    kind = kind_of_all(paths)
    require_usable(kind, how, options)
    if kind == LOG:
        with _files_of(folders):
            audited = audit_files(_spec(paths, how, where or Where()), options, progress)
    else:
        audited = audit_stored(paths, kind, how.map, options)
    told = {"input": {"files": list(_files(paths))}, "options": msgspec.to_builtins(how)}
    return Audit(document_of(audited, options, told, sampled), audited)


def require_usable(kind: str, how: HowToRead, options: AuditOptions) -> None:
    """Refuse options that would change nothing: a document must not say that it was made with them."""
    if options.sample is not None and kind == TABLE:
        raise OptionError("a table of verdicts holds no texts to label", hint="Draw the sample from the logs.")
    given = [name for name in how.__struct_fields__ if getattr(how, name) != getattr(HowToRead(), name)]
    given += ["by"] if options.by else []
    unread = [] if kind == LOG else [name for name in given if not (kind == TABLE and name in ("map", "by"))]
    if unread:
        names = ", ".join(f"--{'lang' if name == 'language' else name}" for name in unread)
        raise OptionError(f"{names}: stored results were made already, and hold no columns of the log", hint=_LOGS)


@contextmanager
def _files_of(folders: Sequence[Path]) -> Iterator[None]:
    """What is wrong with a file of a folder may be that it is no log."""
    try:
        yield
    except InputError as error:
        at = error.place.file if error.place else error.message
        if any(at.startswith(f"{folder}{os.sep}") for folder in folders):
            error.hint = f"{error.hint or ''} {_NO_LOG}".strip()
        raise


def audit_saved(report: StoredReport, how: HowToRead, options: AuditOptions) -> Audit:
    """The same of a run that the history holds."""
    require_usable(REPORT, how, options)
    audited = audit_report([report], options)
    told = {"options": msgspec.to_builtins(how)}
    return Audit(document_of(audited, options, told), audited)


def _spec(paths: Iterable[Path], how: HowToRead, where: Where) -> RunSpec:
    return RunSpec(
        inputs=tuple(map(InputFile.of, paths)),
        checks=how.checks or tuple(checks()),
        columns=how.map,
        sort=how.sort,
        profile=how.profile,
        language=how.language,
        rules=how.rules,
        disabled=how.disable,
        on_bad_row="error",
        keep_text=False,
        engine=where.engine,
        address=where.address,
        workers=where.workers or available_cores(),
    )


def _expanded(path: Path) -> list[Path]:
    """A file or a table of verdicts; of a folder with logs, all of them but those of a day on which nobody wrote."""
    if not path.exists():
        raise InputError("there is no such file", place=Place(str(path)), hint="Check the path.")
    if not path.is_dir() or kind_of(path) == TABLE:
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.lower().endswith(ENDINGS) and file.stat().st_size)
    if not files:
        raise OptionError(f"the folder {path} holds no logs", hint=f"A log ends in {', '.join(ENDINGS)}.")
    return files


def _require_once(paths: Sequence[Path]) -> None:
    named = Counter(path.resolve() for path in paths)
    twice = next((path for path in paths if named[path.resolve()] > 1), None)
    if twice is not None:
        raise OptionError(f"{twice} is named twice, and would be counted twice", hint="Name each file or folder once.")


def _files(paths: Iterable[Path]) -> Iterable[dict[str, Any]]:
    """Each file by number, size and hash; its name may tell about people, so that it is left out."""
    parts = (file for path in paths for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path]))
    for number, file in enumerate(parts, start=1):
        digest = hashlib.sha256()
        with file.open("rb") as content:
            while chunk := content.read(CHUNK):
                digest.update(chunk)
        yield {"number": number, "bytes": file.stat().st_size, "sha256": digest.hexdigest()}
