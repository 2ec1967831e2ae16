"""A wheel, installed into an empty environment and run from an empty folder, has everything it needs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=True)


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of an environment that has nothing but pip."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    return tmp_path / "venv" / "bin"


@pytest.mark.slow
def test_a_wheel_works_by_itself(tmp_path: Path, venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNTHESIS_PREPARE", "1")  # as .github/workflows/wheels.yml builds it
    python = venv / "python"
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("synthesis_eval-*.whl")
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("SYNTHESIS_CACHE", str(tmp_path / "cache"))
    done = run(venv / "synthesis", cwd=empty)
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


def without_cargo() -> str:
    """The programs that are found, less those of folders that have cargo."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if shutil.which("cargo", path=folder) is None)


@pytest.mark.slow
def test_a_checkout_is_installed_in_half_a_minute_without_cargo_and_says_who_reads(
    tmp_path: Path, venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    built = shutil.ignore_patterns("synthesis_native.*", "target", "prepared", "__pycache__")
    for name in ("src", "data", "schemas", "native"):
        shutil.copytree(ROOT / name, checkout / name, ignore=built)
    for name in ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    monkeypatch.setenv("PATH", without_cargo())
    before = os.times()
    run(venv / "python", "-m", "pip", "install", "--quiet", checkout, cwd=tmp_path)
    spent = os.times()
    # Of the processor: others may be at work on this machine.
    assert spent.children_user + spent.children_system - before.children_user - before.children_system < 30
    said = run(venv / "synthesis", "--version", cwd=tmp_path).stdout
    assert "reader: Python, no compiled reader (it was not built: cargo was missing" in said
    assert "With cargo at hand" in said
