"""How `synthesis serve` ends: the first signal lets requests finish, the second does not; nothing stays behind."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from helpers import row

LINE = b'{"user": "a", "assistant": "b"}\n'
LONG = "You should just try to relax. " * 30_000  # many seconds of work
pytestmark = pytest.mark.slow  # real processes, a second or more each
SIGNALS = [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 0, "Stopped.")]


class Server:
    """A server in a process group of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "synthesis", "serve", "--port", "0", *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "SYNTHESIS_NATIVE": "0"},  # the compiled reader is through before a signal comes
            start_new_session=True,
        )
        assert self.process.stdout
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found
        self.place = urlsplit(found[0]).netloc
        self.ask("GET", "/readyz")

    def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        connection = http.client.HTTPConnection(self.place, timeout=60)
        connection.request(method, path, body)
        return connection.getresponse().read()

    def send_batch(self) -> "Batch":
        return Batch(self.place)

    def end(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str, float]:
        """Its exit code, what it said, and the seconds that it took from now."""
        asked = time.monotonic()
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said, time.monotonic() - asked

    def is_gone(self) -> bool:
        """Whether no process of its group is left."""
        for _ in range(50):
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.1)
        return False


class Batch:
    """A batch that is being sent: a request that lasts as long as its client wants."""

    def __init__(self, place: str) -> None:
        host, _, port = place.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        self._stream = self._socket.makefile("rb")
        head = f"POST /api/v1/batch HTTP/1.1\r\nHost: {place}\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._socket.sendall(head.encode())

    def send(self, line: bytes = LINE) -> None:
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(line), line))

    def finish(self) -> None:
        self._socket.sendall(b"0\r\n\r\n")

    def answer(self) -> bytes:
        """The next line that is a verdict; nothing at the end."""
        while line := self._stream.readline():
            if line.startswith(b'{"line"'):
                return line
        return b""


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Server]:
    server = Server(folder, *options)
    try:
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait()


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("number", "code", "words"), SIGNALS)
def test_a_request_that_runs_is_finished(tmp_path: Path, number: int, code: int, words: str, workers: str) -> None:
    with served(tmp_path, "--workers", workers) as server:
        batch = server.send_batch()
        batch.send()
        assert b'"line":1' in batch.answer()
        server.end(number)
        time.sleep(1.5)
        assert server.process.poll() is None
        batch.send()
        assert b'"line":2' in batch.answer()
        batch.finish()
        assert batch.answer() == b""
        ended, said, seconds = server.ended()
        assert (ended, said.splitlines()[-1]) == (code, words)
        assert "Traceback" not in said
        assert seconds < 5
        assert server.is_gone()


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_request_that_does_not_end_is_cut_off_after_the_timeout(tmp_path: Path, workers: str) -> None:
    with served(tmp_path, "--workers", workers, "--timeout", "2") as server:
        batch = server.send_batch()
        batch.send()
        assert batch.answer()
        server.end(signal.SIGTERM)
        begun = time.monotonic()
        while server.process.poll() is None and time.monotonic() - begun < 20:
            with suppress(ConnectionError):
                batch.send()
            time.sleep(0.1)
        code, said, _ = server.ended()
        assert 1.5 < time.monotonic() - begun < 8
        assert (code, said.splitlines()[-1]) == (0, "Stopped.")
        assert "Traceback" not in said
        assert server.is_gone()


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("number", "code", "words"), SIGNALS)
def test_a_second_signal_ends_at_once(tmp_path: Path, number: int, code: int, words: str, workers: str) -> None:
    """Also while a file is evaluated beside the server, and a long text in a thread of it."""
    with served(tmp_path, "--workers", workers) as server:
        many = "\n".join(json.dumps(row(id=f"T-{number}")) for number in range(20_000)).encode()
        server.ask("POST", "/api/v1/uploads", many)
        batch = server.send_batch()
        batch.send(json.dumps({"user": "a", "assistant": LONG}).encode() + b"\n")
        time.sleep(1)
        server.end(number)
        time.sleep(1)
        assert server.process.poll() is None
        server.end(number)
        ended, said, seconds = server.ended()
        assert (ended, said.splitlines()[-1]) == (code, words)
        assert "Traceback" not in said
        assert seconds < 4
        assert server.is_gone()


def test_a_client_that_follows_a_job_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        many = "\n".join(json.dumps(row(id=f"T-{number}")) for number in range(20_000)).encode()
        job = json.loads(server.ask("POST", "/api/v1/uploads", many))["id"]
        connection = http.client.HTTPConnection(server.place, timeout=60)
        connection.request("GET", f"/api/v1/uploads/{job}/events")
        assert connection.getresponse().readline().startswith(b"event: progress")
        server.end(signal.SIGTERM)
        code, said, seconds = server.ended()
        assert (code, said.splitlines()[-1]) == (0, "Stopped.")
        assert seconds < 4
        assert server.is_gone()


def test_a_request_that_is_cut_off_is_told_so(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        connection = http.client.HTTPConnection(server.place, timeout=60)
        connection.request("POST", "/api/v1/check", json.dumps({"user": "a", "assistant": LONG}))
        time.sleep(1)
        server.end(signal.SIGTERM)
        time.sleep(0.5)
        server.end(signal.SIGTERM)
        answer = connection.getresponse()
        assert (answer.status, json.load(answer)["error"]["code"]) == (503, "ended")
        assert server.ended()[0] == 0


def test_a_server_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        many = "\n".join(json.dumps(row(id=f"T-{number}")) for number in range(50_000)).encode()
        job = json.loads(server.ask("POST", "/api/v1/uploads", many))["id"]
        while json.loads(server.ask("GET", f"/api/v1/uploads/{job}"))["state"] == "waiting":
            time.sleep(0.05)
        server.end(signal.SIGKILL)
        server.process.wait()
        assert server.is_gone()
