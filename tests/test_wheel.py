"""A wheel, installed into an empty environment and run from an empty folder, has everything it needs."""

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import cache_from_source
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
    assert "26 cases: 15 passed, 10 failed, 1 not assessed" in done.stdout
    report = json.loads((empty / "out" / "report.json").read_text())
    assert report["input"]["files"] == ["bundled:data/evals.jsonl"]
    assert str(tmp_path) not in (empty / "out" / "report.json").read_text()
    for command in (["schema", "case"], ["schema", "report"], ["rules", "test"]):
        run(python, "-m", "synthesis", *command, cwd=empty)
    typed = run(python, "-c", "import synthesis, pathlib; print(pathlib.Path(synthesis.__file__).parent)", cwd=empty)
    package = Path(typed.stdout.strip())
    unpacked = {path.stem for path in (tmp_path / "cache").iterdir()}
    prepared = {path.stem for path in (package / "rules" / "prepared").iterdir()}
    assert unpacked  # of what is shipped, for the next start
    assert unpacked <= prepared  # nothing had to be prepared
    assert (package / "py.typed").is_file()
    for part in ("templates/base.html", "static/pages.css", "static/try.js", "measured.json"):
        assert (package / "server" / part).is_file()


def without_cargo() -> str:
    """The programs that are found, less those of folders that have cargo."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if shutil.which("cargo", path=folder) is None)


def copy_of_the_tree(checkout: Path) -> Path:
    """What an installation needs, without anything that was built."""
    built = shutil.ignore_patterns("synthesis_native.*", "target", "prepared", "__pycache__")
    for name in ("src", "data", "schemas", "native"):
        shutil.copytree(ROOT / name, checkout / name, ignore=built)
    for name in ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    return checkout


@pytest.mark.slow
def test_a_checkout_is_installed_in_half_a_minute_without_cargo_and_says_who_reads(
    tmp_path: Path, venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = copy_of_the_tree(tmp_path / "checkout")
    monkeypatch.setenv("PATH", without_cargo())
    before = os.times()
    run(venv / "python", "-m", "pip", "install", "--quiet", checkout, cwd=tmp_path)
    spent = os.times()
    # Of the processor: others may be at work on this machine.
    assert spent.children_user + spent.children_system - before.children_user - before.children_system < 30
    said = run(venv / "synthesis", "--version", cwd=tmp_path).stdout
    assert "reader: Python, no compiled reader (it was not built: cargo was missing" in said
    assert "With cargo at hand" in said


def uncompiled(folder: Path) -> list[str]:
    """The modules without bytecode that this Python would read."""
    found = sorted(folder.rglob("*.py"))
    assert found
    return [path.name for path in found if not Path(cache_from_source(str(path))).is_file()]


@pytest.mark.slow
def test_an_editable_installation_has_the_bytecode_of_its_source_tree(
    tmp_path: Path, venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PATH", without_cargo())
    checkout = copy_of_the_tree(tmp_path / "checkout")
    run(venv / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--editable", checkout, cwd=tmp_path)
    assert uncompiled(checkout / "src") == []


def test_make_compiles_the_source_tree_and_a_changed_module_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "hatch_build.py", "src/module.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("WORDS = 'before'\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / ".venv" / ".installed").touch()  # what pip does is not asked here
    compiled = Path(cache_from_source(str(tmp_path / "src" / "module.py")))
    run("make", "install", "VENV=.venv", cwd=tmp_path)
    assert b"before" in compiled.read_bytes()
    (tmp_path / "src" / "module.py").write_text("WORDS = 'and after'\n")
    os.utime(tmp_path / "src" / "module.py", (time.time() + 10, time.time() + 10))  # clocks of files are coarse
    said = run(sys.executable, "-c", "import module; print(module.WORDS)", cwd=tmp_path / "src").stdout
    assert said == "and after\n"  # before it is compiled again, too
    run("make", "install", "VENV=.venv", cwd=tmp_path)
    assert b"and after" in compiled.read_bytes()
