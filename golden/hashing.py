"""Run the jobs, take out what must differ, and compare hashes with the recorded ones."""

import hashlib
import json
import platform
import re
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from golden.doors import Job, Said, Wanted, jobs, own_folder, rules_in_force
from golden.inputs import ROOT, prepare

RECORDED = Path(__file__).with_name("hashes.json")
VERSION = metadata.version("synthesis-eval").encode()
RULES_ENTRY = "rules/hash"
VERSIONED = ("click", "fastapi", "pyarrow", "pydantic", "starlette")
PROGRESS = re.compile(rb"^.* (so far|left)\n", re.M)  # what a slow machine says every ten seconds
TIME = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?")


def said_by(chosen: Iterable[Job], wanted: Wanted, workers: int = 2) -> Said:
    """What the chosen jobs say, by the name of the entry; each runs in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="golden-") as base, ThreadPoolExecutor(workers) as pool:
        inputs = Path(base) / "inputs"
        prepare(inputs)
        rules = rules_in_force(own_folder(inputs, Path(base) / "rules"))

        def opened(job: Job) -> Said:
            folder = own_folder(inputs, Path(base) / job.entries.replace("/", "-"))
            told = job.open(folder, wanted)
            return {name: _plain(name, raw, folder, rules) for name, raw in told.items() if wanted(name)}

        return {name: raw for part in pool.map(opened, chosen) for name, raw in part.items()}


def _plain(name: str, raw: bytes, folder: Path, rules: bytes) -> bytes:
    """Without what must differ: paths, times, progress, the version, the hash of the rules outside its own entry."""
    known = {str(folder).encode(): b"FOLDER", str(ROOT).encode(): b"ROOT", VERSION: b"VERSION"}
    if name != RULES_ENTRY:
        known[rules] = b"RULES"
    for given, replacement in known.items():
        raw = raw.replace(given, replacement)
    if "console" in name:
        raw = PROGRESS.sub(b"", raw)
    return TIME.sub(b"TIME", raw)


def hashed(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:16]


def versions() -> dict[str, str]:
    """Of what shows in help, signatures, tables and OpenAPI."""
    own = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in VERSIONED:
        try:
            own[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            own[name] = "none"
    return own


def record(said: Said, kept: dict[str, str]) -> None:
    """Write the hashes of what was said beside those that are kept, which must be of the same packages."""
    if kept and RECORDED.exists() and json.loads(RECORDED.read_bytes())["versions"] != versions():
        raise SystemExit("recorded with other packages: run `make golden` for all entries")
    hashes = kept | {name: hashed(raw) for name, raw in said.items()}
    content = {"versions": versions(), "hashes": dict(sorted(hashes.items()))}
    RECORDED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def recorded() -> dict[str, str]:
    return dict(json.loads(RECORDED.read_bytes())["hashes"]) if RECORDED.exists() else {}


def comparable(job: Job) -> bool:
    """Whether the packages that show in what the job says are those that it was recorded with."""
    then, now = json.loads(RECORDED.read_bytes())["versions"], versions()
    return all(then.get(name) == now[name] for name in job.needs)


def differences(said: Said, expected: dict[str, str]) -> list[str]:
    found = []
    for name in sorted(said.keys() | expected.keys()):
        if name not in said:
            found.append(f"{name}: missing")
        elif name not in expected:
            found.append(f"{name}: new")
        elif hashed(said[name]) != expected[name]:
            found.append(f"{name}: differs")
    return found


def of_jobs(chosen: Iterable[Job], names: Iterable[str]) -> set[str]:
    """Those names that belong to the chosen jobs."""
    begins = tuple(job.entries for job in chosen)
    return {name for name in names if name.startswith(begins)}


def share(name: str, parts: int) -> int:
    """A number below `parts` that depends on the name alone."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % parts


def begun_with(prefix: str) -> tuple[list[Job], Wanted]:
    """The jobs that say an entry, or entries that begin so."""
    chosen = [job for job in jobs() if job.entries.startswith(prefix) or prefix.startswith(job.entries)]
    return chosen, lambda name: name.startswith(prefix)
