"""Several processes and threads at once: nobody loses a run, nobody sees half of one."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from report_samples import write
from run_samples import everything_in, many_results, sample_report, stored

from synthesis.history import open_history
from synthesis.history.store import History

SAVE_SEVERAL = """
import sys
from synthesis.history import open_history
with open_history(sys.argv[1]) as history:
    for _ in range(int(sys.argv[3])):
        print(history.add_report(sys.argv[2]))
"""
SAVE_AND_WAIT = """
import sys, time
from synthesis.history import open_history
from synthesis.report.stored import StoredReport, open_report

def endless(results):
    for number, result in enumerate(results):
        if number == 1100:
            print("halfway", flush=True)
            time.sleep(600)
        yield result

report = open_report(sys.argv[2])
slow = StoredReport(report.header, report.summary, lambda: endless(report.results()))
open_history(sys.argv[1]).add_report(slow)
"""


def begin(script: str, *args: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_save_at_the_same_time_all_succeed(place: str, tmp_path: Path) -> None:
    report = write(sample_report(), tmp_path / "report.json")
    writers = [begin(SAVE_SEVERAL, place, report, 10) for _ in range(3)]
    printed = [writer.communicate() for writer in writers]
    assert [err for _, err in printed] == [""] * 3
    saved = {run_id for out, _ in printed for run_id in out.split()}
    assert len(saved) == 30
    with open_history(place) as history:
        assert {run.id for run in history.runs()} == saved
        assert {history.outcomes(run_id).total for run_id in saved} == {5}


def test_a_process_that_dies_midway_leaves_nothing_and_nobody_waits(place: str, tmp_path: Path) -> None:
    content = many_results(1500)
    whole = {
        **content.header,
        "summary": content.summary,
        "failures": [],
        "results": [one.to_dict() for one in content.results()],
    }
    report = write(whole, tmp_path / "report.json")
    open_history(place).close()
    writer = begin(SAVE_AND_WAIT, place, report)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "halfway\n"
    with open_history(place) as history:
        assert history.runs() == []  # readers neither wait nor see it
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert everything_in(place).strip() == ""
    with open_history(place) as history:
        history.add_report(stored())


def test_threads_share_one_history(history: History) -> None:
    def save_and_look(number: int) -> int:
        run_id = history.add_report(stored())
        history.tag(run_id, add=[f"thread-{number}"])
        return history.outcomes(run_id).total

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(save_and_look, range(24))) == [5] * 24
    assert len(history.runs()) == 24
    assert {tag for run in history.runs() for tag in run.tags} == {f"thread-{number}" for number in range(24)}
