"""A report has the same bytes whoever read the texts, with any number of workers."""

import os
import subprocess
import sys
from pathlib import Path

from both_readers import needs_library

from synthesis.io import CASES


def report(out: Path, *, native: bool, workers: int) -> bytes:
    command = [sys.executable, "-m", "synthesis", f"--cases={CASES}", f"--out={out}", "--quiet"]
    command += ["--fail-on", "1000000", f"--workers={workers}"]
    environment = {**os.environ, "SYNTHESIS_NATIVE": "1" if native else "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@needs_library
def test_the_same_bytes_from_both_readers_and_for_any_workers(tmp_path: Path) -> None:
    first = report(tmp_path / "a.json", native=True, workers=1)
    assert first == report(tmp_path / "b.json", native=False, workers=1)
    assert first == report(tmp_path / "c.json", native=True, workers=2)
