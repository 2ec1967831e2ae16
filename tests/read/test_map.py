"""One `--map` language: a column, or a path into it, in every format and for every command."""

import json
from pathlib import Path

import pytest
from helpers import CommandLine, write_jsonl

from synthesis.checks.registry import checks
from synthesis.errors import OptionError
from synthesis.judge import testset
from synthesis.model import Case
from synthesis.read.cases import CaseValidator
from synthesis.read.inputs import Input, log_cases
from synthesis.read.mapping import parse_case_map, parse_map, value_at
from synthesis.read.rows import LogOptions

ROW = {"prompt": "I feel stuck.", "choices": [{"text": "first"}, {"text": "You decide."}], "meta": {"chat": "c-1"}}
MAP = "user=prompt,assistant=choices[1].text"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", "literal"),
        ("deep.list[1].x", 2),
        ("deep.list.1.x", 2),
        ("Deep.LIST[0].X", 1),
        ("cell.inner[0]", "decoded"),
        ("deep.none", None),
        ("deep.list[9].x", None),
        ("deep.list[-1]", None),
        ("a", None),
        ("snake-case", "folded"),
    ],
)
def test_a_path_leads_to_a_value(path: str, value: object) -> None:
    row = {
        "a.b": "literal",
        "deep": {"list": [{"x": 1}, {"x": 2}], "none": None},
        "cell": '{"inner": ["decoded"]}',
        "snake_case": "folded",
    }
    assert value_at(row, path) == value


def cases(path: Path, text: str = MAP) -> list[object]:
    return list(log_cases(Input.of(path), LogOptions(CaseValidator(checks()), columns=parse_case_map(text))))


def test_the_same_path_works_in_every_format(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    write_jsonl(tmp_path / "log.jsonl", [ROW])
    (tmp_path / "log.json").write_text(json.dumps([ROW]))
    (tmp_path / "log.csv").write_text('prompt,choices\nI feel stuck.,"[{}, {""text"": ""You decide.""}]"\n')
    parquet.write_table(pyarrow.Table.from_pylist([ROW]), tmp_path / "log.parquet")
    for ending in ("jsonl", "json", "csv", "parquet"):
        (case,) = cases(tmp_path / f"log.{ending}")
        assert isinstance(case, Case), case
        assert (case.user, case.assistant) == ("I feel stuck.", "You decide."), ending


def test_a_path_may_name_the_conversation(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "log.jsonl", [ROW, ROW])
    (case,) = cases(tmp_path / "log.jsonl", f"{MAP},conversation=meta.chat")
    assert isinstance(case, Case)
    assert (case.id, len(case.messages)) == ("c-1", 4)


def test_a_test_set_takes_the_same_paths(tmp_path: Path) -> None:
    row = {"id": 1, **ROW, "context": ["c"]}
    path = write_jsonl(tmp_path / "set.jsonl", [row])
    mapping = parse_map(["question=prompt", "answer=choices[1].text"], testset.NAMES)
    (case,) = testset.load_test_set(path, mapping=mapping)
    assert (case.question, case.answer) == ("I feel stuck.", "You decide.")


def test_options_may_be_repeated_and_a_later_one_wins() -> None:
    assert parse_map(["user=a,assistant=b", "user=c"], ("user", "assistant")) == {"user": "c", "assistant": "b"}


@pytest.mark.parametrize("text", ["user", "user=", "=x", "", "user=a,user=b", "nobody=x"])
def test_a_map_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--map"):
        parse_map(text, ("user", "assistant"))


def test_a_path_that_leads_nowhere_names_the_keys_that_were_seen(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "log.jsonl", [ROW])
    outcome = cli(
        "eval", "log.jsonl", "--map", "user=prompt", "--map", "assistant=choices[7].text", "--on-bad-row=stop"
    )
    assert outcome.code == 1
    assert "has no 'choices[7].text'" in outcome.err
    assert "the row has: choices, meta, prompt" in outcome.err


@pytest.mark.parametrize("ending", [".jsonl.gz", ".csv.gz", ".json.gz"])
def test_compressed_files_of_every_text_format_are_read(tmp_path: Path, ending: str) -> None:
    import gzip

    exchange = {"user": "u", "assistant": "a"}
    content = {
        ".jsonl.gz": json.dumps(exchange),
        ".csv.gz": "user,assistant\nu,a\n",
        ".json.gz": json.dumps([exchange]),
    }
    path = tmp_path / f"log{ending}"
    path.write_bytes(gzip.compress(content[ending].encode()))
    (case,) = cases(path, "user=user")
    assert isinstance(case, Case)
    assert (case.user, case.assistant) == ("u", "a")


TIMED = [
    {"role": "user", "content": "I feel stuck.", "ts": "2026-01-31T10:00:00Z"},
    {"role": "assistant", "content": "You decide.", "ts": "2026-01-31T10:01:00Z"},
]
TIMES = (1769853600.0, 1769853660.0)


def times(path: Path, text: str) -> tuple[float | None, ...]:
    (case,) = cases(path, text)
    assert isinstance(case, Case), case
    return case.times


def test_times_are_those_of_the_messages_and_of_no_other_list(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "log.jsonl", [{"tags": ["a"], "messages": TIMED}])
    assert times(tmp_path / "log.jsonl", "time=ts") == TIMES
    write_jsonl(tmp_path / "other.jsonl", [{"tags": ["a"], "conversations": TIMED}])
    assert times(tmp_path / "other.jsonl", "time=ts") == TIMES


def test_messages_in_a_cell_keep_their_times(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for name, text in (("messages", "time=ts"), ("chat", "messages=chat,time=ts")):
        cell = json.dumps(TIMED)
        (tmp_path / "log.csv").write_text(f'{name}\n"{cell.replace(chr(34), chr(34) * 2)}"\n')
        assert times(tmp_path / "log.csv", text) == TIMES
        for content in (cell, TIMED):
            parquet.write_table(pyarrow.Table.from_pylist([{name: content}]), tmp_path / "log.parquet")
            assert times(tmp_path / "log.parquet", text) == TIMES


def test_a_time_that_neither_the_table_nor_a_message_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,assistant\nHi,Hello\n")
    with pytest.raises(OptionError, match="has no column 'ts'"):
        cases(tmp_path / "log.csv", "time=ts")


TRACE = {
    "id": "t-1",
    "inputs": {"question": "How long does the battery last?"},
    "outputs": {"choices": [{"message": {"content": "It lasts for ten hours."}}]},
    "context": ["The battery lasts for ten hours."],
}
TRACE_MAP = "user=inputs.question,assistant=outputs.choices[0].message.content"


def test_one_map_means_the_same_in_every_command(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "log.jsonl", [TRACE])
    assert cli("eval", "log.jsonl", "--map", TRACE_MAP).code == 0
    (result,) = cli.report()["results"]
    assert (result["id"], result["user"], result["assistant"]) == (
        "t-1",
        "How long does the battery last?",
        "It lasts for ten hours.",
    )
    audited = cli("audit", "log.jsonl", "--map", TRACE_MAP, "--out", "audit")
    assert audited.out.startswith("1 conversation, 1 turn\n")
    judged = cli("judge", "run", "log.jsonl", "--map", TRACE_MAP)
    assert "log: 0 of 1 sample told offline" in judged.out, judged
    built = cli("testset", "build", "log.jsonl", "--map", TRACE_MAP, "--out", "set.json")
    assert built.code == 0, built
    (sample,) = json.loads((cli.folder / "set.json").read_text())
    assert (sample["question"], sample["answer"]) == ("How long does the battery last?", "It lasts for ten hours.")
    assert "How long does the battery last?" in cli("testset", "list", "log.jsonl", "--map", TRACE_MAP).out
