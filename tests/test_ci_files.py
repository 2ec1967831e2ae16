"""The GitHub action and the pre-commit hooks: well formed, safe, and made of commands that work."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from helpers import CommandLine, row, write_jsonl

from synthesis.cli.main import main

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
BAD = "You should just move on."


def expressions(part: object) -> list[str]:
    return re.findall(r"\$\{\{(.*?)\}\}", yaml.safe_dump(part, width=10_000))


def test_every_step_of_the_action_does_one_thing() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert ("run" in step) != ("uses" in step), step["name"]
        assert "uses" in step or step["shell"] == "bash", step["name"]
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"])


def test_inputs_that_are_used_exist_and_all_are_used() -> None:
    used = {name for text in expressions(STEPS) for name in re.findall(r"inputs\.([\w-]+)", text)}
    assert used == set(ACTION["inputs"])
    assert all(found["description"] and "default" in found for found in ACTION["inputs"].values())


def test_outputs_come_from_steps_that_write_them() -> None:
    by_id = {step["id"]: step for step in STEPS if "id" in step}
    referred = [ref for text in expressions(ACTION) for ref in re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", text)]
    assert referred
    for step, output in referred:
        assert f'"{output}=' in by_id[step]["run"]


def test_no_input_is_written_into_a_script() -> None:
    assert not [step["name"] for step in STEPS if "${{" in step.get("run", "")]


@pytest.mark.parametrize(("assistant", "code"), [(BAD, "2"), ("Would you like to talk about it?", "0")])
def test_the_evaluating_step_annotates_summarises_and_keeps_the_exit_code(
    tmp_path: Path, assistant: str, code: str
) -> None:
    write_jsonl(tmp_path / "my cases.jsonl", [row(assistant=assistant)])
    (step,) = [step for step in STEPS if step.get("id") == "evaluate"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CASES": "my cases.jsonl\n",
        "FAIL_ON": "0",
        "OPTIONS": "--no-text\n",
        "OUT": "out",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == f"exit-code={code}\nreport=out/report.json\n"
    assert (tmp_path / "summary").read_text() == (tmp_path / "out" / "report.md").read_text() != ""
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.json", "report.html", "report.xml", "report.sarif", "report.md"} <= written
    assert ("::error" in done.stdout) == (code == "2")


def test_every_hook_calls_a_command_that_exists() -> None:
    for hook in HOOKS:
        program, *words = hook["entry"].split()
        assert program == "synthesis"
        assert CliRunner().invoke(main, [*words, "--help"]).exit_code == 0
        assert hook["language"] == "python"


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("data/evals.jsonl", True),
        ("evals.safety.jsonl", True),
        ("a/talk.synthesis.jsonl", True),
        ("retrievals.jsonl", False),
        ("evals.json", False),
    ],
)
def test_the_hook_takes_case_files_and_nothing_else(name: str, taken: bool) -> None:
    assert bool(re.search(HOOKS[0]["files"], name)) is taken


def test_the_hook_evaluates_the_files_it_is_given(cli: CommandLine) -> None:
    good = write_jsonl(cli.folder / "evals.jsonl", [row()])
    bad = write_jsonl(cli.folder / "talk.synthesis.jsonl", [row(assistant=BAD)])
    _, *words = HOOKS[0]["entry"].split()
    assert cli(*words, good).code == 0
    assert cli(*words, good, bad).code == 2
    assert [result["id"] for result in cli.report()["results"]] == ["T-1", "T-1"]
