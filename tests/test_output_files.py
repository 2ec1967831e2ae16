"""Every file that is written takes its place whole; what is not a regular file is written to, never replaced."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from synthesis.errors import OutputError
from synthesis.io import replaced


def write(path: Path, content: Any = b"new", **how: bool) -> None:
    with replaced(path, **how) as file:
        file.write(content)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    with replaced(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert not leftovers(tmp_path)


def test_an_error_midway_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        write(path, "no bytes")
    assert path.read_bytes() == b"old"
    assert not leftovers(tmp_path)


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "latest.json"
    link.symlink_to(Path("real", "report.json"))
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "report.json").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(10)
    assert received == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    write(device)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_folder_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it is a folder"):
        write(tmp_path)


def test_who_could_read_the_old_file_can_read_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_restricted_file_is_restricted_while_it_is_written_too(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.touch(0o600)
    with replaced(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_standard_output_that_is_a_file_keeps_what_was_printed(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from synthesis.io import replaced
print("before", flush=True)
with replaced(Path("/dev/stdout")) as file:
    file.write(b"{}\\n")
print("after", flush=True)
"""
    with (tmp_path / "out.txt").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text() == "before\n{}\nafter\n"


def test_a_private_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "metrics.json"
    with replaced(path, private=True) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    writing = replaced(path, overwrite=False)
    writing.__enter__().write(b"mine")
    path.write_bytes(b"theirs")
    with pytest.raises(OutputError, match="already exists"):
        writing.__exit__(None, None, None)
    assert path.read_bytes() == b"theirs"
    assert not leftovers(tmp_path)


def test_what_is_durable_reaches_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.json"
    seen: list[bool] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (seen.append(path.exists()), sync(descriptor)))
    write(path)
    assert seen == [False]


def test_a_killed_writer_leaves_the_earlier_file_whole(tmp_path: Path) -> None:
    """A real process, killed when half of the new content is with the operating system."""
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    code = """
import os, signal, sys
from pathlib import Path
from synthesis.io import replaced
with replaced(Path(sys.argv[1])) as file:
    file.write(b"ha")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
