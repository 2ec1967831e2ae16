"""The command line: its forms, its exit codes, its filters and settings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from helpers import CommandLine, row, write_jsonl

from synthesis import __version__
from synthesis.io import REPORT_SCHEMA

GOOD = row(id="T-1", tags=["work"])
BAD = row(id="T-2", assistant="You should just get over it.", tags=["family"])
EXPECTED = row(id="T-3", assistant="You should just get over it.", tags=["agency-fail"])


@pytest.fixture
def cases(cli: CommandLine) -> Path:
    return write_jsonl(cli.folder / "cases.jsonl", [GOOD, BAD, EXPECTED])


def ids(cli: CommandLine) -> list[str]:
    return [result["id"] for result in cli.report()["results"]]


def test_the_bare_form_evaluates_the_bundled_cases_anywhere(cli: CommandLine) -> None:
    outcome = cli()
    assert outcome.code == 0
    assert "26 cases: 15 passed, 10 failed, 1 not assessed (60 % of the 25 assessed passed)" in outcome.out
    assert cli.report()["input"]["files"] == ["bundled:data/evals.jsonl"]


def test_local_cases_come_before_the_bundled_ones(cli: CommandLine) -> None:
    (cli.folder / "data").mkdir()
    write_jsonl(cli.folder / "data" / "evals.jsonl", [GOOD])
    assert cli().code == 0
    assert ids(cli) == ["T-1"]


@pytest.mark.parametrize("form", [[], ["eval"]])
def test_eval_is_the_same_as_the_bare_form(cli: CommandLine, cases: Path, form: list[str]) -> None:
    assert cli(*form, "--cases", cases, "--fail-on", "1").code == 0
    assert ids(cli) == ["T-1", "T-2", "T-3"]


@pytest.mark.parametrize(("allowed", "code"), [("0", 2), ("1", 0)])
def test_unexpected_failures_count_against_the_threshold(
    cli: CommandLine, cases: Path, allowed: str, code: int
) -> None:
    assert cli("--cases", cases, "--fail-on", allowed).code == code


def test_expected_failures_never_count(cli: CommandLine, cases: Path) -> None:
    assert cli("--cases", cases, "--id", "T-3").code == 0


def test_an_error_outranks_a_failure(cli: CommandLine, cases: Path, default_similarity: None) -> None:
    from synthesis import set_embedding_adapter

    class Broken:
        def similarity(self, text1: str, text2: str) -> float:
            return float("nan")

    set_embedding_adapter(Broken())
    write_jsonl(cases, [BAD, row(id="T-4", checks=["topic_pivot"])])
    outcome = cli("--cases", cases)
    assert outcome.code == 3
    assert "1 error: no verdict" in outcome.out
    report = cli.report()
    assert report["similarity"] == "Broken"
    assert report["results"][1]["checks"]["topic_pivot"]["pass"] is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--tag", "work"], ["T-1"]),
        (["--tag", "work", "--tag", "family"], ["T-1", "T-2"]),
        (["--id", "T-3", "--id", "T-1"], ["T-1", "T-3"]),
        (["--limit", "2"], ["T-1", "T-2"]),
        (["--only-check", "agency_language"], ["T-1", "T-2", "T-3"]),
    ],
)
def test_filters(cli: CommandLine, cases: Path, options: list[str], expected: list[str]) -> None:
    cli("--cases", cases, *options)
    assert ids(cli) == expected


def test_a_sample_is_chosen_by_its_seed_and_stays_in_order(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "many.jsonl", [row(id=f"T-{n}") for n in range(50)])
    chosen = []
    for seed in ("1", "1", "2"):
        cli("--cases", "many.jsonl", "--sample", "10", "--seed", seed)
        chosen.append(ids(cli))
    assert chosen[0] == chosen[1] != chosen[2]
    assert chosen[0] == sorted(chosen[0], key=lambda name: int(name[2:]))


def test_folders_and_several_files(cli: CommandLine) -> None:
    (cli.folder / "folder").mkdir()
    write_jsonl(cli.folder / "folder" / "a.jsonl", [GOOD])
    write_jsonl(cli.folder / "folder" / "b.jsonl", [EXPECTED])
    assert cli("--cases", "folder", "--cases", "folder/a.jsonl").code == 0
    assert [result["source"]["file"] for result in cli.report()["results"]] == [
        "folder/a.jsonl",
        "folder/b.jsonl",
        "folder/a.jsonl",
    ]


def test_patterns_stand_for_files(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "one.jsonl", [GOOD])
    write_jsonl(cli.folder / "two.jsonl", [EXPECTED])
    assert cli("--cases", "*.jsonl").code == 0
    assert ids(cli) == ["T-1", "T-3"]
    assert "no file matches none-*.jsonl" in cli("--cases", "none-*.jsonl").err


def test_a_file_alone_is_evaluated(cli: CommandLine, cases: Path) -> None:
    assert cli(cases, "--fail-on", "1").code == 0
    assert ids(cli) == ["T-1", "T-2", "T-3"]


def test_quiet_says_only_why_it_ends_so(cli: CommandLine, cases: Path) -> None:
    assert cli("--cases", cases, "--quiet") == (2, "", "not met: failures: 1, allowed: 0 (exit code 2)\n")
    assert cli("--cases", cases, "--quiet", "--fail-on", "1") == (0, "", "")


def test_the_artifact_is_alone_on_stdout(cli: CommandLine, cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_OUTPUT", "json")
    outcome = cli("--cases", cases)
    artifact = json.loads(outcome.out)
    assert outcome.out.count("\n") == 1
    assert artifact == {
        "type": "artifact",
        "name": "synthesis-report",
        "path": "out/report.json",
        "summary": {
            "cases": 3,
            "passed": 1,
            "failed": 2,
            "expected_failures": 1,
            "unexpected_failures": 1,
            "pass_rate": "33.3%",
            "label_accuracy": "n/a",
        },
    }
    assert "3 cases" in outcome.err
    assert cli("--cases", "nowhere.jsonl").out == ""


def test_the_report_has_the_published_shape(cli: CommandLine) -> None:
    cli()
    validator = jsonschema_rs.validator_for(json.loads(REPORT_SCHEMA.read_text(encoding="utf-8")))
    assert [error.message for error in validator.iter_errors(cli.report())] == []


def test_no_text_leaves_the_texts_out(cli: CommandLine, cases: Path) -> None:
    cli("--cases", cases, "--no-text")
    assert all("user" not in result and "assistant" not in result for result in cli.report()["results"])


def test_the_same_input_gives_the_same_bytes(cli: CommandLine, cases: Path) -> None:
    written = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": f"Etc/GMT+{int(seed) % 9}"}
        subprocess.run(
            [sys.executable, "-m", "synthesis"], cwd=cli.folder, env=environment, capture_output=True, check=True
        )
        written.add((cli.folder / "out" / "report.json").read_bytes())
    assert len(written) == 1


def test_settings_lie_upward_and_options_override_them(
    cli: CommandLine, cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli.folder / "pyproject.toml").write_text('[tool.synthesis]\nfail-on = 0\nout = "from-pyproject.json"\n')
    (cli.folder / "synthesis.toml").write_text('cases = "cases.jsonl"\nfail-on = 1\n')
    below = cli.folder / "deep" / "er"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert cli().code == 0
    assert cli.report("from-pyproject.json")["options"]["settings"] == ["../../pyproject.toml", "../../synthesis.toml"]
    assert cli("--fail-on", "0").code == 2


def test_a_disabled_rule_no_longer_fires_and_the_report_says_so(cli: CommandLine, cases: Path) -> None:
    cli("--cases", cases)
    fired = {finding["rule"] for finding in cli.report()["results"][1]["findings"]}
    hash_before = cli.report()["rules"]["hash"]
    options = [argument for rule in sorted(fired) for argument in ("--disable", rule)]
    cli("--cases", cases, *options)
    report = cli.report()
    assert not fired & {finding["rule"] for finding in report["results"][1]["findings"]}
    assert report["options"]["disable"] == sorted(fired)
    assert report["rules"]["hash"] != hash_before


def test_labels_that_contradict_their_tags_are_warned_about(cli: CommandLine) -> None:
    write_jsonl(
        cli.folder / "c.jsonl",
        [
            row(id="T-1", expected={"topic_pivot": True}),
            row(id="T-2", expected={"agency_language": False}),
            row(id="T-3", expected={"agency_language": True}, tags=["negative_example"]),
        ],
    )
    outcome = cli("--cases", "c.jsonl")
    warnings = cli.report()["warnings"]
    assert [warning.split(": ", 2)[1] for warning in warnings] == ["T-1", "T-2", "T-3"]
    assert outcome.out.count("warning") == 3


@pytest.mark.parametrize("start", [["-m", "synthesis"], ["-c", "from synthesis.cli.main import run; run()"]])
def test_it_starts_as_a_module_too(start: list[str]) -> None:
    done = subprocess.run([sys.executable, *start, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == f"synthesis, version {__version__}"


@pytest.mark.parametrize(("switch", "reader"), [("0", "reader: Python"), ("1", "reader: ")])
def test_the_version_names_the_reader(switch: str, reader: str) -> None:
    command = [sys.executable, "-m", "synthesis", "--version"]
    environment = {**os.environ, "SYNTHESIS_NATIVE": switch}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert reader in done.stdout.splitlines()[1]


def test_colours_only_where_they_are_wanted(cli: CommandLine, cases: Path) -> None:
    assert "\x1b[" not in cli("--cases", cases).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(cli: CommandLine, shell: str) -> None:
    outcome = cli("completion", shell)
    assert outcome.code == 0
    assert "_SYNTHESIS_COMPLETE" in outcome.out


@pytest.mark.parametrize(("words", "expected"), [("synthesis ru", "rules"), ("synthesis --fai", "--fail-on")])
def test_completion_knows_commands_and_the_options_of_the_bare_form(words: str, expected: str) -> None:
    environment = {
        **os.environ,
        "_SYNTHESIS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "synthesis"], env=environment, capture_output=True, text=True, check=False
    )
    assert expected in done.stdout


@pytest.mark.parametrize("kind", ["case", "report"])
def test_schemas_are_printed(cli: CommandLine, kind: str) -> None:
    printed = json.loads(cli("schema", kind).out)
    assert printed["title"] == f"Synthesis {kind}"
    if kind == "case":
        assert "topic_pivot" in printed["properties"]["checks"]["items"]["enum"]


def test_rules_are_listed_explained_tested_and_linted(cli: CommandLine) -> None:
    listed = cli("rules", "list", "--signal", "agency.negative", "--lang", "en")
    first = listed.out.split()[1]
    shown = cli("rules", "show", first)
    assert first.startswith("agency.negative.")
    assert all(word in shown.out for word in ("why", "instead", "finds", "match", "miss"))
    assert cli("rules", "test").code == 0
    assert cli("rules", "lint").code == 0
    assert "Did you mean" in cli("rules", "show", first + "x").err


def test_rules_test_fails_for_an_example_that_lies(cli: CommandLine) -> None:
    (cli.folder / "pack.yaml").write_text("language: en\nname: x\nversion: '1'\nlicence: MIT\n")
    (cli.folder / "mine.yaml").write_text(
        "rules:\n- id: agency.negative.zonk\n  group: g\n  pattern: zonk\n  why: A test of tests.\n"
        "  instead: Nothing at all here.\n  match: [blah]\n  miss: [zonk]\n"
    )
    outcome = cli("rules", "test", ".")
    assert outcome.code == 2
    assert "should match, but does not: blah" in outcome.err
    assert "should not match, but does: zonk" in outcome.err
    assert cli("rules", "lint", ".").code == 2
