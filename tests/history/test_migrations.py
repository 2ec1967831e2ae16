"""A history of any earlier version is brought up to date with all that is in it; one of a newer tool is refused."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from run_samples import judge_offline, stored
from sqlalchemy import inspect, text

from synthesis.errors import HistoryError
from synthesis.history import open_history
from synthesis.history.database import STEPS, Database, lock, metadata, migrate, open_database, take
from synthesis.labels import Person

SUMMARY = (
    '{"cases":1,"passed":0,"failed":1,"errors":0,"not_applicable":0,"strict_passed":0,"strict_failed":1,'
    '"expected_failures":0,"unexpected_failures":1,"by_check":{}}'
)
RECORD = (
    '{"id":"T-1","pass":false,"outcome":"fail","is_negative_example":false,"language":"en","findings":[],'
    '"checks":{"agency_language":{"pass":false}}}'
)
# What each version could hold, written as it was then.
WRITTEN = {
    1: (
        "INSERT INTO synthesis_runs (id, kind, name, started, tool_version, with_text, conditions, summary) VALUES"
        f" ('0123456789ab', 'checks', 'old', '2026-01-01T00:00:00.000Z', '0.0.1', FALSE, '{{}}', '{SUMMARY}')",
        "INSERT INTO synthesis_cases (run_id, position, case_id, outcome, kind, language, words, record) VALUES"
        f" ('0123456789ab', 0, 'T-1', 'fail', 'unexpected', 'en', 't-1', '{RECORD}')",
        "INSERT INTO synthesis_outcomes VALUES ('0123456789ab', 0, 'agency_language', 'fail', TRUE, FALSE)",
        "INSERT INTO synthesis_findings VALUES"
        " ('0123456789ab', 0, 0, 'agency.negative.you-should', 'agency.negative', 'assistant', 0, 0, 10)",
    ),
    2: (
        "INSERT INTO synthesis_runs (id, kind, name, started, tool_version, with_text, conditions, summary, origin)"
        " VALUES ('ba9876543210', 'judge', 'set', '2026-01-02T00:00:00.000Z', '0.0.2', FALSE, '{}',"
        """ '{"iterations":[]}', 'there')""",
        "INSERT INTO synthesis_samples (run_id, iteration, position, query_log_id, faithfulness, completeness, overall,"
        " passed, error, words, record) VALUES"
        """ ('ba9876543210', 1, 0, 'log-1', 5, 4, 4.5, TRUE, NULL, 'log-1', '{"queryLogId":"log-1"}')""",
    ),
    3: ("INSERT INTO synthesis_tags VALUES ('0123456789ab', 'release')",),
}


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    opened = open_database(place, create=True)
    yield opened
    opened.engine.dispose()


def fill(database: Database, version: int) -> None:
    with database.writing() as connection:
        for number in range(1, version + 1):
            for statement in WRITTEN.get(number, ()):
                connection.exec_driver_sql(statement)


@pytest.mark.parametrize("version", range(1, len(STEPS) + 1))
def test_data_of_every_earlier_version_is_there_afterwards(database: Database, place: str, version: int) -> None:
    migrate(database, to=version)
    fill(database, version)
    with open_history(place) as history:
        run = history.run("0123456789ab")
        assert (run.name, run.tool_version, run.figures.failures) == ("old", "0.0.1", 1)
        assert run.tags == (("release",) if version >= 3 else ())
        found = history.outcomes(run.id, check="agency_language", outcome="fail", rule="agency.negative.you-should")
        assert [(case.case_id, case.checks[0].matched) for case in found.items] == [("T-1", False)]
        if version >= 2:
            assert history.samples("ba98").items[0].faithfulness == 5


@pytest.mark.parametrize("version", range(len(STEPS)))
def test_what_is_new_works_in_a_history_of_every_earlier_version(
    database: Database, place: str, version: int, tmp_path: Path
) -> None:
    if version:
        migrate(database, to=version)
        fill(database, version)
    with open_history(place) as history:
        run_id = history.add_report(stored())
        assert history.tag(run_id, add=["new"]).tags == ("new",)
        history.add_judged(judge_offline(tmp_path))
        history.labels(run_id).store(0, "agency_language", Person("Ana", True), "yes")
        assert history.runs(limit=1, tag="new")[0].id == run_id
        assert history.delete(run_id) == 1


def test_the_steps_lead_to_the_tables_that_are_used(database: Database) -> None:
    migrate(database)
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            there = {column["name"] for column in inspect(connection).get_columns(table.name)}
            assert there == set(table.columns.keys()), table.name


def test_each_step_is_written_down_once(database: Database) -> None:
    for _ in range(2):
        migrate(database)
    with database.reading() as connection:
        found = connection.execute(text("SELECT version FROM synthesis_schema_version ORDER BY version")).scalars()
        assert list(found) == list(range(1, len(STEPS) + 1))


def test_a_history_of_a_newer_tool_is_refused_and_left_alone(database: Database, place: str) -> None:
    migrate(database)
    with database.writing() as connection:
        connection.execute(text("INSERT INTO synthesis_schema_version (version) VALUES (99)"))
    with pytest.raises(HistoryError, match=r"version 99, which is newer than this tool knows") as refused:
        open_history(place)
    assert "pip install --upgrade" in str(refused.value)


def test_a_step_that_fails_leaves_the_version_before_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(database, to=1)
    broken = (*STEPS[:2], ("CREATE TABLE synthesis_tags (tag TEXT)", "NONSENSE"))
    monkeypatch.setattr("synthesis.history.database.STEPS", broken)
    with pytest.raises(HistoryError):
        migrate(database, to=3)
    with database.reading() as connection:
        assert connection.execute(text("SELECT max(version) FROM synthesis_schema_version")).scalar() == 1
        assert not inspect(connection).has_table("synthesis_tags")


def test_who_comes_second_waits_and_finds_the_work_done(database: Database, place: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        with database.writing() as connection:
            lock(connection)
            second = pool.submit(lambda: open_history(place).runs())
            time.sleep(1)  # long enough for the second to come to the door
            for number in range(1, len(STEPS) + 1):
                take(connection, number)
        assert second.result() == []


BEGIN_TOGETHER = """
import sys
from synthesis.history.store import History
print("ready", flush=True)
sys.stdin.readline()
History.open(sys.argv[1])
"""


@pytest.mark.slow  # the quick group has processes that save at once
def test_processes_that_begin_a_history_at_once_do_not_disturb_each_other(place: str) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", BEGIN_TOGETHER, place]
    begun = [subprocess.Popen(command, text=True, **pipes) for _ in range(6)]
    assert [process.stdout.readline() for process in begun if process.stdout] == ["ready\n"] * 6
    for process in begun:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in begun] == [""] * 6
    with open_history(place) as history:
        assert history.runs() == []
