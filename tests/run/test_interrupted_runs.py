"""Real processes and real signals: a run that is interrupted or killed ends at once, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl
from table_samples import MAP, content_of, rows, write_parquet

from synthesis.io import held, host

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and locks of POSIX"),
]
PATIENCE = 180  # seconds for a loaded machine to come to the point where a test interrupts


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A run in a process group of its own, as a shell starts it."""
    command = [sys.executable, "-m", "synthesis", "--fail-on", "999999", *options]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)


def members(group: int) -> list[str]:
    """The processes of a group that are alive, but for multiprocessing's tracker, which ends a little later."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pgid,stat,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()[1:]]
    alive = [args for pgid, stat, args in lines if int(pgid) == group and stat[0] != "Z"]
    # One in brackets has given its memory back and is about to be gone.
    return [args for args in alive if "resource_tracker" not in args and not args.startswith("[")]


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".*"))


def long_log(folder: Path) -> None:
    write_parquet(folder / "log.parquet", rows(5000), group=50)


def table_run(folder: Path, name: str = "verdicts") -> "subprocess.Popen[str]":
    options = ("--cases", "log.parquet", "--map", MAP, "--workers", "2", "-q", "--out-table", name)
    return start(folder, *options)


def has_parts(folder: Path) -> Callable[[], bool]:
    return lambda: len([*folder.glob("verdicts/_synthesis/parts/*.json")]) >= 3


def long_cases(folder: Path) -> None:
    """Some seconds of work: a run of theirs is still at it when a signal comes."""
    write_jsonl(folder / "cases.jsonl", [row(id=f"T-{n}", user="I lost my job. " * 40) for n in range(60_000)])


def case_run(folder: Path, workers: str) -> "subprocess.Popen[str]":
    return start(folder, "--cases", "cases.jsonl", "--workers", workers, "-q")


def has_begun(folder: Path) -> Callable[[], bool]:
    return lambda: len([*folder.glob("out/.synthesis-*/lock")]) == 1


@pytest.mark.parametrize(("number", "to_all"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_an_interrupted_table_ends_at_once_and_leaves_no_stray(tmp_path: Path, number: int, to_all: bool) -> None:
    long_log(tmp_path)
    process = table_run(tmp_path)
    wait_for(has_parts(tmp_path), process)
    begun = time.monotonic()
    (os.killpg if to_all else os.kill)(process.pid, number)
    _, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begun < 2
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert "Finished parts are kept in verdicts: the same command resumes there." in err
    assert members(process.pid) == []
    assert hidden(tmp_path) == []
    assert not (tmp_path / "verdicts/_SUCCESS").exists()


def test_a_table_that_was_interrupted_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    write_parquet(tmp_path / "log.parquet", rows(1500), group=50)
    process = table_run(tmp_path)
    wait_for(has_parts(tmp_path), process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    for name in ("verdicts", "undisturbed"):
        assert table_run(tmp_path, name).wait(PATIENCE) == 0
    assert content_of(tmp_path / "verdicts") == content_of(tmp_path / "undisturbed")


@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGTERM), ("2", signal.SIGINT)])
def test_an_interrupted_run_says_what_it_drops_and_keeps_the_report_of_before(
    tmp_path: Path, workers: str, number: int
) -> None:
    long_cases(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.json").write_text("{}")
    process = case_run(tmp_path, workers)
    wait_for(has_begun(tmp_path), process)
    begun = time.monotonic()
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - begun < 2
    assert process.returncode == 130
    assert err.startswith("Interrupted: the results of ")
    assert err.endswith(" cases are dropped and no report was written.\n")
    assert os.listdir(tmp_path / "out") == ["report.json"]
    assert (tmp_path / "out/report.json").read_text() == "{}"


def test_impatience_gives_no_traceback(tmp_path: Path) -> None:
    """Ctrl-C many times, at moments when the run is already on its way out."""
    long_log(tmp_path)
    process = table_run(tmp_path)
    wait_for(has_parts(tmp_path), process)
    for _ in range(20):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.01)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.count("Interrupted") == 1
    wait_for_none(process.pid)


def wait_for_none(group: int, seconds: float = 2) -> None:
    until = time.monotonic() + seconds
    while members(group) and time.monotonic() < until:
        time.sleep(0.05)
    assert members(group) == []


@pytest.mark.parametrize("kind", ["table", "report"])
def test_workers_end_with_a_killed_run_and_the_next_run_removes_what_it_left(tmp_path: Path, kind: str) -> None:
    (long_log if kind == "table" else long_cases)(tmp_path)
    process = table_run(tmp_path) if kind == "table" else case_run(tmp_path, "2")
    wait_for(has_parts(tmp_path) if kind == "table" else has_begun(tmp_path), process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_none(process.pid)
    assert [name for name in hidden(tmp_path) if name.startswith(f".synthesis-{host()}-")]
    write_jsonl(tmp_path / "few.jsonl", [row()])
    table = tmp_path / "verdicts"
    stray = table / f".part-0123456789abcdef-000000.parquet.{host()}.0123456789ab.part"
    if kind == "table":
        stray.write_bytes(b"half")  # a kill rarely comes while a part is half written
        table_run(tmp_path).wait(600)
    else:
        assert start(tmp_path, "--cases", "few.jsonl", "-q").wait(PATIENCE) == 0
    assert hidden(tmp_path) == []


def test_what_another_run_holds_or_another_host_left_is_kept(cli: CommandLine) -> None:
    out = cli.folder / "out"
    for name in (f".synthesis-{host()}-0123456789ab", ".synthesis-elsewhere-0123456789ab", ".synthesis-a1b2c3d4"):
        (out / name).mkdir(parents=True)
    parts = [f".report.json.{host()}.0123456789ab.part", ".report.json.elsewhere.0123456789ab.part"]
    for name in [*parts, ".notes.part", f".free.json.{host()}.0123456789ab.part"]:
        (out / name).write_text("x")
    write_jsonl(cli.folder / "cases.jsonl", [row()])
    with held(out / f".synthesis-{host()}-0123456789ab" / "lock"), held(out / parts[0]):
        outcome = cli("--cases", "cases.jsonl")
    assert outcome.code == 0
    kept = [".notes.part", ".synthesis-a1b2c3d4", ".synthesis-elsewhere-0123456789ab", *parts]
    assert hidden(out) == sorted([*kept, f".synthesis-{host()}-0123456789ab"])
    named = [line.split()[1] for line in outcome.err.splitlines() if line.startswith("note: ")]
    assert named == [
        "out/.report.json.elsewhere.0123456789ab.part",
        "out/.synthesis-a1b2c3d4",
        "out/.synthesis-elsewhere-0123456789ab",
    ]
    assert cli("--cases", "cases.jsonl").code == 0
    assert not (out / f".synthesis-{host()}-0123456789ab").exists()
    assert not (out / parts[0]).exists()
