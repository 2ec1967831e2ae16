"""Local, Ray and Spark give the same bytes for the same input."""

import pytest
from conversation_samples import BAD, GOOD, SAID, exchanges
from engine_runs import Run, write_cases
from table_samples import MAP, content_of, read_verdicts, write_lake, write_parquet

pytest.importorskip("ray", reason="Ray is not installed (make test-engines installs it)")
pytest.importorskip("pyspark", reason="Spark is not installed (make test-engines installs it)")
pytestmark = pytest.mark.engines
ENGINES = ("ray", "spark")


def test_tables_of_parquet_logs_are_the_same_bytes(run: Run) -> None:
    pattern = write_lake(run.folder)
    found = {}
    for engine in ("local", *ENGINES):
        done = run(engine, "--cases", pattern, "--map", MAP, "--keep", "model", "--out-table", engine)
        assert done.returncode == 3, done.stderr
        assert done.stderr == "no verdict: 2 cases ended in error (exit code 3)\n"
        report = (run.folder / "out/report.json").read_text().replace(f"../{engine}", "../table")
        found[engine] = (content_of(run.folder / engine), report, done.stdout.replace(engine, "table"))
    assert found["ray"] == found["local"]
    assert found["spark"] == found["local"]
    assert len(read_verdicts(run.folder / "spark")) == 90


def test_tables_and_reports_of_case_files_are_the_same_bytes(run: Run) -> None:
    write_cases(run.folder / "cases.jsonl", 1500)
    found = {}
    for engine in ("local", *ENGINES):
        table = run(engine, "--cases", "cases.jsonl", "--out-table", engine)
        report = run(engine, "--cases", "cases.jsonl", "--sample", "300", "--out", f"{engine}.json")
        assert (table.returncode, report.returncode) == (0, 0), table.stderr + report.stderr
        found[engine] = (content_of(run.folder / engine), (run.folder / f"{engine}.json").read_bytes())
    assert found["ray"] == found["local"]
    assert found["spark"] == found["local"]


def test_a_bad_row_stops_every_engine_with_the_same_words_when_it_should(run: Run) -> None:
    pattern = write_lake(run.folder)
    options = ("--cases", pattern, "--map", MAP, "--on-bad-row", "stop", "--out-table")
    found = {engine: run(engine, *options, engine) for engine in ("local", *ENGINES)}
    assert {done.returncode for done in found.values()} == {1}
    assert len({done.stderr for done in found.values()}) == 1
    assert "line 8 (c-00007): 'reply' is empty" in found["spark"].stderr
    assert not (run.folder / "out/report.json").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_read_on_a_worker_is_told_without_a_traceback(run: Run, engine: str) -> None:
    pattern = write_lake(run.folder)
    (run.folder / "logs/date=2026-01-02/chats.parquet").write_bytes(b"PAR1 not a Parquet file PAR1")
    done = run(engine, "--cases", pattern, "--map", MAP, "--out-table", "verdicts")
    assert done.returncode == 1
    assert "is not a readable Parquet file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_begun_on_one_engine_resumes_on_another(run: Run) -> None:
    pattern = write_lake(run.folder)
    options = ("--cases", pattern, "--map", MAP, "--out-table", "verdicts")
    run("ray", *options)
    expected = content_of(run.folder / "verdicts")
    parts = sorted((run.folder / "verdicts").rglob("*.parquet"))
    parts[1].unlink()
    written = [path.stat().st_mtime_ns for path in parts if path != parts[1]]
    assert run("spark", *options).returncode == 3
    assert content_of(run.folder / "verdicts") == expected
    assert [path.stat().st_mtime_ns for path in parts if path != parts[1]] == written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("ray", "--ray-address", "127.0.0.1:1"), "Ray cannot be reached"),
        (("ray", "--ray-address", "auto"), "Ray cannot be reached"),
        (("spark", "--master", "nonsense"), "Spark cannot be started"),
    ],
)
def test_a_cluster_that_is_not_there_is_told(run: Run, options: tuple[str, ...], message: str) -> None:
    write_cases(run.folder / "cases.jsonl", 3)
    done = run(*options, "--cases", "cases.jsonl")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_conversations_are_whole_on_every_engine(run: Run) -> None:
    rows = [row for number in range(30) for row in exchanges(f"c-{number}", "ppppffff"[: 3 + number % 6])]
    write_parquet(run.folder / "log.parquet", rows, group=7)  # no row group ends with a conversation
    options = ("--cases", "log.parquet", "--map", "conversation=chat", "--checks", "agency_language", "--out-table")
    found = {}
    for engine in ("local", *ENGINES):
        done = run(engine, *options, engine)
        assert done.returncode == 0, done.stderr
        report = (run.folder / "out/report.json").read_text().replace(f"../{engine}", "../table")
        found[engine] = (content_of(run.folder / engine), report)
    assert found["ray"] == found["local"]
    assert found["spark"] == found["local"]
    verdicts = read_verdicts(run.folder / "spark")
    assert [row["id"] for row in verdicts] == [f"c-{number}" for number in range(30)]
    assert [len(row["timelines"][0]["outcomes"]) for row in verdicts] == [3 + number % 6 for number in range(30)]


@pytest.mark.parametrize("sort", [False, True])
def test_messages_are_joined_on_every_engine(run: Run, sort: bool) -> None:
    said = [
        {"chat_id": f"c-{number:02}", "role": role, "text": text}
        for number in range(12)
        for role, text in (("customer", SAID), ("bot", GOOD if number % 2 else BAD))
    ]
    write_parquet(run.folder / "log.parquet", said[::2] + said[1::2] if sort else said, group=5)
    options = ("--cases", "log.parquet", "--checks", "agency_language", *(["--sort"] if sort else []), "--out-table")
    found = {}
    for engine in ("local", *ENGINES):
        done = run(engine, *options, engine)
        assert done.returncode == 0, done.stderr
        found[engine] = content_of(run.folder / engine)
    assert found["ray"] == found["local"]
    assert found["spark"] == found["local"]
    outcomes = [(row["id"], row["outcome"]) for row in read_verdicts(run.folder / "spark")]
    assert outcomes == [(f"c-{number:02}", "pass" if number % 2 else "fail") for number in range(12)]
