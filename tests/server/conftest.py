"""Real servers on loopback, in threads of this process; a client speaks HTTP to them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")

import msgspec  # noqa: E402
import uvicorn  # noqa: E402

from synthesis.server.app import create_app  # noqa: E402
from synthesis.server.launch import bind  # noqa: E402
from synthesis.server.settings import ServerSettings  # noqa: E402

TOKEN = "a token that is long enough"
Serving = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    """`with serving(max_body=1000) as client:` starts a server with these settings."""

    @contextmanager
    def start(*, headers: dict[str, str] | None = None, **changes: Any) -> Iterator[Any]:
        settings = ServerSettings(port=0, **{"folder": str(tmp_path_factory.mktemp("server")), **changes})
        bound = bind(settings)
        settings = msgspec.structs.replace(settings, port=bound.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None, access_log=False, ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{settings.port}"
            with httpx.Client(base_url=address, timeout=60, headers=headers, trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()
            bound.close()

    return start


@pytest.fixture(scope="session")
def client(serving: Serving) -> Iterator[Any]:
    """A client of a server with the default settings."""
    with serving() as opened:
        yield opened
