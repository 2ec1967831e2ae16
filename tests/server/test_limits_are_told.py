"""Every limit has an answer of its own: too long, too slow, too many."""

import socket
import threading
from typing import Any

import pytest

from synthesis.rules.matcher import PythonReader
from synthesis.rules.ruleset import RuleSet


def test_a_body_that_is_too_long_is_refused_by_its_announced_length_and_by_its_bytes(serving: Any) -> None:
    with serving(max_body=1000, max_upload=2000) as client:
        body = b'{"user": "a", "assistant": "' + b"b" * 3000 + b'"}'
        for path in ("/api/v1/check", "/api/v1/uploads", "/api/v1/rules/try", "/verdict", "/rules/try", "/login"):
            announced = client.post(path, content=body)
            chunked = client.post(path, content=iter([body[:1500], body[1500:]]))
            assert (path, announced.status_code, chunked.status_code) == (path, 413, 413)
            assert announced.json()["error"]["code"] == "too_long"


def test_a_body_that_does_not_arrive_is_given_up(serving: Any) -> None:
    with serving(timeout=0.3) as client, socket.create_connection(_place(client), timeout=30) as connection:
        head = f"POST /api/v1/check HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\n"
        connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        answer = connection.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 408")
    assert "too_slow" in answer


def test_a_batch_that_falls_silent_ends_with_an_error_line(serving: Any) -> None:
    with serving(timeout=0.3) as client, socket.create_connection(_place(client), timeout=30) as connection:
        head = f"POST /api/v1/batch HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        stream = connection.makefile("rb")
        while b"too_slow" not in (line := stream.readline()):
            assert line


def test_more_at_once_than_allowed_is_refused_and_later_taken(serving: Any) -> None:
    with serving(concurrency=1) as client:
        release = threading.Event()
        begun = threading.Event()

        def slowly() -> Any:
            yield b'{"user": "a", "assistant": "b"}\n'
            begun.set()
            release.wait(30)

        first = threading.Thread(target=lambda: client.post("/api/v1/batch", content=slowly()))
        first.start()
        begun.wait(30)
        body = {"user": "a", "assistant": "b"}
        refused = _until(lambda: client.post("/api/v1/check", json=body), 429)
        assert refused.json()["error"]["code"] == "busy"
        assert refused.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200
        release.set()
        first.join()
        assert client.post("/api/v1/check", json=body).status_code == 200


def test_an_evaluation_that_takes_too_long_is_given_up(serving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RuleSet, "native", property(lambda _: None))  # the kernel is through before anyone gives up
    monkeypatch.setattr(RuleSet, "reader", property(PythonReader))
    with serving(timeout=0.02) as client:
        answer = client.post("/api/v1/check", json={"user": "a", "assistant": "You should just try to relax. " * 3000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (408, "too_slow")


def test_a_long_text_does_not_hold_up_others(client: Any) -> None:
    long = {"user": "I lost my job.", "assistant": "You should just try to relax. " * 2_000}
    outcome: list[Any] = []
    thread = threading.Thread(target=lambda: outcome.append(client.post("/api/v1/check", json=long)))
    thread.start()
    while thread.is_alive():
        assert client.get("/healthz").status_code == 200
    assert outcome[0].json()["outcome"] == "fail"


def _place(client: Any) -> tuple[str, int]:
    return client.base_url.host, client.base_url.port


def _until(ask: Any, status: int) -> Any:
    for _ in range(200):
        answer = ask()
        if answer.status_code == status:
            return answer
    raise AssertionError(f"never answered with {status}")
