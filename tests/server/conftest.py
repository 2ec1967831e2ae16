"""Clients of real servers on loopback."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

import serving as servers  # noqa: E402
from saved_samples import fill  # noqa: E402

Serving = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    """`with serving(max_body=1000) as client:` starts a server with these settings."""

    @contextmanager
    def start(folder: Path | None = None, **changes: Any) -> Iterator[Any]:
        with (
            servers.serving(folder or tmp_path_factory.mktemp("server"), **changes) as address,
            httpx.Client(base_url=address, timeout=60, trust_env=False) as client,
        ):
            yield client

    return start


@pytest.fixture(scope="session")
def client(serving: Serving) -> Iterator[Any]:
    """A client of a server with the default settings."""
    with serving() as opened:
        yield opened


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The history of a module's tests."""
    return tmp_path_factory.mktemp("history") / "history.db"


@pytest.fixture(scope="module")
def ids(place: Path) -> dict[str, str]:
    """Runs of both halves in it, by what they stand for."""
    return fill(place)


@pytest.fixture(scope="module")
def full(serving: Any, place: Path, ids: dict[str, str]) -> Iterator[Any]:
    """A client of a server with these runs."""
    assert ids
    with serving(history=str(place)) as client:
        yield client
