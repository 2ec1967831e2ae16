"""POST /api/v1/batch: lines in, lines out, each answered before the next one is needed."""

import json
import socket
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synthesis.io import CASES
from synthesis.server.http import LineSplitter

GOOD = {"user": "I lost my job.", "assistant": "That sounds hard. Would you like to talk about it?"}


def lines_of(answer: Any) -> list[Any]:
    return [json.loads(line) for line in answer.text.splitlines()]


def post(client: Any, *rows: Any) -> list[Any]:
    body = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    answer = client.post("/api/v1/batch", content=body.encode())
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return lines_of(answer)


def test_a_case_file_is_a_batch(client: Any) -> None:
    answers = lines_of(client.post("/api/v1/batch", content=CASES.read_bytes()))
    assert len(answers) == 26
    assert [answer["line"] for answer in answers] == list(range(1, 27))
    compared = [label for answer in answers for label in answer["label_comparison"].values()]
    # The labels were written for authored cases; the API evaluates traffic, where fewer checks apply.
    assert sum(label["match"] for label in compared) >= 0.8 * len(compared)


def test_a_bad_line_is_answered_with_an_error_and_the_others_go_on(client: Any) -> None:
    answers = post(client, GOOD, "nonsense", "", {"user": "a"}, {**GOOD, "checks": ["nope"]}, {**GOOD, "id": "last"})
    assert [answer["line"] for answer in answers] == [1, 2, 4, 5, 6]
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        None,
        "invalid_json",
        "invalid_conversation",
        "invalid_input",
        None,
    ]
    assert answers[-1]["id"] == "last"


def test_a_line_that_is_too_long_is_passed_over(serving: Any) -> None:
    with serving(max_body=2000) as client:
        answers = post(client, {**GOOD, "notes": "x" * 5000}, GOOD)
    assert answers[0]["error"]["code"] == "too_long"
    assert answers[1]["outcome"] == "pass"


def test_the_first_answer_is_there_before_the_last_line_is_sent(client: Any) -> None:
    """By hand, over a socket: send a line, read its answer, send the next one."""
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=30) as connection:
        stream = connection.makefile("rwb")
        stream.write(f"POST /api/v1/batch HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\n".encode())
        stream.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for number in (1, 2, 3):
            line = json.dumps({**GOOD, "id": f"L-{number}"}).encode() + b"\n"
            stream.write(b"%x\r\n%s\r\n" % (len(line), line))
            stream.flush()
            if number == 1:
                while stream.readline() != b"\r\n":
                    pass
            size = int(stream.readline(), 16)
            assert json.loads(stream.read(size))["id"] == f"L-{number}"
            assert stream.readline() == b"\r\n"
        stream.write(b"0\r\n\r\n")
        stream.flush()
        assert stream.readline() == b"0\r\n"


@given(st.lists(st.binary(max_size=8).map(lambda line: line.replace(b"\n", b""))), st.data())
def test_lines_do_not_depend_on_where_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    content = b"\n".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    splitter = LineSplitter(most=6)
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        found += splitter.feed(content[start:end])
    found += splitter.rest()
    wanted = [line if len(line) <= 6 else None for line in content.split(b"\n")]
    assert found == (wanted[:-1] if wanted[-1] == b"" else wanted)


def test_a_line_that_is_too_long_is_not_held_in_memory() -> None:
    splitter = LineSplitter(most=1000)
    tracemalloc.start()
    for _ in range(1000):
        assert list(splitter.feed(bytes(10_000))) == []
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000
    assert list(splitter.feed(b"\nnext\n")) == [None, b"next"]
