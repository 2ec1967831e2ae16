"""Bad input: exit code 1, place and remedy, no traceback, nothing written."""

import json
import os

import pytest
from running import KEY, sample_cases, write_set

from synthesis.cli.main import call


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_set(tmp_path / "good.json", sample_cases(2))
    return tmp_path


def refused(capsys, here, *args):
    """Run; the message, having checked that nothing was written."""
    before = sorted(path for path in here.rglob("*"))
    code = call([str(arg) for arg in args])
    said = capsys.readouterr()
    assert code == 1, said
    assert sorted(path for path in here.rglob("*")) == before
    assert "error: " in said.err
    assert "Traceback" not in said.err
    return said.err


CASE = {"queryLogId": "a", "question": "q", "answer": "a", "context": ["c"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "set.json"),
        ("[", "set.json"),
        ("{}", "set.json"),
        ("[]", "empty"),
        ("[7]", "case 1"),
        (json.dumps([{**CASE, "question": "  "}]), "the question is empty"),
        (json.dumps([{**CASE, "answer": ["a"]}]), "must be a text"),
        (json.dumps([{**CASE, "context": 7}]), "context"),
        (json.dumps([{key: value for key, value in CASE.items() if key != "context"}]), "has no context"),
        (json.dumps([{"prompt": "q", "reply": "a"}]), "--map question=NAME"),
    ],
)
def test_a_wrong_test_set(capsys, here, content, message):
    (here / "set.json").write_text(content)
    assert message in refused(capsys, here, "judge", "run", "set.json")


def test_a_missing_test_set_or_name(capsys, here):
    assert "nowhere.json" in refused(capsys, here, "judge", "run", "nowhere.json")
    assert "Did you mean 'passages'" in refused(capsys, here, "judge", "run", "pasages")


def test_answers_without_context_are_named(capsys, here):
    (here / "a.json").write_text(json.dumps([{"queryLogId": "lonely", "question": "q", "answer": "a"}]))
    (here / "c.json").write_text(json.dumps([{"queryLogId": "other", "rankedCourses": []}]))
    message = refused(capsys, here, "judge", "run", "--answers", "a.json", "--contexts", "c.json")
    assert "lonely" in message


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--judge-provider", "oracle"], "there is no judge provider 'oracle'"),
        (["--system-prompt-version", "v7", "--judge-provider", "openai"], "no system prompt version 'v7'"),
        (["--rubric", "nothing"], "no rubric 'nothing'"),
        (["--rubric", "relational"], "offline judge cannot score harm"),
        (["--output-dir", "../escape"], "would leave"),
        (["--output-dir", "/tmp"], "would leave"),
        (["--output-dir", ".."], "would leave"),
        (["--output-dir", ""], "would leave"),
        (["--output-dir", "a/b"], "would leave"),
        (["--output-dir", "a\\b"], "would leave"),
        (["--iterations", "0"], "--iterations"),
        (["--concurrency", "-1"], "--concurrency"),
        (["--max-cost", "0"], "--max-cost must"),
        (["--max-cost", "nan"], "--max-cost must"),
        (["--timeout", "0"], "--timeout must"),
        (["--temperature", "9"], "--temperature must"),
        (["--fail-under", "1.5"], "--fail-under"),
        (["--fail-under", "nan"], "--fail-under"),
        (["--on-change", "shrug"], "--on-change"),
        (["--answers", "x.json"], "not both"),
        (["--no-such-option"], "--no-such-option"),
        (["--judge-provider", "openai", "--price-file", "none.yaml"], "none.yaml"),
        (
            ["--judge-provider", "openrouter", "--judge-model", "gpt", "--api-key-env", "OPENAI_API_KEY"],
            "vendor",
        ),
        (["--judge-provider", "openai", "--judge-model", "mine", "--max-cost", "1"], "price of 'mine'"),
        (["--judge-provider", "replay"], "needs a recording"),
        (
            ["--judge-provider", "openai", "--base-url", "localhost:8000/v1"],
            "Write --base-url http://localhost:8000/v1",
        ),
        (["--judge-provider", "openai", "--base-url", "gateway.example"], "Write --base-url https://gateway.example"),
        (["--judge-provider", "openai", "--base-url", "ftp://x/v1"], "Write --base-url https://x/v1"),
        (["--header", "no colon"], "--header 'Name: value'"),
        (["--header", "X-A: a\nX-B: b"], "--header 'Name: value'"),
        (["--extra-body", "{"], "--extra-body is not valid JSON"),
        (["--extra-body", "[1]"], "--extra-body must be a JSON object"),
        (["--extra-body", "@none.json"], "none.json"),
        (["--extra-body", '{"messages": []}'], "--extra-body cannot set 'messages'"),
        (["--map", "question"], "--map cannot read"),
        (["--id", "log-1,log-9"], "no sample 'log-9'"),
        (["--id", "log-9"], "no sample 'log-9'"),
        (["--system-prompt-version", "none.yaml", "--judge-provider", "openai"], "none.yaml"),
    ],
)
def test_wrong_options(capsys, here, args, message):
    said = refused(capsys, here, "judge", "run", "good.json", "--root", "runs", *args)
    assert message in said


@pytest.mark.parametrize(
    ("provider", "options", "variable"),
    [
        ("openai", [], "OPENAI_API_KEY"),
        ("openai", ["--base-url", "https://gateway.example/v1"], "OPENAI_API_KEY"),
        ("openai", ["--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "MY_OWN_KEY"], "MY_OWN_KEY"),
        ("openrouter", [], "OPENROUTER_API_KEY"),
        ("openai", ["--api-key-env", "MY_OWN_KEY"], "MY_OWN_KEY"),
    ],
)
def test_a_missing_key_names_the_variable(capsys, here, monkeypatch, provider, options, variable):
    monkeypatch.delenv("OPENAI_API_KEY")
    args = ("judge", "run", "good.json", "--judge-provider", provider, "--root", "runs", *options)
    assert variable in refused(capsys, here, *args)


def test_a_missing_extra_prints_its_install_line(capsys, here, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    message = refused(capsys, here, "judge", "run", "good.json", "--judge-provider", "anthropic")
    assert "pip install 'synthesis-eval[anthropic]'" in message


@pytest.mark.parametrize("command", ["status", "report"])
def test_a_run_that_is_not_there(capsys, here, command):
    assert "there is no judged run" in refused(capsys, here, "judge", command, "nothing")
    assert "would leave" in refused(capsys, here, "judge", command, "../..")


def test_a_link_does_not_lead_out_of_the_root(capsys, here):
    (here / "runs").mkdir()
    (here / "elsewhere").mkdir()
    (here / "runs" / "link").symlink_to(here / "elsewhere")
    assert "would leave" in refused(capsys, here, "judge", "run", "good.json", "--root", "runs", "--output-dir", "link")


def test_a_root_that_cannot_be_made(capsys, here):
    (here / "file").write_text("")
    assert "cannot be written" in refused(capsys, here, "judge", "run", "good.json", "--root", "file/runs")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(capsys, here):
    (here / "runs").mkdir(mode=0o500)
    assert "cannot be written" in refused(capsys, here, "judge", "run", "good.json", "--root", "runs")


def test_control_characters_of_a_set_do_not_reach_the_terminal(capsys, here):
    (here / "set.json").write_text(json.dumps([{**CASE, "queryLogId": "a\x1b[31m", "answer": []}]))
    assert "\x1b[31m" not in refused(capsys, here, "judge", "run", "set.json")


def test_usage_errors_exit_with_1():
    assert call(["judge", "nonsense"]) == 1
