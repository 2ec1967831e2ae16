"""Who may join a run in a database, and what is said to those who may not; passwords are never part of it."""

import subprocess
import sys

import pytest
from postgres import PASSWORD, shared_server
from run_processes import ProcessGroup, rows, wait_until
from running import command, config_for, environment, files_under, judge, sample_case, sample_cases, write_set
from server import JudgeServer, held

from synthesis.errors import InputError, OptionError, RunFolderError
from synthesis.judge.config import EvaluationConfig
from synthesis.judge.journal.shared import SharedPlace


@pytest.fixture
def journal():
    return shared_server().new_database()


def run(tmp_path, journal, *args):
    cases = write_set(tmp_path / "set.json", sample_cases(3))
    return subprocess.run(
        command("judge", "run", cases, "--root", "runs", "--journal", journal, *args),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
    )


def offline(root, place):
    return EvaluationConfig(output_dir="run", root=root, journal=place)


def refusal(cases, config):
    with pytest.raises(RunFolderError) as caught:
        judge(cases, config)
    return caught.value


def test_another_judge_is_refused_as_it_is_with_a_file(tmp_path, journal):
    with JudgeServer() as server:
        for place in (None, SharedPlace(journal)):
            mine = config_for(server, tmp_path / str(place is None), journal=place)
            other = config_for(server, tmp_path / f"other-{place is None}", journal=place, judge_model="gpt-5-nano")
            judge(sample_cases(2), mine)
            if place is None:
                other = config_for(server, tmp_path / "True", judge_model="gpt-5-nano")
                expected = refusal(sample_cases(2), other)
            else:
                error = refusal(sample_cases(2), other)
        assert (error.message, error.hint) == (expected.message, expected.hint)
        assert "model gpt-4o-mini, not gpt-5-nano" in error.message
        assert len(server.calls) == 4
        taken_over = config_for(
            server, tmp_path / "new", journal=SharedPlace(journal), judge_model="gpt-5-nano", on_change="rejudge"
        )
        assert judge(sample_cases(2), taken_over).calls == 2


def test_a_changed_set_is_treated_as_it_is_with_a_file(tmp_path, journal):
    changed = [sample_case(0, answer="The ferry leaves at ten."), *sample_cases(2)[1:]]
    with JudgeServer() as server:
        place = SharedPlace(journal)
        judge(sample_cases(2), config_for(server, tmp_path, journal=place))
        error = refusal(changed, config_for(server, tmp_path, journal=place, on_change="error"))
        assert "1 samples have changed" in error.message
        kept = judge(changed, config_for(server, tmp_path, journal=place))
        assert (kept.calls, kept.records[0][0]["stale"]) == (0, True)
        assert judge(changed, config_for(server, tmp_path, journal=place, on_change="rejudge")).calls == 1


def test_nobody_changes_the_set_under_those_who_are_at_work(tmp_path, journal):
    processes = ProcessGroup(tmp_path, journal)
    with JudgeServer({"sample-0": [held()]}) as server:
        first = processes.start(server.url, 3)
        wait_until(lambda: len(server.calls) == 3, "the first has not begun")
        refused = processes.start(server.url, 5).outcome()
        assert (refused["error"], "is judging here" in refused["message"]) == ("RunFolderError", True)
        server.gate.set()
        assert first.outcome()["complete"]
        larger = judge(sample_cases(5), config_for(server, tmp_path / "third", journal=SharedPlace(journal)))
    processes.close()
    assert (larger.complete, larger.calls) == (True, 2)


def test_a_folder_with_a_journal_of_its_own_and_one_that_is_shared_are_kept_apart(tmp_path, journal):
    with JudgeServer() as server:
        judge(sample_cases(1), config_for(server, tmp_path, output_dir="own"))
        judge(sample_cases(1), config_for(server, tmp_path, output_dir="shared", journal=SharedPlace(journal)))
        own = refusal(sample_cases(1), config_for(server, tmp_path, output_dir="own", journal=SharedPlace(journal)))
        shared = refusal(sample_cases(1), config_for(server, tmp_path, output_dir="shared"))
    assert "in the folder, not in a database" in own.message
    assert "in a database (--journal)" in shared.message


def test_tables_of_a_newer_version_are_left_alone(tmp_path, journal):
    judge(sample_cases(1), offline(tmp_path, SharedPlace(journal)))
    rows(journal, "UPDATE synthesis_judge.version SET number = 99 RETURNING number")
    assert "version 99" in refusal(sample_cases(1), offline(tmp_path, SharedPlace(journal))).message


def test_a_database_that_cannot_hold_all_text_is_refused(tmp_path):
    journal = shared_server().new_database("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    assert "stores text as LATIN1" in refusal(sample_cases(1), offline(tmp_path, SharedPlace(journal))).message


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace(PASSWORD, "secret-and-wrong"),
        lambda url: url.replace("127.0.0.1", "no-such-host.invalid").replace(PASSWORD, "secret-and-wrong"),
        lambda url: url.replace(PASSWORD, "secret-and/wrong"),
        lambda url: url.replace(PASSWORD, "12/secret-and@wrong"),
        lambda url: url.replace("postgresql:", "mysql:").replace(PASSWORD, "secret-and-wrong"),
        lambda url: url.replace(f":{PASSWORD}", "") + "?password=secret-and-wrong",
        lambda url: url.replace("/test_", "/none_").replace(PASSWORD, "secret-and-wrong"),
        lambda url: "secret-and-wrong",
    ],
)
def test_an_address_that_is_wrong_is_said_without_its_password(tmp_path, journal, change):
    with pytest.raises(InputError) as caught:
        judge(sample_cases(1), offline(tmp_path, SharedPlace(change(journal))))
    assert "secret-and" not in str(caught.value)
    assert not files_under(tmp_path)


def test_a_refused_password_ends_the_command_with_exit_code_1(tmp_path, journal):
    done = run(tmp_path, journal.replace(PASSWORD, "secret-and-wrong"))
    assert done.returncode == 1
    assert "password authentication failed" in done.stderr
    assert "secret-and" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_password_is_in_no_file_no_message_and_no_repr(tmp_path, journal):
    done = run(tmp_path, journal)
    assert done.returncode == 0, done.stderr
    status = subprocess.run(
        command("judge", "status", "set", "--root", "elsewhere"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(SYNTHESIS_JOURNAL=journal),
    )
    assert "3 judged" in status.stdout
    missing = subprocess.run(
        command("judge", "status", "nothing", "--journal", journal),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (missing.returncode, "no judged run 'nothing'" in missing.stderr) == (1, True)
    assert not [path for path in files_under(tmp_path) if PASSWORD.encode() in path.read_bytes()]
    assert PASSWORD not in repr(offline(tmp_path, SharedPlace(journal))) + done.stdout + done.stderr + missing.stderr


def test_a_finished_run_can_be_looked_at_without_the_database(tmp_path, journal):
    assert run(tmp_path, journal).returncode == 0
    for what in ("status", "report"):
        done = subprocess.run(
            command("judge", what, "set", "--root", "runs"), cwd=tmp_path, capture_output=True, text=True
        )
        assert (done.returncode, "3 samples" in done.stdout) == (0, True)


@pytest.mark.parametrize("lease", [0, -1, 0.5, float("inf"), float("nan")])
def test_a_lease_that_makes_no_sense_is_refused(lease):
    with pytest.raises(OptionError, match="--lease"):
        SharedPlace("postgresql://host/db", lease)


def test_without_the_driver_the_install_line_is_the_answer(tmp_path):
    code = "import sys; sys.modules['psycopg'] = None; from synthesis.cli.main import run; run()"
    args = ("judge", "run", "passages", "--journal", "postgresql://host/db")
    done = subprocess.run([sys.executable, "-c", code, *args], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'synthesis-eval[sql]'" in done.stderr
