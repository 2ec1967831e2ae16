"""What was paid for reaches the disk, not only the operating system: seen in a real process, by its calls of fsync."""

import json
import subprocess
import sys
from pathlib import Path

from running import environment, sample_cases, write_set
from server import JudgeServer

COUNT = 6
# Each fsync of the journal takes a while and then notes how many calls and verdicts the journal holds.
WATCHED = """
import json, os, sys, time
from synthesis.cli.main import run

sync = os.fsync

def watched(descriptor):
    path = os.readlink(f"/proc/self/fd/{descriptor}")
    if path.endswith("journal.jsonl"):
        content = open(path, "rb").read()
        verdicts = content.count(b'"t":"verdict"')
        time.sleep(0.05)
        calls = open(path, "rb").read().count(b'"t":"call"')
        with open("synced.jsonl", "a") as log:
            print(json.dumps([verdicts, calls]), file=log)
    sync(descriptor)

os.fsync = watched
run(sys.argv[1:])
"""


def synced(folder: Path, concurrency: int) -> list[list[int]]:
    """The verdicts that each fsync of the journal brought to the disk, and the calls that were begun when it ended."""
    cases = write_set(folder / "set.json", sample_cases(COUNT))
    with JudgeServer() as server:
        options = ["--judge-provider", "openai", "--base-url", server.url, "--concurrency", concurrency]
        command = [sys.executable, "-c", WATCHED, "judge", "run", cases, *options, "--root", "runs"]
        subprocess.run([str(part) for part in command], cwd=folder, env=environment(), check=True, capture_output=True)
    assert (folder / "synced.jsonl").exists(), "the journal was never synced"
    return [json.loads(line) for line in (folder / "synced.jsonl").read_text().splitlines()]


def test_every_verdict_is_on_the_disk_when_the_run_ends(tmp_path: Path) -> None:
    assert synced(tmp_path, 4)[-1][0] == COUNT


def test_alone_the_next_call_is_sent_when_the_last_verdict_is_on_the_disk(tmp_path: Path) -> None:
    assert [pair for pair in synced(tmp_path, 1) if pair[0]] == [[number, number] for number in range(1, COUNT + 1)]
