"""Clients of real servers on loopback."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

import serving as servers  # noqa: E402

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
