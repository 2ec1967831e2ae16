"""`synthesis serve`: prints its address, ends cleanly, refuses what is unsafe, and asks for its extra."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from helpers import CommandLine, row


def start(*options: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "synthesis", "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True
    )
    assert process.stdout
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    return process, found[0]


def read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        pytest.param(signal.SIGINT, 130, "Interrupted.", marks=pytest.mark.slow),  # the key press below is one, too
        (signal.SIGTERM, 0, "Stopped."),
    ],
)
def test_it_serves_until_it_is_asked_to_end(tmp_path: Path, number: int, code: int, words: str) -> None:
    process, address = start(folder=tmp_path)
    assert read(f"{address}readyz") == "ready\n"
    folder = _folder_of(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.strip() == words
    assert folder is None or not folder.exists()


def test_several_processes_serve_one_address_and_add_up_their_counts(tmp_path: Path) -> None:
    process, address = start("--workers", "2", folder=tmp_path)
    try:
        for _ in range(20):
            assert read(f"{address}healthz") == "alive\n"
        wanted = 'synthesis_http_requests_total{route="/healthz",status="200"} 20'
        assert any(wanted in read(f"{address}metrics") for _ in range(50))  # counted just after it is answered
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_key_press_reaches_all_processes_and_ends_them_without_noise(tmp_path: Path, workers: str) -> None:
    """As a terminal sends it: to the whole group, while a file is being evaluated."""
    process, address = start("--workers", workers, folder=tmp_path)
    many = "\n".join(json.dumps(row(id=f"T-{number}")) for number in range(5000)).encode()
    with urllib.request.urlopen(f"{address}api/v1/uploads", data=many, timeout=60) as answer:
        place = f"{address}api/v1/uploads/{json.load(answer)['id']}"
    while json.loads(read(place))["state"] == "waiting":
        pass
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "Interrupted."
    assert _ends(process.pid)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "a token is required"),
        (("--host", "0.0.0.0", "--token", "short"), "at least 16"),
        (("--host", "no.such.name.invalid", "--token", "long enough for a token"), "cannot listen"),
        (("--port", "99999"), "99999"),
        (("--workers", "0"), "0"),
        (("--rules", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_served_is_told(cli: CommandLine, options: tuple[str, ...], words: str) -> None:
    outcome = cli("serve", *options)
    assert outcome.code == 1
    assert words in outcome.err


def test_a_port_that_is_taken_is_told(tmp_path: Path, cli: CommandLine) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = cli("serve", "--port", str(taken.getsockname()[1]))
    assert outcome.code == 1
    assert "--port" in outcome.err


def test_without_the_extra_its_install_line_is_printed(tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('no', name='fastapi')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "synthesis", "serve"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'synthesis-eval[serve]'" in done.stderr
    assert "Traceback" not in done.stderr


def _ends(group: int) -> bool:
    """Whether a group of processes is gone, at once or within ten seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def _folder_of(pid: int) -> Path | None:
    """The server's own folder, by the file of counts that it has mapped; None where that cannot be read."""
    maps = Path(f"/proc/{pid}/maps")
    found = re.search(r"(\S+)/counts-\d+", maps.read_text()) if maps.exists() else None
    return Path(found[1]) if found else None
