"""A real server on loopback, in a thread of this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from synthesis.server.app import bind, configured
from synthesis.server.security import ServerSettings


@contextmanager
def serving(folder: Path, **changes: Any) -> Iterator[str]:
    """The address of a server with these settings; it ends with the block."""
    settings = ServerSettings(**({"port": 0, "folder": str(folder), "history": str(folder / "history.db")} | changes))
    bound = bind(settings)
    settings = msgspec.structs.replace(settings, port=bound.getsockname()[1])
    server = uvicorn.Server(configured(settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{settings.port}"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
