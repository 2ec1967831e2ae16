"""The line to the database breaks: for a while it is tried again, then the run stops; nothing is lost or doubled."""

import subprocess
from collections import Counter
from uuid import uuid4

import pytest
from postgres import PASSWORD, new_server, shared_server
from run_processes import ProcessGroup, single_run, stored_lines, wait_until
from running import command, environment, results_of, sample_cases, write_set
from server import JudgeServer, held

from synthesis.judge.journal.base import Work
from synthesis.judge.journal.ledger import Ledger
from synthesis.judge.journal.lines import ErrorLine, SetLine, now
from synthesis.judge.journal.reading import JournalReader
from synthesis.judge.journal.shared.connection import SharedPlace
from synthesis.judge.journal.shared.exchange import ExchangeRequest, PendingLine, exchange
from synthesis.judge.journal.shared.joining import JoinedRun


@pytest.fixture(scope="module")
def database():
    server = new_server()
    yield server
    server.remove()


def test_a_server_that_comes_back_is_used_again(tmp_path, database):
    journal = database.new_database()
    processes = ProcessGroup(tmp_path, journal)
    with JudgeServer({f"sample-{n}": [held()] for n in (2, 3)}) as server:
        whole = {f"sample-{n}": 1 for n in range(8)}
        crowd = [processes.start(server.url, 8, lease=30, concurrency=1) for _ in range(2)]
        wait_until(lambda: {"sample-2", "sample-3"} <= set(server.calls), "the processes have not begun")
        database.stop()
        server.gate.set()
        wait_until(lambda: {"sample-2", "sample-3"} <= set(server.answered), "there is no answer")
        database.start()
        assert all(member.outcome()["complete"] for member in crowd)
        assert Counter(server.calls) == whole
        assert [member.results() for member in crowd] == [single_run(server, tmp_path / "whole", 8)] * 2
    processes.close()
    assert len(stored_lines(journal, "verdict")) == 8


def test_a_server_that_stays_away_ends_the_run_with_exit_code_3_and_the_same_command_goes_on(tmp_path, database):
    journal = database.new_database()
    cases = write_set(tmp_path / "set.json", sample_cases(6))
    with JudgeServer({"sample-4": [held()]}) as server:
        args = ("judge", "run", cases, "--judge-provider", "openai", "--base-url", server.url, "--root", "runs")
        line = command(*args, "--journal", journal, "--lease", 2, "--concurrency", 1)
        first = subprocess.Popen(line, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
        wait_until(lambda: "sample-4" in server.calls, "it has not come so far")
        database.stop()
        server.gate.set()
        said = first.communicate()[1]
        assert first.returncode == 3, said
        assert "the journal cannot be used" in said
        assert "4 of 6 judged and stored" in said
        assert PASSWORD not in said
        assert "Traceback" not in said
        assert "psycopg" not in said
        database.start()
        again = subprocess.run(line, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
        assert Counter(server.calls) == {f"sample-{n}": 1 + (n == 4) for n in range(6)}
        single_run(server, tmp_path / "whole", 6, output_dir="set")
    assert results_of(tmp_path / "runs" / "set") == results_of(tmp_path / "whole" / "set")


NOTHING_READ = JournalReader("here")


@pytest.fixture
def joined(tmp_path):
    """A connection, and a registered process in a run of three samples."""
    import psycopg

    url = shared_server().new_database()
    samples = Ledger()
    samples.apply(SetLine(now(), tuple((f"log-{n}", "print") for n in range(3))))
    with psycopg.connect(url, autocommit=True) as connection:
        entrance = JoinedRun(connection, SharedPlace(url, 60), "run")
        entrance.join(lambda _: [])
        yield connection, entrance.who, {(1, s.hash): Work(1, s) for s in samples.samples}


def failed(work):
    return ErrorLine(1, work.sample.hash, work.sample.fingerprint, now(), work.sample.query_log_id, "?", "no")


def test_an_order_that_was_carried_out_unknown_to_the_process_is_not_carried_out_twice(joined):
    connection, who, unjudged = joined
    request = ExchangeRequest(1, 0, NOTHING_READ, wanted=2, unjudged=unjudged)
    given = exchange(connection, who, request).granted
    assert exchange(connection, who, request).granted == given
    work = given[0]
    request = ExchangeRequest(
        2,
        0,
        NOTHING_READ,
        (PendingLine(failed(work), work.token),),
        1,
        unjudged,
        frozenset(item.token for item in given),
    )
    first, second = exchange(connection, who, request), exchange(connection, who, request)
    assert first.stored == second.stored == {0: request.entries[0].line}
    assert first.granted == second.granted
    assert connection.execute("SELECT count(*) FROM synthesis_judge.line").fetchone() == (1,)
    assert first.granted[0].sample.query_log_id == "log-2"


def test_a_lease_runs_out_by_the_clock_of_the_database_and_its_holder_is_fenced_off(joined):
    connection, who, unjudged = joined
    other = type(who)(uuid4(), "other", who.run, who.lease, who.shown)
    [mine] = exchange(connection, who, ExchangeRequest(1, 0, NOTHING_READ, wanted=1, unjudged=unjudged)).granted
    assert mine.sample.query_log_id == "log-0"
    [theirs] = exchange(connection, other, ExchangeRequest(1, 0, NOTHING_READ, wanted=1, unjudged=unjudged)).granted
    assert theirs.sample.query_log_id == "log-1"
    connection.execute("UPDATE synthesis_judge.worker SET expires = now() - interval '1 s' WHERE id = %s", [who.worker])
    [taken] = exchange(
        connection, other, ExchangeRequest(2, 0, NOTHING_READ, wanted=1, unjudged=unjudged, held=frozenset([2]))
    ).granted
    assert (taken.sample, taken.token != mine.token) == (mine.sample, True)
    late = exchange(connection, who, ExchangeRequest(2, 0, NOTHING_READ, (PendingLine(failed(mine), mine.token),)))
    assert (late.stored, late.held_elsewhere) == ({}, 2)
    assert rows_of_lines(connection) == 0


def rows_of_lines(connection):
    return connection.execute("SELECT count(*) FROM synthesis_judge.line").fetchone()[0]
