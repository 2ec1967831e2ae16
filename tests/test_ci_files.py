"""The GitHub action, workflows, templates and pre-commit hooks: well formed, safe, and made of commands that work."""

import os
import re
import subprocess
import sys
import tomllib
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
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION_NAME = re.compile(r"(?:[\w-]+/[\w/-]+@(?:v\d+|release/v\d+|[0-9a-f]{40})|\./\.github/workflows/[\w-]+\.yml)")


def expressions(part: object) -> list[str]:
    return re.findall(r"\$\{\{(.*?)\}\}", yaml.safe_dump(part, width=10_000))


def test_every_step_of_the_action_does_one_thing() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert ("run" in step) != ("uses" in step), step["name"]
        assert "uses" in step or step["shell"] == "bash", step["name"]
        assert "uses" not in step or ACTION_NAME.fullmatch(step["uses"])


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


class Step:
    """The script of the evaluating step, run with some inputs as a runner does it."""

    def __init__(self, folder: Path, inputs: dict[str, str]) -> None:
        (step,) = [step for step in STEPS if step.get("id") == "evaluate"]
        given = {name: found["default"] for name, found in ACTION["inputs"].items()} | inputs
        assert set(given) == set(ACTION["inputs"])
        variables = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
            for name, value in step["env"].items()
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        files = {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "output")}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **variables, **files, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        self.said = done.stdout + done.stderr
        self.out = folder / given["out"]
        self.output = (folder / "output").read_text()
        self.summary = (folder / "summary").read_text() if (folder / "summary").exists() else ""

    def assert_gave(self, code: int, out: str) -> None:
        assert self.output == f"exit-code={code}\nreport={out}/report.json\n", self.said
        assert self.summary == (self.out / "report.md").read_text() != ""
        written = {path.name for path in self.out.iterdir()}
        assert {"report.json", "report.html", "report.xml", "report.sarif", "report.md"} <= written
        assert ("::error" in self.said) == (code == 2)


def test_the_evaluating_step_takes_paths_with_spaces(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "my cases.jsonl", [row(assistant=BAD)])
    Step(tmp_path, {"cases": "my cases.jsonl\n", "fail-on": "0", "out": "my out"}).assert_gave(2, "my out")


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES: list[dict[str, str]] = [
    step.get("with", {})
    for path in DOCUMENTS
    for block in re.findall(r"^```yaml\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if "/synthesis@" in block
    for job in yaml.safe_load(block)["jobs"].values()
    for step in job["steps"]
    if "/synthesis@" in step["uses"]
]


def test_documented_steps_of_the_action_do_not_take_each_others_place() -> None:
    inputs = [
        {name: example.get(name, ACTION["inputs"][name]["default"]) for name in ("name", "out")} for example in EXAMPLES
    ]
    assert len(inputs) > 1
    for name in ("name", "out"):
        assert len({found[name] for found in inputs}) == len(inputs)


@pytest.mark.parametrize("inputs", EXAMPLES, ids=lambda inputs: inputs["cases"].split()[0])
def test_a_documented_step_of_the_action_runs_with_exactly_its_inputs(tmp_path: Path, inputs: dict[str, str]) -> None:
    """Cases that fail give exit code 2, a log without a failure 0; neither could be read by mistake."""
    for name in inputs["cases"].split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if name.endswith(".csv"):
            (tmp_path / name).write_text("prompt,completion\nI lost my job.,Would you like to talk about it?\n")
        else:
            write_jsonl(tmp_path / name, [row(assistant=BAD)])
    Step(tmp_path, inputs).assert_gave(0 if ".csv" in inputs["cases"] else 2, inputs.get("out", "out"))


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


def workflow(name: str) -> dict[str, Any]:
    """A workflow; YAML 1.1 reads its key `on` as true."""
    read = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in read.items()}


@pytest.mark.parametrize("name", [path.stem for path in WORKFLOWS])
def test_workflows_ask_for_no_more_rights_than_they_need(name: str) -> None:
    read = workflow(name)
    assert read["permissions"] == {"contents": "read"}
    writing = {job for job, found in read["jobs"].items() if "write" in found.get("permissions", {}).values()}
    assert writing <= {"publish"}


@pytest.mark.parametrize("name", [path.stem for path in WORKFLOWS])
def test_every_job_has_a_machine_and_steps_that_do_one_thing(name: str) -> None:
    jobs = workflow(name)["jobs"]
    for job, found in jobs.items():
        assert ("runs-on" in found) != ("uses" in found), job
        needs = found.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs)
        for step in [found] if "uses" in found else found["steps"]:
            assert ("run" in step) != ("uses" in step), (job, step)
            assert "uses" not in step or ACTION_NAME.fullmatch(step["uses"]), step
            assert "${{" not in step.get("run", ""), "a value written into a script can become a command"


@pytest.mark.parametrize("name", [path.stem for path in WORKFLOWS])
def test_workflows_call_targets_and_files_that_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"run: make ([a-z-]+)", text)) <= targets
    named = re.findall(r"(?<![\w/])(?:tests|src|\.github/workflows)/[\w./-]+", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_python_and_system_that_is_promised_is_tested() -> None:
    jobs = workflow("tests")["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = [line.split()[-1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    for job in ("posix", "windows"):
        assert jobs[job]["strategy"]["matrix"]["python"] == promised
    systems = [*jobs["posix"]["strategy"]["matrix"]["os"], jobs["windows"]["runs-on"]]
    assert [re.split(r"-", system)[0] for system in systems] == ["ubuntu", "macos", "windows"]


def test_a_release_is_a_tag_that_is_checked_built_attested_and_published() -> None:
    read = workflow("release")
    assert read["on"] == {"push": {"tags": ["v*"]}}
    assert (read["jobs"]["wheels"]["needs"], read["jobs"]["publish"]["needs"]) == ("version", "wheels")
    assert "workflow_call" in workflow("wheels")["on"]
    publish = read["jobs"]["publish"]
    assert publish["permissions"]["id-token"] == "write"
    assert any(step["uses"].startswith("actions/attest-build-provenance@") for step in publish["steps"])


@pytest.mark.parametrize(("tag", "code"), [("v{}", 0), ("v{}0", 1), ("release-{}", 1)])
def test_the_release_refuses_a_tag_that_is_not_the_version(tmp_path: Path, tag: str, code: int) -> None:
    from synthesis._version import __version__

    (script,) = [step["run"] for step in workflow("release")["jobs"]["version"]["steps"] if "run" in step]
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {__version__}\n")
    (tmp_path / "src").symlink_to(ROOT / "src")
    environment = {**os.environ, "TAG": tag.format(__version__)}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == code


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name
)
def test_issue_forms_have_questions_with_distinct_names(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name == "config.yml":
        assert form["contact_links"]
        return
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"textarea", "input", "dropdown", "checkboxes"}
    assert len({field["id"] for field in fields}) == len(fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_own_hooks_of_pre_commit_run() -> None:
    read = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    local = [hook for repo in read["repos"] if repo["repo"] == "local" for hook in repo["hooks"]]
    assert local
    for hook in local:
        command = [sys.executable, *hook["entry"].split()[1:]]
        assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
    assert all(re.fullmatch(r"v[\d.]+", repo["rev"]) for repo in read["repos"] if repo["repo"] != "local")


def test_the_citation_names_this_version() -> None:
    from synthesis._version import __version__

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_the_owner_is_left_open_only_where_the_release_checklist_replaces_it() -> None:
    checklist = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    (replaced,) = re.findall(r"^ *sed -i 's#OWNER/\S+ (.*)$", checklist, re.MULTILINE)
    top = [path for path in ROOT.iterdir() if path.is_file()]
    below = [path for folder in ("docs", ".github", "src") for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [path for path in (*top, *below) if path.suffix in {"", ".md", ".yml", ".yaml", ".toml", ".cff", ".html"}]
    naming = {path for path in texts if re.search(r"\bOWNER\b", path.read_text(encoding="utf-8", errors="replace"))}
    assert {path.relative_to(ROOT).as_posix() for path in naming} == set(replaced.split())


def test_the_inputs_and_outputs_of_the_action_are_documented_with_their_defaults() -> None:
    document = (ROOT / "docs/integrations.md").read_text(encoding="utf-8")
    for name, field in ACTION["inputs"].items():
        default = f" `{field['default']}` " if field["default"] else " "
        assert f"| `{name}` |{default}|" in document
    assert all(f"| `{name}` | " in document for name in ACTION["outputs"])
