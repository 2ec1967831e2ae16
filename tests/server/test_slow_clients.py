"""Slow and broken clients: each is given up in time, and none holds up the others. Raw sockets, real seconds."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from synthesis.rules.matcher import PythonReader
from synthesis.rules.ruleset import RuleSet

pytestmark = pytest.mark.slow

TIMEOUT = 0.5
LONG = "You should just try to relax. " * 30_000  # some seconds of work
HEAD = "POST /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def connected(client: Any) -> Iterator[socket.socket]:
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=30) as connection:
        yield connection


def drip(connection: socket.socket, piece: bytes, seconds: float = 10) -> bytes:
    """Send a piece every 50 ms until the server answers."""
    connection.settimeout(0.05)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            return connection.recv(1 << 16)
        except TimeoutError:
            connection.sendall(piece)
    raise AssertionError("the server waits for ever")


def rest_of(connection: socket.socket) -> bytes:
    connection.settimeout(10)
    try:
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))
    except ConnectionError:  # it hung up while pieces were on their way
        return b""


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_clients_whose_headers_never_end_do_not_hold_up_others(serving: Any, begun: bytes) -> None:
    with serving(timeout=TIMEOUT, concurrency=1) as client, ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(connected(client)).sendall(begun)
        assert client.post("/api/v1/check", json={"user": "a", "assistant": "b"}).status_code == 200


def test_a_connection_may_rest_between_two_requests(serving: Any) -> None:
    with serving(timeout=TIMEOUT) as client, closing(HTTPConnection(client.base_url.netloc.decode())) as connection:
        for _ in range(2):
            connection.request("GET", "/healthz")
            used = connection.sock
            assert connection.getresponse().read() == b"alive\n"
            time.sleep(2 * TIMEOUT)
            assert connection.sock is used


@pytest.mark.parametrize("path", ["uploads", "judge/runs", "check", "rules/try"])
def test_bodies_that_drip_are_given_up_and_leave_nothing(serving: Any, tmp_path: Any, path: str) -> None:
    with serving(tmp_path, timeout=TIMEOUT) as client, connected(client) as connection:
        connection.sendall(f"{HEAD.format(path=path)}Content-Length: 5000\r\n\r\n".encode())
        answer = drip(connection, b"{")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"too_slow" in answer
    assert not list(tmp_path.glob("*s/*/*"))


def test_a_large_upload_may_take_longer_than_the_timeout_if_it_moves_on(serving: Any) -> None:
    line = (
        b'{"id": "%d", "user": "I lost my job.", "assistant": "' + b"a" * 200_000 + b'", "checks": ["topic_pivot"]}\n'
    )

    def slowly() -> Iterator[bytes]:
        for number in range(8):
            time.sleep(TIMEOUT / 4)
            yield line % number

    with serving(timeout=TIMEOUT) as client:
        assert client.post("/api/v1/uploads", content=slowly()).status_code == 202


def test_a_line_of_a_batch_that_drips_is_given_up(serving: Any) -> None:
    with serving(timeout=TIMEOUT, concurrency=1) as client:
        with connected(client) as connection:
            connection.sendall(f"{HEAD.format(path='batch')}Transfer-Encoding: chunked\r\n\r\n".encode())
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
            assert b"too_slow" in drip(connection, b"1\r\n{\r\n")
        body = {"user": "a", "assistant": "b"}
        assert client.post("/api/v1/check", json=body).status_code == 200  # its place is free again


def test_a_batch_may_last_as_long_as_its_lines_arrive(serving: Any) -> None:
    def slowly() -> Iterator[bytes]:
        for _ in range(6):
            time.sleep(TIMEOUT / 2)
            yield b'{"user": "a", "assistant": "b"}\n'

    with serving(timeout=TIMEOUT) as client:
        answers = client.post("/api/v1/batch", content=slowly()).text.splitlines()
    assert len(answers) == 6
    assert not any("error" in answer for answer in answers)


@pytest.mark.parametrize("name", ["Host", "Authorization", "Origin", "Sec-Fetch-Site"])
@pytest.mark.parametrize("path", ["/", "/api/v1/checks", "/healthz"])
def test_a_header_that_decides_may_not_appear_twice(client: Any, name: str, path: str) -> None:
    with connected(client) as connection:
        host = "" if name == "Host" else "Host: localhost\r\n"
        twice = f"{name}: evil.example\r\n{name}: localhost\r\n"
        connection.sendall(f"GET {path} HTTP/1.1\r\n{host}{twice}Connection: close\r\n\r\n".encode())
        answer = rest_of(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"repeated_header" in answer


@pytest.mark.parametrize("name", [b"X-Any", b"Content-Type", b"Cookie", b"Accept", b"Authorization"])
def test_a_header_that_is_not_utf8_does_no_harm(serving: Any, name: bytes) -> None:
    with serving(token="a token that is long enough") as client:
        with connected(client) as connection:
            connection.sendall(
                HEAD.format(path="check").encode() + name + b": \xff\xfe\x80\r\nConnection: close\r\n\r\n"
            )
            assert rest_of(connection).startswith(b"HTTP/1.1 401 ")
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_table_whose_header_is_not_utf8_is_told_and_the_next_is_evaluated(serving: Any, kind: str) -> None:
    mark = {"csv": b",", "tsv": b"\t"}[kind]
    with serving() as client:

        def sent(header: bytes) -> Any:
            content = mark.join((header, b"assistant")) + b"\n" + mark.join((b"I lost my job.", b"Relax.")) + b"\n"
            job = client.post("/api/v1/uploads", params={"kind": kind}, content=content).json()["id"]
            return until(lambda: client.get(f"/api/v1/uploads/{job}").json(), lambda state: state["state"] in OVER)

        failed = sent(b"us\xffer")
        assert (failed["state"], failed["error"]["code"]) == ("failed", "invalid_cases")
        assert "/" not in failed["error"]["message"].split("upload.")[0]
        assert sent(b"user")["state"] == "done"


OVER = {"done", "failed", "cancelled"}


def test_an_evaluation_that_was_given_up_does_not_go_on(serving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both threads of the pool are taken; after their 408 they are free for others, long before the texts are read."""
    monkeypatch.setattr(RuleSet, "native", property(lambda _: None))  # the kernel is through before anyone gives up
    monkeypatch.setattr(RuleSet, "reader", property(PythonReader))
    long, short = ({"user": "I lost my job.", "assistant": LONG[:size]} for size in (len(LONG), 5_000))
    with serving(timeout=1.5) as client:
        client.post("/api/v1/check", json=short)
        with ThreadPoolExecutor(4) as pool:
            given_up = [*pool.map(lambda _: client.post("/api/v1/check", json=long).status_code, range(4))]
        asked = time.monotonic()
        assert client.post("/api/v1/check", json=short).status_code == 200
        assert (given_up, time.monotonic() - asked < 1.5) == ([408] * 4, True)


def until(ask: Callable[[], Any], holds: Callable[[Any], bool]) -> Any:
    ends = time.monotonic() + 60
    while not holds(found := ask()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return found
