"""A journal survives a torn end, and refuses anything else that is wrong, with the line."""

import json
import shutil

import pytest
from running import config_for, judge, read, results_of, sample_cases
from server import JudgeServer, says

from synthesis.errors import RunFolderError
from synthesis.judge.journal import Journal, read_ledger
from synthesis.judge.ledger import State


@pytest.fixture
def finished(tmp_path):
    """A run of three samples, and the server that judged it."""
    with JudgeServer({"sample-1": [says("nonsense")]}) as server:
        judge(sample_cases(3), config_for(server, tmp_path / "first", concurrency=1))
        yield server, tmp_path / "first" / "run"


def left_after_opening(folder):
    """Where the samples stand once the journal is open for writing, and again when it is read."""
    journal = Journal(folder)
    opened = [journal.ledger.iteration(1).state(sample) for sample in journal.ledger.samples]
    journal.close()
    ledger = read_ledger(folder)
    assert [ledger.iteration(1).state(sample) for sample in ledger.samples] == opened
    return opened


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_cut_anywhere_in_its_last_line_it_loses_at_most_that_line(finished, tmp_path, every):
    server, folder = finished
    whole = results_of(folder)
    content = (folder / "journal.jsonl").read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for end in sorted({*range(last, len(content), every), len(content) - 2, len(content) - 1}):
        root = tmp_path / f"cut-{end}"
        shutil.copytree(folder, root / "run")
        (root / "run" / "journal.jsonl").write_bytes(content[:end])
        unfinished = end < len(content) - 1
        third = State.PENDING if unfinished else State.JUDGED
        assert left_after_opening(root / "run") == [State.JUDGED, State.JUDGED, third]
        if (end - last) % 50 and end < len(content) - 2:  # a whole run for some, the opening for all
            shutil.rmtree(root)
            continue
        calls = len(server.calls)
        assert judge(sample_cases(3), config_for(server, root, concurrency=1)).complete
        assert server.calls[calls:] == (["sample-2"] if unfinished else [])
        assert results_of(root / "run") == whole
        assert len(read_ledger(root / "run").iteration(1).verdicts) == 3
        shutil.rmtree(root)


def test_cut_at_every_byte_of_its_first_line_it_starts_over(finished, tmp_path):
    server, folder = finished
    content = (folder / "journal.jsonl").read_bytes()
    for end in range(0, content.index(b"\n"), 97):
        root = tmp_path / f"cut-{end}"
        (root / "run").mkdir(parents=True)
        (root / "run" / "journal.jsonl").write_bytes(content[:end])
        assert judge(sample_cases(1), config_for(server, root)).complete


def damaged(folder, edit):
    path = folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    edit(lines)
    path.write_bytes(b"".join(lines))
    return path.read_bytes()


def replaced(index, line):
    def edit(lines):
        lines[index] = line

    return edit


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (replaced(0, b"my shopping list\n"), 1),
        (replaced(0, b'{"some": "json"}\n'), 1),
        (replaced(0, b'{"t":"set","at":"","samples":[]}\n'), 1),
        (replaced(2, b"\xff\xfe\n"), 3),
        (replaced(3, b'{"t":"verdict"}\n'), 4),
        (replaced(3, b'{"t":"surprise"}\n'), 4),
        (replaced(3, b"\n"), 4),
        (lambda lines: lines.pop(2), 3),
        (lambda lines: lines.append(b"}{\n"), 11),
    ],
    ids=["prose", "json", "no judge", "not utf-8", "no fields", "kind", "empty line", "line lost", "bad end"],
)
def test_a_foreign_or_damaged_journal_is_refused_with_its_line_and_left_alone(finished, edit, line):
    server, folder = finished
    content = damaged(folder, edit)
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError) as caught:
        judge(sample_cases(3), config_for(server, folder.parent))
    assert caught.value.place.line == line
    assert "--output-dir" in caught.value.hint
    assert (folder / "journal.jsonl").read_bytes() == content
    assert {path: path.read_bytes() for path in files} == files


def test_a_journal_of_a_later_format_is_refused(finished):
    _, folder = finished
    damaged(folder, lambda lines: lines.__setitem__(0, lines[0].replace(b'"format":1', b'"format":2')))
    with pytest.raises(RunFolderError, match="format 2"):
        read_ledger(folder)


def test_results_without_a_journal_are_somebody_elses(finished):
    server, folder = finished
    (folder / "journal.jsonl").unlink()
    with pytest.raises(RunFolderError, match="not from this tool"):
        judge(sample_cases(3), config_for(server, folder.parent))


def test_every_line_says_what_it_is_and_the_record_is_whole(finished):
    _, folder = finished
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert [line["t"] for line in lines[:4]] == ["run", "set", "call", "verdict"]
    assert [line["t"] for line in lines[4:8]] == ["call", "reply", "call", "verdict"]
    records = read(folder / "records" / "records-iteration-1.json")
    assert lines[3]["record"] == records[0]
