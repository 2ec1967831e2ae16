"""The promises of SECURITY.md: the table names tests that exist, and nothing opens a connection unasked."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import row, write_jsonl

ROOT = Path(__file__).parent.parent
# Ends the process at the first attempt to reach anything, or to ask for an address by name.
WATCHED = """
import os, sys
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(2, f"NETWORK: {event} {args[1:]}".encode())
        os._exit(99)
sys.addaudithook(watch)
from synthesis.cli.main import run
run(sys.argv[1:])
"""
SAMPLE = {"queryLogId": "a", "question": "Who?", "answer": "It was Ada.", "context": ["Ada wrote the first program."]}


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "cases.jsonl", "--format", "html"),
        ("eval", "cases.jsonl", "--save", "--workers", "2"),
        ("rules", "list"),
        ("judge", "run", "set.json"),
    ],
    ids=" ".join,
)
def test_nothing_is_reached_unless_it_is_asked_for(tmp_path: Path, command: tuple[str, ...]) -> None:
    write_jsonl(tmp_path / "cases.jsonl", [row(), row(id="T-2", assistant="You should relax.")])
    (tmp_path / "set.json").write_text(json.dumps([SAMPLE]))
    collector = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "otlp"}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *command],
        cwd=tmp_path,
        env={**os.environ, **collector},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in {0, 2, 3}, done.stderr
    assert "NETWORK" not in done.stderr


def test_every_promise_names_tests_that_exist() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for line in rows[2:]:
        named = re.findall(r"`(tests/[^`]+)`", line)
        assert named, line
        assert all((ROOT / name).is_file() for name in named), line
