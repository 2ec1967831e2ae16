"""`serve` is interrupted while it evaluates and saves: what it acknowledged is there after the next start, once."""

import json
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from campaign.processes import strays, wait_until
from campaign.serving import Reply, Server, serving
from campaign.tally import Attempt, Budget, Kind, Setting, expect
from synthesis.io import CASES

TIMEOUT = 20
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
LONG = json.dumps({"user": "I lost my job.", "assistant": "I promise you'll be fine. " * 6000}).encode()


class _Client:
    """Uploads a case file and saves it as a run, again and again, until the server is gone."""

    def __init__(self, server: Server, cases: bytes) -> None:
        self._server = server
        self._cases = cases
        self.saved: list[str] = []
        self._thread = threading.Thread(target=self._work)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _work(self) -> None:
        with suppress(OSError, ValueError, KeyError):  # the server was killed in the middle of an answer
            for number in range(50):
                self._save_one(number)

    def _save_one(self, number: int) -> None:
        upload = self._server.request("POST", "/api/v1/uploads", self._cases).json()["id"]
        while self._server.request("GET", f"/api/v1/uploads/{upload}").json()["state"] not in ("done", "failed"):
            time.sleep(0.02)
        body = json.dumps({"upload": upload, "name": f"run {number}"}).encode()
        reply = self._server.request("POST", "/api/v1/runs", body)
        if reply.status == 201:
            self.saved.append(f"run {number}")


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:  # noqa: ARG001
    cases = b"\n".join(CASES.read_bytes().splitlines()[:5])

    def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
        options = ["--history", "history.db", "--timeout", TIMEOUT]
        with serving(folder, *options) as server:
            client = _Client(server, cases)
            client.start()
            try:
                _interrupt(chance, server)
            finally:
                client.join()
        with serving(folder, *options) as server:
            reply = server.request("GET", "/api/v1/runs?limit=100")
            _expect_saved(client.saved, reply)
            server.run.send(signal.SIGTERM)
            server.run.wait(TIMEOUT)
        expect(not strays(folder), f"strays after the next start: {strays(folder)[:3]}")

    yield attempt


def _interrupt(chance: random.Random, server: Server) -> None:
    """A signal at a seeded moment, with a long evaluation under way."""
    number = chance.choice(SIGNALS)
    replies: list[Reply] = []
    time.sleep(chance.random() * 2)
    long = threading.Thread(target=lambda: _ask(server, replies))
    long.start()
    time.sleep(0.15)  # it has been accepted by now
    server.run.send(number)
    code = server.run.wait(TIMEOUT + 10)
    long.join()
    expect(wait_until(lambda: not server.run.family(), 6), f"{number.name}: a process outlives the server")
    if number != signal.SIGKILL:
        expect(code in (0, 130), f"{number.name} ends with {code}: {server.run.err[-200:]!r}")
        status = replies[0].status if replies else 0
        expect(status == 200, f"{number.name}: a request under way is answered with {status or 'nothing'}")


def _ask(server: Server, replies: list[Reply]) -> None:
    with suppress(OSError):
        replies.append(server.request("POST", "/api/v1/check", LONG, TIMEOUT + 10))


def _expect_saved(saved: list[str], reply: Reply) -> None:
    if not saved and reply.status in (404, 503):  # nothing was saved, so there is no history yet
        return
    expect(reply.status == 200, f"the runs are answered with {reply.status}: {reply.body[:200]!r}")
    names = [run["name"] for run in reply.json()["runs"]]
    lost = [name for name in saved if name not in names]
    expect(not lost, f"acknowledged, but lost: {lost[:3]}")
    expect(len(names) == len(set(names)), "a run is there twice")


KIND = Kind(
    "serve-kills",
    "`serve` interrupted while it evaluates, takes uploads and saves runs, then started again",
    prepare,
    quick=Budget(20, 130),
    full=Budget(150, 1800),
)
