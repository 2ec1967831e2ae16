"""Makes an audit from the paths that are given, writes it, and compares it with an earlier one."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from synthesis.audit.counting import AuditCounts, AuditOptions, audit_files
from synthesis.audit.document import FORMAT_VERSION, LEAST_SHOWN, document_of
from synthesis.audit.drawing import render_html, render_markdown
from synthesis.audit.handover import EarlierAudit, document_hash, earlier_audit, without_small
from synthesis.audit.stored import LOG, REPORT, TABLE, audit_report, audit_stored, kind_of, kind_of_all
from synthesis.checks.registry import checks
from synthesis.errors import InputError, OptionError, OutputError, Place
from synthesis.io import replaced
from synthesis.model.report import Report
from synthesis.read.inputs import Input
from synthesis.read.lines import CHUNK
from synthesis.report.stored import StoredReport, write_report
from synthesis.run.engines import LOCAL
from synthesis.run.files import Progress, available_cores
from synthesis.run.spec import RunSpec
from synthesis.settings import LEARNED

ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".pq")
_LOGS = "Leave them out, or audit the logs."
_NOT_A_LOG = "If this file is not a log, move it out of the folder, or name the logs one by one."


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How logs are read and evaluated: every figure depends on it."""

    checks: tuple[str, ...] = ()  # empty: all
    map: dict[str, str] = {}
    sort: bool = False  # rows by conversation, before they are joined
    profile: str | None = None
    reader: str = LEARNED
    language: str | None = None
    rules: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work is done: no figure depends on it."""

    engine: str = LOCAL
    address: str | None = None
    workers: int = 0  # 0: the cores available


class Audit(msgspec.Struct, frozen=True):
    """The document, and the counts that it shows and a sample is drawn from."""

    document: dict[str, Any]
    counts: AuditCounts


def audit(
    paths: Sequence[Path],
    reading: ReadOptions,
    options: AuditOptions,
    engine: EngineOptions | None = None,
    progress: Progress | None = None,
    own_labels: Mapping[str, Any] | None = None,
) -> Audit:
    """Read logs or stored results, and make the document."""
    folders = [path for path in paths if path.is_dir()]
    paths = [file for path in paths for file in _expanded(path)]
    _require_once(paths)
    kind = kind_of_all(paths)
    require_usable(kind, reading, options)
    if kind == LOG:
        with _files_of(folders):
            counts = audit_files(_spec(paths, reading, engine or EngineOptions()), options, progress)
    else:
        counts = audit_stored(paths, kind, reading.map, options)
    call = {"input": {"files": list(_files(paths))}, "options": msgspec.to_builtins(reading)}
    return Audit(document_of(counts, options, call, own_labels), counts)


def require_usable(kind: str, reading: ReadOptions, options: AuditOptions) -> None:
    """Refuse options without an effect: the document would claim that it was made with them."""
    if options.sample is not None and kind == TABLE:
        raise OptionError("a table of verdicts holds no texts to label", hint="Draw the sample from the logs.")
    given = [name for name in reading.__struct_fields__ if getattr(reading, name) != getattr(ReadOptions(), name)]
    given += ["by"] if options.by else []
    unread = [] if kind == LOG else [name for name in given if not (kind == TABLE and name in ("map", "by"))]
    if unread:
        names = ", ".join(f"--{'lang' if name == 'language' else name}" for name in unread)
        raise OptionError(f"{names}: stored results are already evaluated and hold no columns of the log", hint=_LOGS)


@contextmanager
def _files_of(folders: Sequence[Path]) -> Iterator[None]:
    """A file of a folder that cannot be read may not be a log at all: the error says so."""
    try:
        yield
    except InputError as error:
        at = error.place.file if error.place else error.message
        if any(at.startswith(f"{folder}{os.sep}") for folder in folders):
            error.hint = f"{error.hint or ''} {_NOT_A_LOG}".strip()
        raise


def audit_saved(report: StoredReport, reading: ReadOptions, options: AuditOptions) -> Audit:
    """The same for a run of the history."""
    require_usable(REPORT, reading, options)
    counts = audit_report([report], options)
    return Audit(document_of(counts, options, {"options": msgspec.to_builtins(reading)}), counts)


def _spec(paths: Iterable[Path], reading: ReadOptions, engine: EngineOptions) -> RunSpec:
    return RunSpec(
        inputs=tuple(map(Input.of, paths)),
        checks=reading.checks or tuple(checks()),
        columns=reading.map,
        sort=reading.sort,
        profile=reading.profile,
        reader=reading.reader,
        language=reading.language,
        rules=reading.rules,
        disabled=reading.disable,
        on_bad_row="error",
        keep_text=False,
        engine=engine.engine,
        address=engine.address,
        workers=engine.workers or available_cores(),
    )


def _expanded(path: Path) -> list[Path]:
    """A file or a table of verdicts as it is; of a folder, all logs that are not empty."""
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
    """Each file by number, size and hash; its name is left out, since it may identify people."""
    parts = (file for path in paths for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path]))
    for number, file in enumerate(parts, start=1):
        digest = hashlib.sha256()
        with file.open("rb") as content:
            while chunk := content.read(CHUNK):
                digest.update(chunk)
        yield {"number": number, "bytes": file.stat().st_size, "sha256": digest.hexdigest()}


# Verifying: the same files, rules, version and options give the same figures.


MOST = 20  # differences that are named
_HINT = "Give the audit.json that `synthesis audit` wrote."
_HASHED_LOGS = ("input", "sha256")
_OTHER_LOGS = "These are not the logs that the document was made from, or not all of them: every figure may differ."
_CHANGED = "The document was changed after it was made: its content does not have the hash that it shows."
_NAMES = ("measure", "value", "check", "first")
_PLACES = (_HASHED_LOGS, ("rules", "hash"), ("tool", "version"), ("profile",), ("reader", "name"))


def load_audit(path: Path, formats: Sequence[int] = (FORMAT_VERSION,)) -> dict[str, Any]:
    """The document in a file; InputError says why it is not one."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=Place(str(path)), hint="Check the path.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not valid JSON: {error}", place=Place(str(path)), hint=_HINT) from None
    if not isinstance(found, dict) or not {"format_version", "options", "checks", "crisis"} <= found.keys():
        raise InputError("is not an audit", place=Place(str(path)), hint=_HINT)
    if found["format_version"] not in formats:
        raise InputError(
            f"is an audit of format {found['format_version']}; this version compares format {FORMAT_VERSION}",
            place=Place(str(path)),
            hint="Verify it with the version that made it (`tool.version`), or make the audit again.",
        )
    return found


def load_earlier(path: Path, *, all_cells: bool = False) -> EarlierAudit:
    """The figures of an earlier audit, of this format or of the one before; InputError says why there are none.

    It may have been made with --all-cells: this document hides its small counts too, unless asked not to.
    """
    document = load_audit(path, (FORMAT_VERSION - 1, FORMAT_VERSION))
    try:
        found = earlier_audit(document)
    except (KeyError, IndexError, TypeError, msgspec.ValidationError) as error:
        raise InputError(f"is not a whole audit: {error}", place=Place(str(path)), hint=_HINT) from None
    return found if all_cells else without_small(found, LEAST_SHOWN)


def differences(stored: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """What differs, conditions first: other rules or another input explain every other difference."""
    # The hash of the document follows from the rest; `changed_since_made` tells whether it fits.
    content, again = ({key: value for key, value in each.items() if key != "sha256"} for each in (stored, made))
    found = list(_differences(content, again, ()))
    leading = [each for each in found if each[0] in _PLACES]
    rest = [each for each in found if each[0] not in _PLACES]
    lines = [f"{'.'.join(place)}: {before} in the document, {now} now" for place, before, now in (*leading, *rest)]
    return [_OTHER_LOGS, *lines] if any(place == _HASHED_LOGS for place, _, _ in found) else lines


def changed_since_made(stored: Mapping[str, Any]) -> list[str]:
    """A line if a document is not the one whose hash it shows."""
    return [] if stored.get("sha256") == document_hash(stored) else [_CHANGED]


def _differences(one: Any, other: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from _differences(one.get(key), other.get(key), (*place, str(key)))
    elif _is_list(one) and _is_list(other):
        yield from _differences(_named(one), _named(other), place)
    elif one != other:
        yield place, _short(one), _short(other)


def _named(items: Sequence[Any]) -> dict[str, Any]:
    """The items by their own names, so that a difference says which one it is about; else by their numbers."""
    names = [next((str(item[key]) for key in _NAMES if key in item), "") for item in items if isinstance(item, Mapping)]
    is_named = len(set(names)) == len(items) and "" not in names
    return dict(zip(names if is_named else map(str, range(len(items))), items, strict=True))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:59]}…"


# `audit.json`, `audit.html` and `audit.md` in a folder.


JSON, HTML, MARKDOWN, SAMPLE = "audit.json", "audit.html", "audit.md", "sample.json"


def require_folder(folder: Path) -> None:
    """Refuse an output path that cannot be used before hours of reading; OutputError says why."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        reason = "this one is not writable" if there.is_dir() else "this is a file"
        raise OutputError(
            f"the documents need a folder: {reason}", place=Place(str(there)), hint="Choose another path with --out."
        )


def write_audit(document: Mapping[str, Any], folder: Path, sample: Report | None = None) -> list[Path]:
    """Write the three documents and the sample, each of them atomically."""
    texts = {
        JSON: msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n",
        HTML: "".join(render_html(document)),
        MARKDOWN: "".join(render_markdown(document)),
    }
    for name, text in texts.items():
        with replaced(folder / name) as file:
            file.write(text.encode())
    if sample is not None:
        write_report(sample, folder / SAMPLE)
    return [folder / name for name in (*texts, *([SAMPLE] if sample else ()))]
