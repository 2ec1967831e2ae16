"""Every change of a stored line is noticed: by its checksum, or, in a line of version 0.1, by what it contradicts."""

import json
import random
import shutil
from pathlib import Path

import pytest
from running import config_for, judge, sample_cases, synthesis
from server import JudgeServer, says

from synthesis.errors import RunFolderError
from synthesis.judge.journal import read_ledger

OLD_RUNS = Path(__file__).parents[1] / "fixtures_0_1" / "judged"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The journal of a finished run: run, set, then a call and its end, six times."""
    root = tmp_path_factory.mktemp("finished")
    with JudgeServer({"sample-1": [says("nonsense")]}) as server:
        judge(sample_cases(5), config_for(server, root, concurrency=1))
    return (root / "run" / "journal.jsonl").read_bytes()


def read_again(folder, content):
    (folder / "run").mkdir(exist_ok=True)
    (folder / "run" / "journal.jsonl").write_bytes(content)
    return read_ledger(folder / "run")


def line_of_damage(folder, content):
    with pytest.raises(RunFolderError) as caught:
        read_again(folder, content)
    assert "Nothing was changed" in caught.value.hint
    assert "--output-dir" in caught.value.hint
    return caught.value.place.line


def test_a_score_that_was_edited_is_noticed(finished, tmp_path):
    lines = finished.splitlines(keepends=True)
    score = b'"score":%d' % json.loads(lines[3])["record"]["judgeVerdict"]["faithfulness"]["score"]
    for other in (b'"score":9', b'"score":5', b'"score":4'):
        edited = [*lines[:3], lines[3].replace(score, other, 1), *lines[4:]]
        assert line_of_damage(tmp_path, b"".join(edited)) == 4


@pytest.mark.parametrize("key", [b'"judgeVerdict"', b'"tokenUsage"', b'"record"', b'"question"', b'"sum"', b'"h"'])
def test_a_flipped_key_is_noticed(finished, tmp_path, key):
    lines = finished.splitlines(keepends=True)
    lines[3] = lines[3].replace(key, key[:1] + bytes([key[1] ^ 1]) + key[2:])
    assert line_of_damage(tmp_path, b"".join(lines)) == 4


def test_every_flipped_bit_is_noticed_at_its_line_or_the_next(finished, tmp_path):
    """A flipped line break joins two lines; a first line whose checksum is gone is noticed by the second."""
    chance = random.Random(15)
    for position in [*chance.sample(range(len(finished)), 300), len(finished) - 1]:
        content = bytearray(finished)
        content[position] ^= 1 << chance.randrange(8)
        number = finished.count(b"\n", 0, position) + 1
        assert line_of_damage(tmp_path, bytes(content)) in (number, number + (number == 1))


@pytest.mark.parametrize("number", range(1, 13))
def test_a_line_that_was_lost_doubled_or_moved_is_noticed(finished, tmp_path, number):
    lines = finished.splitlines(keepends=True)
    here, rest = lines[number - 1], lines[number:]
    assert line_of_damage(tmp_path, b"".join([*lines[: number - 1], *rest])) == number
    assert line_of_damage(tmp_path, b"".join([*lines[:number], here, *rest])) == number + 1
    assert line_of_damage(tmp_path, b"".join([*lines[: number - 1], rest[0], here, *rest[1:]])) == number


def test_what_the_hint_says_saves_the_lines_before_the_damage(finished, tmp_path):
    lines = finished.splitlines(keepends=True)
    lines[9] = lines[9].replace(b'"t"', b'"T"')
    with pytest.raises(RunFolderError, match="damaged") as caught:
        read_again(tmp_path, b"".join(lines))
    assert "`head -n 9` keeps them" in caught.value.hint
    read_again(tmp_path, b"".join(lines[:9]))
    with JudgeServer({}) as server:
        assert judge(sample_cases(5), config_for(server, tmp_path, concurrency=1)).complete
        assert server.calls == ["sample-2", "sample-3", "sample-4"]


def test_the_command_says_where_and_what_to_do_without_a_traceback(finished, tmp_path):
    lines = finished.splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"judgeVerdict"', b'"kudgeVerdict"')
    (tmp_path / "runs" / "set").mkdir(parents=True)
    (tmp_path / "runs" / "set" / "journal.jsonl").write_bytes(b"".join(lines))
    done = synthesis("judge", "report", "set", "--root", "runs", cwd=tmp_path)
    assert done.returncode == 1
    assert "journal.jsonl:4: the journal is damaged" in done.stderr
    assert "Restore the file from a copy" in done.stderr
    assert "Traceback" not in done.stderr


def old_run(tmp_path, name):
    shutil.copytree(OLD_RUNS / name, tmp_path / name)
    return tmp_path / name


def resumed(tmp_path, folder):
    testset = OLD_RUNS.parent / "testset.json"
    options = ("--root", tmp_path, "--output-dir", folder.name, "--on-change", "rejudge", "--allow-untold", "1")
    done = synthesis("judge", "run", testset, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)


def test_lines_of_0_1_are_accepted_up_to_the_first_that_has_a_checksum(tmp_path):
    folder = old_run(tmp_path, "ferry-half")
    before = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines = resumed(tmp_path, folder)
    assert lines[: len(before)] == before
    assert not any(b'"sum":' in line for line in before)
    assert all(b'"sum":' in line for line in lines[len(before) :])
    assert read_ledger(folder).samples
    (folder / "journal.jsonl").write_bytes(b"".join([*lines, before[-1]]))
    with pytest.raises(RunFolderError, match="has no checksum, though the lines before it have") as caught:
        read_ledger(folder)
    assert caught.value.place.line == len(lines) + 1


def test_the_first_checksum_vouches_for_the_lines_of_0_1_before_it(tmp_path):
    folder = old_run(tmp_path, "ferry-half")
    count = len((folder / "journal.jsonl").read_bytes().splitlines())
    lines = resumed(tmp_path, folder)
    lines[2] = lines[2].replace(b"weekdays", b"Weekdays")
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(RunFolderError, match="checksum does not match") as caught:
        read_ledger(folder)
    assert caught.value.place.line == count + 1
    assert "head" not in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"faithfulness":{"score":5', b'"faithfulness":{"score":9'),
        (b'"faithfulness":{"score":5', b'"faithfulness":{"score":4'),
        (b'"judgeVerdict"', b'"kudgeVerdict"'),
        (b'"tokenUsage"', b'"uokenUsage"'),
        (b'"passed":', b'"passee":'),
        (b'"queryLogId":"ferry-1"', b'"queryLogId":"ferry-2"'),
        (b'"i":1', b'"i":0'),
        (b'"i":1', b'"i":7'),
        (b'"h":"d', b'"h":"e'),
        (b'"n":null', b'"n":1234'),
    ],
)
def test_a_line_of_0_1_that_cannot_be_true_is_refused(tmp_path, old, new):
    folder = old_run(tmp_path, "ferry")
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert old in lines[2]
    lines[2] = lines[2].replace(old, new, 1)
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(RunFolderError) as caught:
        read_ledger(folder)
    assert caught.value.place.line == 3


def test_the_copy_that_0_1_left_of_a_shared_journal_is_read_and_resumed_under_its_new_name(finished, tmp_path):
    copy = tmp_path / "run" / "shared-journal.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(finished)
    assert read_ledger(tmp_path / "run").next_call == 7
    with JudgeServer() as server:
        with pytest.raises(RunFolderError) as caught:
            judge(sample_cases(6), config_for(server, tmp_path))
        assert "Rename shared-journal.jsonl to journal.jsonl" in caught.value.hint
        copy.rename(copy.with_name("journal.jsonl"))
        assert judge(sample_cases(6), config_for(server, tmp_path)).complete
        assert len(server.calls) == 1
