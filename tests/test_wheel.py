"""A wheel, installed into an empty environment and run from an empty folder, has everything it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_a_wheel_works_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("synthesis_eval-*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "cache"))
    done = run(tmp_path / "venv" / "bin" / "synthesis", cwd=empty)
    assert not (tmp_path / "cache").exists()  # all that the first run needs is prepared
    assert "26 cases: 15 passed, 10 failed, 1 not assessed" in done.stdout
    report = json.loads((empty / "out" / "report.json").read_text())
    assert report["input"]["files"] == ["bundled:data/evals.jsonl"]
    assert str(tmp_path) not in (empty / "out" / "report.json").read_text()
    for command in (["schema", "case"], ["schema", "report"], ["rules", "test"]):
        run(python, "-m", "synthesis", *command, cwd=empty)
    typed = run(python, "-c", "import synthesis, pathlib; print(pathlib.Path(synthesis.__file__).parent)", cwd=empty)
    package = Path(typed.stdout.strip())
    assert (package / "py.typed").is_file()
    for part in ("templates/base.html", "static/pages.css", "static/try.js", "measured.json"):
        assert (package / "server" / part).is_file()
