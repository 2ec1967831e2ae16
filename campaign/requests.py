"""Hostile requests over raw sockets: each is answered or cut off in time, and the server stays up and small."""

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from campaign.random_rules import KNOWN, random_pattern
from campaign.serving import Reply, Server, read_reply, serving
from campaign.tally import Attempt, Budget, Kind, Setting, expect

TIMEOUT = 3  # of the server
SLACK = 12  # seconds more that a busy machine may need
MAX_BODY, MAX_UPLOAD = 50_000, 2_000_000
MEGABYTES = 400
REFUSED = frozenset({0, *range(400, 500)})  # 0: cut off without an answer
ROUTES = ["/check", "/batch", "/uploads", "/runs", "/judge/runs", "/rules/try", "/rules", "/trend", "/compare", "/none"]
HOST = b"host: 127.0.0.1\r\n"

Send = Callable[[random.Random, Server], Reply]


def _post(server: Server, path: str, body: bytes, *headers: bytes) -> Reply:
    lines = [b"connection: close", b"content-length: %d" % len(body), *headers]
    top = f"POST /api/v1{path} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n".encode()
    return server.exchange(top + b"\r\n".join(lines) + b"\r\n\r\n" + body, TIMEOUT + SLACK)


def _random_json(chance: random.Random, depth: int = 3) -> object:
    plain: list[object] = [None, True, -1, 1e308, "", "\x00", "\ud800", "you should " * 50, {"$ref": "#"}, []]
    if not depth or chance.random() < 0.5:
        return chance.choice(plain)
    names = [
        "user",
        "assistant",
        "messages",
        "checks",
        "lang",
        "patterns",
        "language",
        "where",
        "upload",
        "name",
        "role",
    ]
    return {chance.choice(names): _random_json(chance, depth - 1) for _ in range(chance.randint(0, 5))}


def _noise(chance: random.Random, server: Server) -> Reply:
    return server.exchange(chance.randbytes(chance.randint(1, 3000)), TIMEOUT + SLACK)


def _damaged(chance: random.Random, server: Server) -> Reply:
    """A sound request with some bytes changed."""
    body = b'{"user": "I lost my job.", "assistant": "You should relax."}'
    whole = b"POST /api/v1/check HTTP/1.1\r\n" + HOST + b"content-length: %d\r\n\r\n" % len(body) + body
    changed = bytearray(whole)
    for _ in range(chance.randint(1, 6)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return server.exchange(bytes(changed), TIMEOUT + SLACK)


def _odd_json(chance: random.Random, server: Server) -> Reply:
    body = json.dumps(_random_json(chance)).encode()
    return _post(server, chance.choice(ROUTES), body if chance.random() < 0.8 else body[: len(body) // 2])


def _deep(chance: random.Random, server: Server) -> Reply:
    return _post(server, chance.choice(ROUTES), chance.choice([b"[", b'{"a":']) * 8000)


def _too_long(chance: random.Random, server: Server) -> Reply:
    return _post(server, chance.choice(ROUTES[:2]), b'{"user": "' + b"a" * (3 * MAX_BODY))


def _odd_header(chance: random.Random, server: Server) -> Reply:
    names = [b"x-name", b"content-type", b"accept", b"cookie", b"authorization", b"content-disposition", b"origin"]
    values = [b"\xff\xfe", b"\xed\xa0\x80", b"a" * 60_000, b"\x00", b"\x1b[2J", b"a\rb", b"", b'name="\xff.jsonl"']
    header = chance.choice(names) + b": " + chance.choice(values)
    return _post(server, chance.choice(ROUTES), b'{"user": "a", "assistant": "b"}', header)


def _two_hosts(chance: random.Random, server: Server) -> Reply:
    hosts = [b"host: 127.0.0.1:%d\r\n" % server.port, b"host: evil.example\r\n"]
    chance.shuffle(hosts)
    reply = server.exchange(b"GET /api/v1/checks HTTP/1.1\r\n" + b"".join(hosts) + b"connection: close\r\n\r\n", 15)
    expect(reply.status in REFUSED, f"two Host headers are answered with {reply.status}")
    return reply


def _foreign_host(chance: random.Random, server: Server) -> Reply:
    name = chance.choice([b"evil.example", b"127.0.0.1.evil.example", b"", b"localhost:1@evil", b"[::1", b"\xff"])
    reply = server.exchange(b"GET / HTTP/1.1\r\nhost: " + name + b"\r\nconnection: close\r\n\r\n", 15)
    expect(reply.status in REFUSED, f"the host {name!r} is answered with {reply.status}")
    return reply


def _smuggled(chance: random.Random, server: Server) -> Reply:
    lengths = [b"content-length: 5\r\ncontent-length: 50\r\n", b"content-length: -1\r\n", b"content-length: 5x\r\n"]
    lengths += [b"content-length: 5\r\ntransfer-encoding: chunked\r\n", b"transfer-encoding: gzip, chunked\r\n"]
    body = b"zz\r\nhello\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n"
    return server.exchange(b"POST /api/v1/check HTTP/1.1\r\n" + HOST + chance.choice(lengths) + b"\r\n" + body, 15)


def _paths(chance: random.Random, server: Server) -> Reply:
    parts = ["..", "%2e%2e", "%00", "%ff", "\\", "etc/passwd", "a" * 9000, "runs", "cases", "rules", "en", "?q=%", "*"]
    path = "/".join(chance.choice(parts) for _ in range(chance.randint(1, 5)))
    method = chance.choice(["GET", "DELETE", "POST", "OPTIONS", "TRACE", "X" * 400])
    reply = server.request(method, f"/{path}", seconds=15)
    expect(b"root:" not in reply.body, "a file of the machine was sent")
    return reply


def _query(chance: random.Random, server: Server) -> Reply:
    names = ["lang", "check", "q", "limit", "offset", "before", "after", "iterations", "rubric", "name", "format"]
    values = ["-1", "9" * 400, "%00", "%ff", "%ed%a0%80", "NaN", "..", "en", "a" * 3000, "%0d%0ax: y"]
    query = "&".join(f"{chance.choice(names)}={chance.choice(values)}" for _ in range(chance.randint(1, 5)))
    return server.request("GET", f"/api/v1{chance.choice(ROUTES)}?{query}", seconds=15)


def _pattern(chance: random.Random, server: Server) -> Reply:
    source = chance.choice(KNOWN) if chance.random() < 0.5 else random_pattern(chance)
    body = json.dumps({"patterns": [source], "language": "en", "where": "assistant"}).encode()
    return _post(server, "/rules/try", body)


def _upload(chance: random.Random, server: Server) -> Reply:
    body = chance.choice([b"", chance.randbytes(5000), b"{}\n" * 500, b"\x1f\x8b" + chance.randbytes(50), b"[" * 9000])
    return _post(
        server, "/uploads", body, b"content-type: " + chance.choice([b"text/csv", b"application/gzip", b"a/b"])
    )


def _dripping(chance: random.Random, server: Server) -> Reply:
    """Headers or a body that arrive byte by byte: cut off after --timeout."""
    top = b"POST /api/v1/%s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n"
    slow = top % (chance.choice([b"check", b"uploads", b"batch"]), server.port)
    slow += b"content-length: 5000\r\n\r\n" if chance.random() < 0.6 else b"x-long: "
    with server.connected(TIMEOUT + SLACK) as connection, suppress(OSError):
        connection.sendall(slow)
        connection.settimeout(0.4)
        began = time.monotonic()
        while time.monotonic() - began < TIMEOUT + SLACK:
            connection.sendall(b"a")
            with suppress(TimeoutError):
                if not connection.recv(1, 2):  # 2: MSG_PEEK
                    return Reply(0, b"")
                return read_reply(connection)
        expect(False, f"a dripping request is still open after {TIMEOUT + SLACK} s: {slow[:30]!r}")
    return Reply(0, b"")


SENDS: list[Send] = [_noise, _damaged, _odd_json, _deep, _too_long, _odd_header, _two_hosts, _foreign_host, _smuggled]
SENDS += [_paths, _query, _pattern, _upload, _dripping]


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    limits = ["--timeout", TIMEOUT, "--max-body", MAX_BODY, "--max-upload", MAX_UPLOAD, "--concurrency", 4]
    with serving(setting.folder, *limits, "--history", "history.db") as server:

        def attempt(chance: random.Random, number: int, folder: Path) -> None:  # noqa: ARG001
            send = SENDS[number % len(SENDS)]
            name = send.__name__.strip("_")
            said = len(server.run.err)
            reply = send(chance, server)
            expect(
                reply.status < 500 or reply.status in (501, 503), f"{name}: HTTP {reply.status}: {reply.body[:150]!r}"
            )
            expect(server.is_healthy(TIMEOUT + SLACK), f"{name}: the server does not answer any more")
            more = server.run.err[said:]
            expect("Traceback" not in more and "unexpected" not in more, f"{name}: it logs {more[:200]!r}")
            expect(_megabytes(server.run.pid) <= MEGABYTES, f"{name}: it takes {_megabytes(server.run.pid):.0f} MB")

        yield attempt


def _megabytes(pid: int) -> float:
    """The highest memory of a process so far."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


KIND = Kind(
    "requests",
    f"{len(SENDS)} kinds of malformed, foreign, slow and oversized requests over raw sockets",
    prepare,
    quick=Budget(420, 150),
    full=Budget(6000, 3600),
)
