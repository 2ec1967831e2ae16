"""`synthesis testset list | build | join`: what is printed, what is written, what is refused."""

import json
import os
import stat
import subprocess
import sys

import pytest
from log_samples import flat, nested, write_csv, write_jsonl, write_sqlite

from synthesis.cli.main import call
from synthesis.judge import testset


@pytest.fixture
def log(tmp_path):
    rows = [nested("q-1", 1), nested("q-2", 3, status="FAILED", answer=""), nested("q-3", 2)]
    return write_jsonl(tmp_path / "log.jsonl", rows)


def test_list_prints_the_newest_first_in_columns(log, capsys):
    assert call(["testset", "list", log]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["ID", "CREATED", "STATUS", "MODEL", "ANSWER", "CONTEXT", "QUESTION"]
    assert [line.split()[0] for line in lines[1:]] == ["q-2", "q-3", "q-1"]
    cells = [cell.strip() for cell in lines[2].split("  ") if cell]
    expected = ["q-3", "2025-03-02 10:00", "COMPLETED", "some-model", "13 chars", "1", "What about q-3?"]
    assert cells == expected


def test_list_shows_only_an_excerpt_and_no_control_character(tmp_path, capsys):
    nasty = "\x1b[2J\x07\x9b\u202e\u2028"
    rows = [nested(f"q-{nasty}", status=nasty, question=f"start {nasty}" + "long " * 100)]
    assert call(["testset", "list", write_jsonl(tmp_path / "l.jsonl", rows)]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    assert "start" in lines[1]
    assert "long " * 15 not in lines[1]


def test_list_filters_and_limits(log, capsys):
    assert call(["testset", "list", log, "--status", "completed", "--limit", "1"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["q-3"]
    assert call(["testset", "list", log, "--status", "none"]) == 0
    assert capsys.readouterr() == ("", "No row matches.\n")


def test_build_writes_a_set_that_loads_again(log, tmp_path, capsys):
    out = tmp_path / "new" / "set.json"
    assert call(["testset", "build", log, "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"Wrote 2 cases to {out}\n"
    assert captured.err == "note: matching rows without an answer, left out: 1\n"
    assert [case.query_log_id for case in testset.load_test_set(out)] == ["q-1", "q-3"]
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o600
    assert os.listdir(out.parent) == ["set.json"]


def test_the_same_rows_from_every_source_are_written_byte_for_byte_alike(tmp_path):
    rows = [flat("q-1"), flat("q-2", 2)]
    sources = [
        [write_jsonl(tmp_path / "l.jsonl", rows)],
        [write_csv(tmp_path / "l.csv", rows)],
        [write_sqlite(tmp_path / "l.db", rows), "--table", "logs"],
    ]
    for number, source in enumerate(sources):
        assert call(["testset", "build", *source, "--out", str(tmp_path / f"{number}.json")]) == 0
    assert len({(tmp_path / f"{number}.json").read_bytes() for number in range(3)}) == 1


def test_build_takes_ids_dates_samples_and_a_mapping(tmp_path):
    rows = [{**flat(f"q-{day}", day), "prompt": "other"} for day in range(1, 10)]
    source, out = write_csv(tmp_path / "l.csv", rows), tmp_path / "set.json"
    options = ["--from", "2025-03-02", "--until", "2025-03-08", "--sample", "3", "--seed", "5"]
    assert call(["testset", "build", source, "--out", str(out), *options, "--map", "question=prompt"]) == 0
    cases = testset.load_test_set(out)
    assert len(cases) == 3
    assert {case.question for case in cases} == {"other"}
    assert call(["testset", "build", source, "--out", str(out), "--id", "q-9", "--id", "q-1", "--force"]) == 0
    assert [case.query_log_id for case in testset.load_test_set(out)] == ["q-1", "q-9"]


def test_join_writes_one_set(tmp_path, capsys):
    answers, contexts, out = (str(tmp_path / name) for name in ("a.json", "c.json", "set.json"))
    (tmp_path / "a.json").write_text(json.dumps([{"queryLogId": "q-1", "question": "q", "answer": "ไทย"}]))
    entries = [{"queryLogId": name, "rankedCourses": []} for name in ("q-1", "q-2")]
    (tmp_path / "c.json").write_text(json.dumps(entries))
    assert call(["testset", "join", "--answers", answers, "--contexts", contexts, "--out", out]) == 0
    assert "1 of 2 contexts have no answer" in capsys.readouterr().err
    assert json.loads((tmp_path / "set.json").read_text(encoding="utf-8")) == [
        {"id": "q-1", "question": "q", "answer": "ไทย", "context": []}
    ]


def test_an_existing_file_is_not_replaced_without_force(log, tmp_path, capsys):
    out = tmp_path / "set.json"
    out.write_text("mine")
    assert call(["testset", "build", log, "--out", str(out)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert call(["testset", "build", log, "--out", str(out), "--force"]) == 0
    assert len(testset.load_test_set(out)) == 2


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["build", "{log}"], "Missing option '--out'"),
        (["build", "{log}", "--out", "{dir}"], "it is a folder"),
        (["build", "{log}", "--out", "{log}/set.json"], "cannot be written"),
        (["build", "{log}", "--out", "{dir}/x", "--sample", "0"], "Invalid value for '--sample'"),
        (["build", "{log}", "--out", "{dir}/x", "--from", "someday"], "is not a date"),
        (["build", "{log}", "--out", "{dir}/x", "--id", "absent"], "not in the log: absent"),
        (["build", "{dir}/absent.jsonl", "--out", "{dir}/x"], "no such file"),
        (["build", "{dir}", "--out", "{dir}/x"], "is a folder, not a file"),
        (["list", "{log}", "--map", "nonsense=x"], "there is no field 'nonsense'"),
        (["list", "sqlite:///{dir}/absent.db", "--table", "t"], "no such file"),
        (["join", "--answers", "{log}", "--contexts", "{log}", "--out", "{dir}/x"], "has no answer"),
        (["frobnicate"], "No such command"),
    ],
)
def test_bad_input_ends_with_1_a_reason_and_no_file(log, tmp_path, capsys, args, told):
    filled = [arg.format(log=log, dir=tmp_path) for arg in args]
    assert call(["testset", *filled]) == 1
    captured = capsys.readouterr()
    assert told in captured.err
    assert "Traceback" not in captured.err
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl"]


def test_a_password_in_a_database_url_is_never_printed(tmp_path):
    command = [
        sys.executable,
        "-m",
        "synthesis",
        "testset",
        "list",
        "postgresql://me:hush-hush@127.0.0.1:1/db",
    ]
    done = subprocess.run([*command, "--table", "logs"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "hush-hush" not in done.stdout + done.stderr
    assert "me:***@127.0.0.1" in done.stderr
