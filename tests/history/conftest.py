from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import Server, running_server

from synthesis.history import open_history
from synthesis.history.store import History


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server | str]:
    """The server, or why there is none."""
    try:
        with running_server() as server:
            yield server
    except RuntimeError as error:
        yield str(error)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a history of its own can be kept, in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "history" / "runs.db")
    server = request.getfixturevalue("postgresql")
    if isinstance(server, str):
        pytest.skip(server)
    return str(server.new_database())


@pytest.fixture
def history(place: str) -> Iterator[History]:
    with open_history(place) as opened:
        yield opened
