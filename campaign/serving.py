"""`synthesis serve` as a process on loopback, and raw sockets to talk to it."""

import contextlib
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from campaign.processes import Run, started, wait_until
from campaign.tally import expect

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")


class Reply(NamedTuple):
    """An HTTP response; status 0 where the connection was closed without one."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A running server."""

    def __init__(self, run: Run, port: int) -> None:
        self.run = run
        self.port = port

    def request(self, method: str, path: str, body: bytes = b"", seconds: float = 30.0) -> Reply:
        """One request that is sound."""
        top = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\nconnection: close\r\n"
        return self.exchange((top + f"content-length: {len(body)}\r\n\r\n").encode() + body, seconds)

    def exchange(self, content: bytes, seconds: float = 30.0) -> Reply:
        """Send bytes and read until the server closes or is silent for too long."""
        with self.connected(seconds) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(content)
            return read_reply(connection)

    @contextlib.contextmanager
    def connected(self, seconds: float) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            yield connection

    def is_healthy(self, seconds: float = 10.0) -> bool:
        try:
            return self.request("GET", "/healthz", seconds=seconds).status == 200
        except OSError:
            return False


def read_reply(connection: socket.socket) -> Reply:
    """What comes until the end, or until nothing comes any more."""
    found = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(1 << 16):
            found += piece
    top, _, body = found.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.\d (\d{3})", top)
    return Reply(int(match[1]) if match else 0, body)


@contextlib.contextmanager
def serving(folder: Path, *options: object) -> Iterator[Server]:
    """A server that has said its address and is ready."""
    with started(folder, "serve", "--port", 0, *options) as run:
        began = time.monotonic()
        wait_until(lambda: _ADDRESS.search(run.out) or run.process.poll() is not None, 60)
        found = _ADDRESS.search(run.out)
        expect(found, f"the server did not start within {time.monotonic() - began:.0f} s: {run.err[-300:]!r}")
        assert found
        server = Server(run, int(found[1]))
        expect(wait_until(server.is_healthy, 60), "the server is not healthy after its start")
        yield server
