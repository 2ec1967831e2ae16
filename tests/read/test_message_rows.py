"""Logs with a row for each message: joined to conversations in every format, sorted on disk where they are mixed."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conversation_samples import BAD, GOOD, SAID
from helpers import CommandLine, write_jsonl
from log_files import WRITERS, write_csv, write_parquet

from synthesis import evaluate_table
from synthesis.checks import checks
from synthesis.errors import OptionError, Problem
from synthesis.model import Case
from synthesis.read import conversations
from synthesis.read.cases import CaseValidator, side_of
from synthesis.read.inputs import Input, log_cases
from synthesis.read.mapping import parse_case_map, with_message_columns
from synthesis.read.rows import LogOptions

MAP = "conversation=chat,role=who,text=words"


def messages(chat: Any, *said: tuple[str, str | None]) -> list[dict[str, Any]]:
    return [{"chat": chat, "who": who, "words": words} for who, words in said]


ROWS = [
    *messages("a", ("customer", SAID), ("bot", BAD), ("system", "closed"), ("customer", "Thanks"), ("bot", GOOD)),
    *messages("b", ("visitor", SAID), ("Agent", GOOD)),
]
MIXED = [ROWS[0], ROWS[5], *ROWS[1:3], ROWS[6], *ROWS[3:5]]


def read(path: Path, given: str = MAP, **options: Any) -> list[Case | Problem]:
    return list(
        log_cases(Input.of(path), LogOptions(CaseValidator(checks()), columns=parse_case_map(given), **options))
    )


def only_problem(path: Path) -> Problem:
    (found,) = read(path)
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("sort", [False, True])
def test_messages_of_one_conversation_are_one_case(tmp_path: Path, suffix: str, sort: bool) -> None:
    first, second = read(WRITERS[suffix](tmp_path / f"log{suffix}", MIXED if sort else ROWS), sort=sort)
    assert isinstance(first, Case)
    assert isinstance(second, Case)
    assert (first.id, first.exchanges) == ("a", [(SAID, BAD), ("Thanks", GOOD)])
    assert (second.id, second.exchanges) == ("b", [(SAID, GOOD)])
    assert second.source is not None
    assert second.source.line == (2 if sort else 6) + (suffix == ".csv")


@pytest.mark.parametrize(("held", "open_files"), [(0, 2), (600, 64)])
def test_sorting_keeps_order_however_many_runs_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int, open_files: int
) -> None:
    monkeypatch.setattr(conversations, "MOST_HELD", held)
    monkeypatch.setattr(conversations, "MOST_RUNS", open_files)
    rows = [messages(f"c{place % 3}", ("user", f"{place}"))[0] for place in range(30)]
    found = read(write_jsonl(tmp_path / "log.jsonl", [*rows[:7], "{", *rows[7:]]), sort=True)
    assert isinstance(found[0], Problem)
    said = [[int(turn.content) for turn in case.messages] for case in found if isinstance(case, Case)]
    assert said == [list(range(first, 30, 3)) for first in range(3)]


def test_what_is_sorted_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MOST_HELD", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "there"))
    (tmp_path / "there").mkdir()
    rows = log_cases(
        Input.of(write_jsonl(tmp_path / "log.jsonl", MIXED)),
        LogOptions(CaseValidator(checks()), columns=parse_case_map(MAP), sort=True),
    )
    next(rows)
    assert [*(tmp_path / "there").iterdir()]
    rows.close()  # type: ignore[attr-defined]
    assert not [*(tmp_path / "there").iterdir()]


BAD_ROWS = {
    "role": (messages("a", ("Anna", "Hi")), "its first row has the unknown role 'Anna' (in 'who')."),
    "no-role": ([{"chat": "a", "words": "Hi"}], "its first row has no 'who' (--map role=NAME names it;"),
    "no-text": ([{"chat": "a", "who": "user"}], "its first row has no 'words' (--map text=NAME names it;"),
    "number": ([{"chat": "a", "who": "user", "words": 5}], "its first row 'words' is not text"),
    "silent": (messages("a", ("user", ""), ("bot", None)), "the conversation holds no text"),
    "lost": (messages(None, ("user", "Hi")), "its 'chat' is empty, so the row belongs to no conversation"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_message_that_cannot_be_used_says_why(tmp_path: Path, rows: list[Any], message: str) -> None:
    assert only_problem(write_jsonl(tmp_path / "log.jsonl", rows)).message.startswith(message)


def test_a_message_without_words_is_left_out(tmp_path: Path) -> None:
    rows = messages("a", ("user", None), ("user", SAID), ("bot", " "), ("bot", GOOD))
    (case,) = read(write_jsonl(tmp_path / "log.jsonl", rows))
    assert isinstance(case, Case)
    assert [turn.content for turn in case.messages] == [SAID, GOOD]
    assert case.source is not None
    assert case.source.line == 1


@pytest.mark.parametrize(
    ("role", "side"),
    [
        ("Customer", "user"),
        ("end-user", "user"),
        ("End User", "user"),
        ("VISITOR", "user"),
        ("inbound", "user"),
        ("agent", "assistant"),
        ("AI", "assistant"),
        ("virtual agent", "assistant"),
        ("system", "system"),
        ("note", "system"),
        ("Kundin", "user"),
        ("usuário", "user"),
        ("ユーザー", "user"),
        ("ग्राहक", "user"),
        ("Berater", "assistant"),
        ("客服", "assistant"),
        ("Anna", None),
        (5, None),
    ],
)
def test_roles_go_by_many_names(role: Any, side: str | None) -> None:
    assert side_of(role) == side


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("conversation_id,role,content", ("conversation_id", "role", "content")),
        ("id,Ticket ID,Created,Sender Name,Sender Type,Body", ("Ticket ID", "Sender Type", "Body")),
        ("chatId,from,message", ("chatId", "from", "message")),
        ("session,direction,text", ("session", "direction", "text")),
        ("ticket_id,created_at,author_role,comment", ("ticket_id", "author_role", "comment")),
    ],
)
def test_exports_are_read_by_the_names_of_their_columns(names: str, found: tuple[str, ...]) -> None:
    assert with_message_columns({}, names.split(",")) == dict(zip(("conversation", "role", "text"), found, strict=True))


@pytest.mark.parametrize("names", ["role,content", "conversation,messages,role,text", "chat,user,assistant,role,text"])
def test_other_logs_are_left_as_they_are(names: str) -> None:
    assert with_message_columns({}, names.split(",")) == {}


def test_what_the_map_names_is_taken_as_named() -> None:
    names = ["thread", "role", "who", "text"]
    assert with_message_columns({"role": "who"}, names) == {"role": "who", "conversation": "thread", "text": "text"}
    assert with_message_columns({"user": "text"}, names) == {"user": "text"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("user=x,assistant=x", "--map names 'x' as 'assistant' and as 'user'"),
        ("conversation=x,role=y,text=x", "--map names 'x' as 'conversation' and as 'text'"),
        ("role=x,user=y", "--map names 'role' together with 'user'"),
        ("text=x,messages=y", "--map names 'text' together with 'messages'"),
    ],
)
def test_a_map_that_says_two_things_is_refused(given: str, message: str) -> None:
    with pytest.raises(OptionError) as raised:
        parse_case_map(given)
    assert message in str(raised.value)


def test_an_export_is_evaluated_without_any_option(cli: CommandLine) -> None:
    rows = [{"Ticket ID": row["chat"], "Sender Type": row["who"], "Body": row["words"]} for row in ROWS]
    assert cli("eval", write_csv(cli.folder / "export.csv", rows)).code == 2
    report = cli.report()
    assert (report["profile"], [result["id"] for result in report["results"]]) == ("traffic", ["a", "b"])
    assert report["options"]["map"] == {"conversation": "Ticket ID", "role": "Sender Type", "text": "Body"}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("table", [False, True])
def test_a_conversation_that_returns_is_an_error_and_sorting_cures_it(
    cli: CommandLine, suffix: str, table: bool
) -> None:
    path = WRITERS[suffix](cli.folder / f"log{suffix}", MIXED)
    options = [path, "--map", MAP, "--checks", "agency_language", *(["--out-table", "table"] if table else [])]
    done = cli("eval", *options)
    assert done.code == 1
    assert "3 problems" in done.err
    assert "line 3 (a): the conversation returns after rows of others: its first row is on line 1" in done.err
    assert "line 5 (b): the conversation returns after rows of others: its first row is on line 2" in done.err
    assert "--sort groups them" in done.err
    assert cli("eval", *options, "--sort", *(["--fresh"] if table else [])).code == 2
    if table:
        found = pq.read_table(cli.folder / "table").to_pylist()
        assert [(row["id"], row["outcome"], row["source_line"]) for row in found] == [
            ("a", "fail", 1),
            ("b", "pass", 2),
        ]
    else:
        assert [(result["id"], result["outcome"]) for result in cli.report()["results"]] == [
            ("a", "fail"),
            ("b", "pass"),
        ]


def test_sorting_needs_to_know_what_to_sort_by(cli: CommandLine) -> None:
    path = write_csv(cli.folder / "log.csv", [{"user": SAID, "assistant": GOOD}])
    assert "no column names one" in cli("eval", path, "--sort").err
    path = write_parquet(cli.folder / "log.parquet", ROWS)
    done = cli("eval", path, "--map", MAP, "--sort", "--out-table", "table", "--keep", "chat")
    assert (done.code, "--keep cannot be combined with --sort" in done.err) == (1, True)


def test_a_map_that_names_half_of_a_message_is_refused(cli: CommandLine) -> None:
    path = write_jsonl(cli.folder / "log.jsonl", ROWS)
    assert cli("eval", path, "--map", "role=who,text=words").code == 2  # `chat` is known to name conversations
    done = cli("eval", path, "--map", "conversation=chat,role=who")
    assert done.code == 1
    assert "no column is named for 'text'" in done.err


def test_files_of_two_shapes_are_evaluated_apart(cli: CommandLine) -> None:
    one = write_jsonl(cli.folder / "one.jsonl", [{"chat": "a", "role": "user", "text": SAID}])
    other = write_jsonl(cli.folder / "other.jsonl", [{"user": SAID, "assistant": GOOD}])
    done = cli("eval", one, other)
    assert (done.code, "evaluate the files apart" in done.err) == (1, True)


def test_batches_of_messages_are_refused() -> None:
    with pytest.raises(OptionError, match="a row of the table is one message"):
        evaluate_table(pa.table({"chat_id": ["a"], "role": ["user"], "text": [SAID]}))


def newest_first(time: str, *times: str) -> str:
    said = ("assistant,Would you like to talk?", "user,I lost my job.", "assistant,Hello! How are you?")
    return f"ticket,{time},role,text\n" + "".join(f"7,{at},{one}\n" for at, one in zip(times, said, strict=False))


@pytest.mark.parametrize("given", ["time=wann", ""])
def test_messages_are_in_the_order_of_their_times(tmp_path: Path, given: str) -> None:
    path = tmp_path / "log.csv"
    times = ("2026-01-31 10:03", "2026-01-31 10:02", "2026-01-31 10:01")
    path.write_text(newest_first("wann" if given else "Sent At", *times))
    (case,) = read(path, ",".join(filter(None, ("conversation=ticket,role=role,text=text", given))))
    assert isinstance(case, Case)
    assert [turn.content[:5] for turn in case.messages] == ["Hello", "I los", "Would"]
    path.write_text(newest_first("sent_at", times[0], "yesterday", times[2]))
    (case,) = read(path, "conversation=ticket,role=role,text=text")
    assert isinstance(case, Case)
    assert [turn.content[:5] for turn in case.messages] == ["Would", "I los", "Hello"]


def test_a_log_that_seems_to_be_the_wrong_way_round_is_told_once(cli: CommandLine) -> None:
    path = cli.folder / "log.csv"
    path.write_text(newest_first("sent", "10:03", "10:02"))
    told = "log.csv: 1 conversation begins with the assistant and ends with the user."
    assert told in cli("eval", path).out
    assert [told in warning for warning in cli.report()["warnings"]] == [True]
    path.write_text(newest_first("sent", "2026-01-31 10:03", "2026-01-31 10:02"))
    assert "begins with the assistant" not in cli("eval", path).out
