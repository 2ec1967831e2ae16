"""How many requests a server answers: one check on keep-alive connections, and /healthz as the yardstick.

    python benchmarks/serve.py [--workers N] [--connections 8] [--seconds 10]

Starts `synthesis serve` on a free port and loads it with wrk where that is installed (Debian: apt-get install wrk),
else with a small client in a process of its own. Prints requests per second, the median and the 99th percentile of
the time to answer, and the processor time of the server per request, which does not depend on who else is at work.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from synthesis.stats import quantile

CONVERSATION = {
    "user": "My sister stopped answering my calls and I feel so alone.",
    "assistant": "That sounds lonely. Would you like to tell me what happened between you?",
}
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class Figures(NamedTuple):
    """Requests per second, and milliseconds."""

    rate: float
    median: float
    p99: float


@contextmanager
def server(workers: int) -> Iterator[tuple[str, int]]:
    """The address of a running server, and its process id."""
    command = [sys.executable, "-m", "synthesis", "serve", "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            wait_until_ready(found[0])
            yield found[0], process.pid
        finally:
            process.terminate()


def wait_until_ready(address: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{address}readyz", timeout=60):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)


def by_wrk(url: str, body: bytes | None, connections: int, seconds: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "post.lua"
        script.write_text(f"wrk.method = 'POST'\nwrk.body = [[{body.decode()}]]\n" if body else "")
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), url]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed:
        raise SystemExit(printed)
    return Figures(float(_found(r"Requests/sec:\s+([\d.]+)", printed)[1]), _time(50, printed), _time(99, printed))


def _time(percent: int, printed: str) -> float:
    found = _found(rf"{percent}%\s+([\d.]+)(us|ms|s)", printed)
    return float(found[1]) * UNITS[found[2]]


def _found(pattern: str, text: str) -> re.Match[str]:
    match = re.search(pattern, text)
    assert match, text
    return match


def by_own_client(url: str, body: bytes | None, connections: int, seconds: int) -> Figures:
    """In a process of its own, so that it does not take the server's turn."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        times = sorted(pool.apply(client_times, (url, body, connections, seconds)))
    return Figures(len(times) / seconds, quantile(times, 0.5) * 1000, quantile(times, 0.99) * 1000)


def client_times(url: str, body: bytes | None, connections: int, seconds: int) -> list[float]:
    return asyncio.run(_load(url, body, connections, seconds))


async def _load(url: str, body: bytes | None, connections: int, seconds: int) -> list[float]:
    place = urlsplit(url)
    head = f"{'POST' if body else 'GET'} {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    request = f"{head}Content-Length: {len(body or b'')}\r\n\r\n".encode() + (body or b"")
    end = time.perf_counter() + seconds
    times: list[float] = []

    async def one() -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        while (begun := time.perf_counter()) < end:
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(_found(r"content-length: (\d+)", answer.decode())[1]))
            times.append(time.perf_counter() - begun)
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return times


def processor_seconds(pid: int) -> float:
    """What a process and its children have used; 0 where that cannot be read."""
    try:
        own = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    ticks = (int(own[11]) + int(own[12])) / os.sysconf("SC_CLK_TCK")
    return ticks + sum(processor_seconds(int(child)) for child in children)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    load = by_wrk if shutil.which("wrk") else by_own_client
    body = json.dumps(CONVERSATION).encode()
    print(f"{options.workers} workers, {options.connections} connections, {load.__name__.replace('_', ' ')}")
    print(f"{'':<18}{'req/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms/req':>12}")
    with server(options.workers) as (address, pid):
        for path, content in (("healthz", None), ("api/v1/check", body)):
            load(f"{address}{path}", content, options.connections, 2)  # warm
            used = processor_seconds(pid)
            figures = load(f"{address}{path}", content, options.connections, options.seconds)
            each = (processor_seconds(pid) - used) * 1000 / (figures.rate * options.seconds)
            print(f"{'/' + path:<18}{figures.rate:>9.0f}{figures.median:>9.2f}{figures.p99:>9.2f}{each:>12.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
