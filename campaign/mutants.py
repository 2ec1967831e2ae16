"""python -m campaign.mutants [--only NAME] [--list]: plants known faults in copies of the tree, to see them caught.

`faults.toml` lists them, each with the tests or the kind of the campaign that must catch it. Exit codes: 0 all are
caught, 2 one survives, cannot be planted, or has a catcher that fails without it.
"""

import argparse
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec

ROOT = Path(__file__).parent.parent
FAULTS = Path(__file__).with_name("faults.toml")
CRATE, LIBRARY = "native", Path("src/synthesis/rules/native/synthesis_native.so")
PLANNED = "campaign "  # begins a catcher that is a kind of the campaign, and not a test
WORKERS = 2
LIMIT = 180.0  # seconds for the catchers of one fault
LIMIT_CLEAN = 900.0  # for all of them without a fault
NOT_COPIED = shutil.ignore_patterns(".*", "out", "site", "dist", "build", "target")
PYTEST = ("-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider")
TESTS_FAILED, CAMPAIGN_FAILED = 1, 2  # exit codes; any other says that nothing was tried
TIMED_OUT = 124
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change to one file that must not go unnoticed: `old`, which is there exactly once, becomes `new`."""

    name: str
    room: str
    breaks: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, ...]

    def plant(self, tree: Path) -> None:
        """Put the fault into a copy; ValueError if its place is no longer there."""
        (tree / self.file).write_text(self.planted(tree), encoding="utf-8")

    def planted(self, tree: Path) -> str:
        """The file with the fault in it."""
        text = (tree / self.file).read_text(encoding="utf-8")
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its text appears {found} times in {self.file}, and must exactly once")
        return text.replace(self.old, self.new)


class Outcome(msgspec.Struct, frozen=True):
    """What became of one fault: who caught it, or else why it counts as a survivor."""

    fault: Fault
    caught_by: str | None
    seconds: float
    otherwise: str = "survived"


def load_faults(path: Path | None = None) -> list[Fault]:
    """The faults of a list, in its order."""
    content = tomllib.loads((path or FAULTS).read_text(encoding="utf-8"))
    return msgspec.convert(content["fault"], list[Fault])


def main(args: Sequence[str] | None = None) -> int:
    known = {fault.name: fault for fault in load_faults()}
    options = _parser(list(known)).parse_args(args)
    faults = [known[name] for name in options.only or known]
    if options.list:
        print("\n".join(f"{fault.name}: {fault.breaks}" for fault in faults))
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as home:
        clean = Path(home, "clean")
        shutil.copytree(ROOT, clean, ignore=NOT_COPIED)
        broken = sorted(_failing_without_a_fault(clean, faults))
        if not broken:
            with ThreadPoolExecutor(WORKERS) as pool:
                outcomes = list(pool.map(lambda fault: _attempt(fault, clean, Path(home)), faults))
    if broken:
        print("\n".join(f"fails without a fault, so it catches nothing: {name}" for name in broken))
        return 2
    print("\n".join(table(outcomes, time.monotonic() - began)))
    return 2 if any(outcome.caught_by is None for outcome in outcomes) else 0


def _parser(names: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaign.mutants", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help="one fault; repeatable")
    parser.add_argument("--list", action="store_true", help="name the faults and what each would break")
    return parser


def _failing_without_a_fault(tree: Path, faults: Iterable[Fault]) -> Iterator[str]:
    catchers = sorted({catcher for fault in faults for catcher in fault.caught_by})
    planned = [catcher for catcher in catchers if catcher.startswith(PLANNED)]
    tests = [catcher for catcher in catchers if catcher not in planned]
    shares = [share for first in range(WORKERS) if (share := tests[first::WORKERS])]
    with ThreadPoolExecutor(WORKERS) as pool:
        for share, (code, text) in zip(
            shares, pool.map(lambda share: _run_tests(tree, share, LIMIT_CLEAN), shares), strict=True
        ):
            named = _FAILED.findall(text)
            yield from named or ([f"{' '.join(share)}\n{text}"] if code else [])
        for kind, (code, _) in zip(planned, pool.map(lambda kind: _run_campaign(tree, kind), planned), strict=True):
            if code:
                yield kind


def _attempt(fault: Fault, clean: Path, home: Path) -> Outcome:
    began = time.monotonic()
    tree = home / fault.name
    shutil.copytree(clean, tree)
    try:
        fault.plant(tree)
        if fault.file.startswith(f"{CRATE}/"):
            _rebuild(tree, home)
        caught_by, otherwise = _caught(fault, tree), "survived"
    except (ValueError, subprocess.SubprocessError) as error:
        caught_by, otherwise = None, str(error)
    shutil.rmtree(tree, ignore_errors=True)
    outcome = Outcome(fault, caught_by, time.monotonic() - began, otherwise)
    print(f"{fault.name}: {outcome.caught_by or outcome.otherwise}", file=sys.stderr, flush=True)
    return outcome


def _rebuild(tree: Path, home: Path) -> None:
    """The compiled reader with the fault in it; a second build begins where the first one ended."""
    command = [
        "cargo",
        "build",
        "--release",
        "--offline",
        "--quiet",
        "--manifest-path",
        str(tree / CRATE / "Cargo.toml"),
    ]
    target = home / f"{tree.name}.target"
    subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=True, timeout=LIMIT)
    (tree / LIBRARY).unlink()
    shutil.copy(target / "release" / "libsynthesis_native.so", tree / LIBRARY)


def _caught(fault: Fault, tree: Path) -> str | None:
    """Who notices: the first test that fails, or a kind of the campaign."""
    tests = [catcher for catcher in fault.caught_by if not catcher.startswith(PLANNED)]
    code, text = _run_tests(tree, ["-x", *tests], LIMIT) if tests else (0, "")
    if code < 0:
        return f"{tests[0]} (ended by {signal.Signals(-code).name})"
    if code == TESTS_FAILED:
        return str(_FAILED.findall(text)[0])
    if code:  # a tree that cannot even be imported, or that hangs, shows nothing about its tests
        raise ValueError(f"the tests could not be run with it (exit code {code}): {text[-500:]}")
    planned = (catcher for catcher in fault.caught_by if catcher not in tests)
    return next((kind for kind in planned if _run_campaign(tree, kind)[0] == CAMPAIGN_FAILED), None)


def _run_tests(tree: Path, nodes: Sequence[str], seconds: float) -> tuple[int, str]:
    return _run(tree, *PYTEST, *nodes, seconds=seconds)


def _run_campaign(tree: Path, kind: str) -> tuple[int, str]:
    return _run(tree, "-m", "campaign", "--only", *kind.removeprefix(PLANNED).split(), seconds=LIMIT)


def _run(tree: Path, *args: str, seconds: float) -> tuple[int, str]:
    """Exit code and output of Python in a copy of the tree; what does not end in time has caught nothing."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "500"}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            [sys.executable, *args], cwd=tree, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.seek(0)
        return code, log.read()


def table(outcomes: Sequence[Outcome], seconds: float) -> list[str]:
    """Markdown, so that it can stand in the documentation as it is."""
    lines = ["| fault | room | caught by | seconds |", "| --- | --- | --- | ---: |"]
    for outcome in outcomes:
        shown = f"**{outcome.otherwise}**" if outcome.caught_by is None else f"`{_short(outcome.caught_by)}`"
        lines.append(f"| `{outcome.fault.name}` | {outcome.fault.room} | {shown} | {outcome.seconds:.0f} |")
    caught = sum(outcome.caught_by is not None for outcome in outcomes)
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    return [*lines, f"\n{caught} of {len(outcomes)} faults caught: {seconds / 60:.0f} minutes; {machine}."]


def _short(catcher: str) -> str:
    """A test without its folder and without the values that it was given."""
    return catcher.rpartition("/")[2].partition("[")[0]


if __name__ == "__main__":
    sys.exit(main())
