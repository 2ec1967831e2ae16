"""The command line of the judge: what it says, and the exit codes."""

import json
import os
import signal
import subprocess
import time

import pytest
from running import KEY, command, environment, read, sample_cases, synthesis, write_set
from server import JudgeServer, held, says

from synthesis.cli.main import call


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path


def said(capsys, *args):
    code = call([str(arg) for arg in args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def over(server, *args):
    return ("judge", "run", *args, "--judge-provider", "openai", "--base-url", server.url)


def test_without_an_argument_it_runs_on_a_fresh_machine_and_says_what_it_does(capsys, here):
    code, out, err = said(capsys, "judge", "run")
    assert code == 3  # some samples need a judge
    assert "need a judge" in out
    assert len([line for line in err.splitlines() if "offline (the default)" in line]) == 1
    assert "bundled 'passages'" in err
    folder = here / "data" / "evaluation" / "answer-synthesis" / "passages"
    assert len(read(folder / "records" / "records-iteration-1.json")) == 8
    assert "of 8" in out


def test_every_file_of_the_contract_is_there(capsys, here):
    said(capsys, "judge", "run", "courses", "--iterations", "2", "--output-dir", "mine", "--root", "runs")
    folder = here / "runs" / "mine"
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    per_iteration = {
        f.format(n)
        for n in (1, 2)
        for f in (
            "iteration-{}/.progress.json",
            "records/records-iteration-{}.json",
            "records/errors-iteration-{}.json",
            "metrics/metrics-iteration-{}.json",
            "cost/cost-iteration-{}.json",
            "low-faithfulness/low-faithfulness-iteration-{}.json",
        )
    }
    finals = {"final-metrics/final-metrics-2.json", "final-cost/final-cost-2.json"}
    assert found == per_iteration | finals | {"journal.jsonl", ".lock"}


def test_a_name_is_looked_for_among_the_users_sets_first(capsys, here):
    own = here / "data" / "evaluation" / "test-sets"
    own.mkdir(parents=True)
    write_set(own / "passages.json", sample_cases(3))
    code, out, _ = said(capsys, "judge", "run", "passages")
    assert code == 0
    assert out.startswith("passages: 3 of 3 samples told")


def test_answers_and_contexts_are_joined_and_named_after_the_answers(capsys, here):
    case = json.loads(write_set(here / "set.json", sample_cases(1)).read_text())[0]
    context = case.pop("context")
    (here / "mine.json").write_text(json.dumps([case]))
    (here / "c.json").write_text(json.dumps([{"queryLogId": case["queryLogId"], "context": context}]))
    code, out, _ = said(capsys, "judge", "run", "--answers", "mine.json", "--contexts", "c.json")
    assert code == 0
    assert out.startswith("mine: 1 of 1 sample told")


def test_exit_codes_of_the_gate(capsys, here):
    write_set(here / "set.json", sample_cases(20))
    with JudgeServer() as server:
        code, _, _ = said(capsys, *over(server, "set.json"))
        assert code == 0
        rate = read(here / "data/evaluation/answer-synthesis/set/metrics/metrics-iteration-1.json")
        rate = rate["overallPassRate"]["value"]
        assert 0 < rate < 1
        assert said(capsys, *over(server, "set.json"), "--fail-under", rate)[0] == 0
        code, _, err = said(capsys, *over(server, "set.json"), "--fail-under", rate + 0.01)
    assert code == 2
    assert "is below" in err


def test_a_kept_verdict_does_not_pass_the_gate_and_the_run_is_incomplete(capsys, here):
    cases = sample_cases(20)
    write_set(here / "set.json", cases)
    with JudgeServer() as server:
        said(capsys, *over(server, "set.json"))
        rate = read(here / "data/evaluation/answer-synthesis/set/metrics/metrics-iteration-1.json")
        changed = json.loads((here / "set.json").read_text())
        for case in changed:
            case["answer"] = "Another."
        (here / "set.json").write_text(json.dumps(changed))
        code, out, err = said(capsys, *over(server, "set.json"), "--on-change", "keep", "--fail-under", "0.01")
        assert len(server.calls) == 20
        assert said(capsys, *over(server, "set.json"))[0] == 0
        assert len(server.calls) == 40
    assert rate["overallPassRate"]["value"] > 0.01
    assert code == 3
    assert "20 stale" in out
    assert "not passed" not in out
    assert "20 verdicts are stale" in err


def test_another_judge_is_refused_and_takes_over_on_request(capsys, here):
    write_set(here / "set.json", sample_cases(3))
    assert said(capsys, "judge", "run", "set.json")[0] == 0
    with JudgeServer() as server:
        code, _, err = said(capsys, *over(server, "set.json"))
        assert code == 1
        assert "this folder belongs to another judge: it has provider offline, not openai" in err
        assert "--replace-judge" in err
        assert server.calls == []
        assert said(capsys, *over(server, "set.json"), "--replace-judge")[0] == 0
        assert said(capsys, *over(server, "set.json"))[0] == 0
        assert len(server.calls) == 3
    assert "Judge: openai" in said(capsys, "judge", "report", "set")[1]
    assert said(capsys, "judge", "run", "set.json", "--replace-judge")[0] == 0


def test_an_error_outranks_the_gate(capsys, here):
    write_set(here / "set.json", sample_cases(3))
    with JudgeServer({"sample-1": [says("no")] * 9}) as server:
        code, out, _ = said(capsys, *over(server, "set.json"), "--fail-under", "1.0")
    assert code == 3
    assert ", 1 error" in out
    assert "log-1: no verdict after 2 calls" in out


def test_the_cap_stops_with_3_and_says_how_to_go_on(capsys, here):
    write_set(here / "set.json", sample_cases(30))
    with JudgeServer() as server:
        code, out, err = said(capsys, *over(server, "set.json"), "--max-cost", "0.002")
    assert code == 3
    assert "cap of 0.002 USD is reached" in err
    assert "not yet judged" in out


def test_estimate_sends_nothing_writes_nothing_and_needs_no_key(capsys, here, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    write_set(here / "set.json", sample_cases(10))
    with JudgeServer() as server:
        args = ("judge", "estimate", "set.json", "--judge-provider", "openai", "--base-url", server.url)
        code, out, _ = said(capsys, *args)
        assert (code, server.calls) == (0, [])
        assert "10 verdicts to request" in out
        assert "USD" in out
        code, out, _ = said(capsys, *args, "--judge-model", "mine")
    assert "unknown" in out
    assert not (here / "data").exists()


def test_estimate_counts_only_what_is_left(capsys, here):
    write_set(here / "set.json", sample_cases(10))
    said(capsys, "judge", "run", "set.json")
    _, out, _ = said(capsys, "judge", "estimate", "set.json")
    assert "0 verdicts to request" in out


def test_status_and_report_are_read_from_the_journal(capsys, here):
    write_set(here / "set.json", sample_cases(4))
    with JudgeServer({"sample-1": [says("no")] * 9}) as server:
        _, ran, _ = said(capsys, *over(server, "set.json"))
    for path in (here / "data").rglob("*.json"):
        path.unlink()
    code, out, _ = said(capsys, "judge", "status", "set")
    assert code == 0
    assert "3 judged, 0 stale, 1 failed, 0 pending" in out
    code, out, _ = said(capsys, "judge", "report", "set")
    assert (code, out) == (0, ran)


def test_status_says_what_is_not_validated_offline(capsys, here):
    write_set(here / "set.json", sample_cases(1))
    said(capsys, "judge", "run", "set.json")
    assert "completeness (not validated)" in said(capsys, "judge", "status", "set")[1]
    with JudgeServer() as server:
        said(capsys, *over(server, "set.json"), "--output-dir", "chat")
    assert "not validated" not in said(capsys, "judge", "status", "chat")[1]


def test_calibrate_compares_with_human_labels(capsys, here):
    write_set(here / "set.json", sample_cases(12))
    with JudgeServer() as server:
        said(capsys, *over(server, "set.json"))
    labels = [{"queryLogId": f"log-{n}", "faithfulness": 1 + n * 7 % 5} for n in range(10)]
    (here / "labels.json").write_text(json.dumps(labels))
    code, out, _ = said(capsys, "judge", "calibrate", "set", "labels.json")
    assert code == 0
    assert "quadratic-weighted kappa 1.00" in out
    folder = here / "data/evaluation/answer-synthesis/set/calibration"
    assert read(folder / "calibration-iteration-1.json")["axes"]["faithfulness"]["n"] == 10


def test_over_several_iterations_stability_and_agreement_are_reported(capsys, here):
    write_set(here / "set.json", sample_cases(6))
    with JudgeServer() as server:
        _, out, _ = said(capsys, *over(server, "set.json"), "--iterations", "3")
    assert "pass^3" in out
    assert "alpha 1.000" in out


def test_an_offline_judge_has_no_agreement_with_itself(capsys, here):
    write_set(here / "set.json", sample_cases(6))
    _, out, _ = said(capsys, "judge", "run", "set.json", "--iterations", "3")
    assert "alpha" not in out
    assert "pass^" not in out
    assert "The iterations are alike" in out


def started(here, *args):
    return subprocess.Popen(
        command(*args),
        cwd=here,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        # A shell that runs the tests in the background makes all its children deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def interrupted_after(process, server, calls):
    """Ctrl-C once so many calls have come in; returns when the process has said that it stops."""
    while len(server.calls) < calls:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    lines = iter(process.stderr.readline, "")  # lines that tell how far the run is may come before it
    assert any("Ctrl-C again" in line for line in lines)


def test_ctrl_c_stops_cleanly_stores_what_is_under_way_and_the_same_command_goes_on(here):
    cases = write_set(here / "set.json", sample_cases(40))
    with JudgeServer({f"sample-{n}": [held()] for n in range(4, 40)}) as server:
        args = (*over(server, cases), "--concurrency", "2")
        process = started(here, *args)
        interrupted_after(process, server, 6)
        server.gate.set()
        _, err = process.communicate()
        assert process.returncode == 130, err
        assert "6 of 40 judged and stored" in err
        assert "The same command resumes" in err
        assert "Traceback" not in err
        assert len(server.calls) == 6
        folder = here / "data/evaluation/answer-synthesis/set"
        assert read(folder / "iteration-1" / ".progress.json")["statistics"]["completedQuestions"] == 6
        assert synthesis(*args, cwd=here).returncode == 0
        assert len(server.calls) == 40


def test_a_second_ctrl_c_gives_calls_under_way_up(here):
    cases = write_set(here / "set.json", sample_cases(3))
    with JudgeServer({f"sample-{n}": [held()] for n in range(3)}) as server:
        process = started(here, *over(server, cases))
        interrupted_after(process, server, 3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "0 of 3 judged and stored" in err
    assert "Traceback" not in err


def test_on_a_terminal_there_is_a_bar_elsewhere_there_are_none_of_its_codes(here):
    import pty

    cases = write_set(here / "set.json", sample_cases(3))
    with JudgeServer(delay=0.4) as server:
        parent, child = pty.openpty()
        process = subprocess.Popen(
            command(*over(server, cases), "--concurrency", "1"),
            cwd=here,
            env=environment(TERM="xterm"),
            stderr=child,
            stdout=child,
        )
        os.close(child)
        shown = b""
        while True:
            try:
                piece = os.read(parent, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        assert process.wait() == 0
        plain = synthesis(*over(server, cases), "--output-dir", "again", cwd=here)
    assert b"of 3 judged" in shown
    assert b"USD" in shown
    assert "\x1b" not in plain.stderr + plain.stdout


def test_text_from_a_judge_cannot_reach_the_terminal_as_control_characters(capsys, here):
    cases = sample_cases(1)
    write_set(here / "set.json", cases)
    evil = json.dumps({"faithfulness": {"reasoning": "x", "score": "\x1b[2J"}, "completeness": {}})
    with JudgeServer({"sample-0": [says(evil)] * 9}) as server:
        _, out, err = said(capsys, *over(server, "set.json"))
    assert "\x1b[2J" not in out + err
