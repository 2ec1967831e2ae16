"""A worker that is killed in mid-run costs no case and doubles none: real clusters, a real signal."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
from engine_runs import Run, descendants
from table_samples import MAP, content_of, rows, write_parquet

pytest.importorskip("ray", reason="Ray is not installed (make test-engines installs it)")
pytest.importorskip("pyspark", reason="Spark is not installed (make test-engines installs it)")
pytestmark = pytest.mark.engines


def ray_worker(driver: int) -> int | None:
    """A process of the cluster that is at work."""
    return next((pid for pid, name in descendants(driver) if name.startswith("ray::_answer")), None)


def spark_worker(driver: int) -> int | None:
    """A Python process of an executor: one that the daemon has forked."""
    daemons = [pid for pid, name in descendants(driver) if "pyspark.daemon" in name]
    return next((pid for daemon in daemons for pid, name in descendants(daemon)), None)


@pytest.mark.parametrize(("engine", "find"), [("ray", ray_worker), ("spark", spark_worker)])
def test_the_killed_worker_s_work_is_done_again_and_once(
    run: Run, engine: str, find: Callable[[int], int | None]
) -> None:
    options = _prepared(run)
    assert run("local", *options, "local").returncode == 0
    process = run.start(engine, *options, engine)
    victim = _at_work(run, process, engine, find)
    os.kill(victim, signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert content_of(run.folder / engine) == content_of(run.folder / "local")


@pytest.mark.parametrize(("engine", "find"), [("ray", ray_worker), ("spark", spark_worker)])
def test_a_driver_that_is_killed_can_be_started_again(run: Run, engine: str, find: Callable[[int], int | None]) -> None:
    options = _prepared(run)
    assert run("local", *options, "local").returncode == 0
    process = run.start(engine, *options, engine)
    _at_work(run, process, engine, find)
    family = [pid for pid, _ in descendants(process.pid)]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _wait_for_end(family)
    assert not (run.folder / engine / "_SUCCESS").exists()
    kept = {path: path.stat().st_mtime_ns for path in (run.folder / engine / "_synthesis/parts").iterdir()}
    assert kept
    assert run(engine, *options, engine).returncode == 0
    assert content_of(run.folder / engine) == content_of(run.folder / "local")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def _prepared(run: Run) -> tuple[str, ...]:
    write_parquet(run.folder / "log.parquet", rows(1600), group=40)
    return ("--cases", "log.parquet", "--map", MAP, "--out-table")


def _at_work(run: Run, process: "subprocess.Popen[str]", engine: str, find: Callable[[int], int | None]) -> int:
    """A worker, once the first parts are there and long before the last."""
    while process.poll() is None:
        if len([*(run.folder / engine).glob("part-*.parquet")]) >= 3:
            victim = find(process.pid)
            if victim:
                return victim
        time.sleep(0.01)
    raise AssertionError(f"the run ended before a worker was seen: {process.communicate()}")


def _wait_for_end(family: list[int]) -> None:
    """Those that outlive their driver end by themselves, or are ended, before the next run begins."""
    for _ in range(300):
        family = [pid for pid in family if os.path.exists(f"/proc/{pid}")]
        if not family:
            return
        time.sleep(0.1)
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
