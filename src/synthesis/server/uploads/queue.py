"""Uploads wait here for the process that evaluates them."""

import asyncio
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from synthesis.errors import SynthesisError
from synthesis.server.errors import ApiError, ErrorDetail
from synthesis.server.limits import Slots
from synthesis.server.uploads.store import FAILED, UploadFolder, UploadOrder
from synthesis.server.uploads.work import work

_DIED = ErrorDetail("died", "The process that evaluated the file died.", "It may have run out of memory.")


class UploadQueue:
    """Hands uploads, one after the other, to a process that is started when the first one comes."""

    def __init__(self, most: int) -> None:
        self.slots = Slots(most, "uploaded files that wait or are worked on")
        self._thread = ThreadPoolExecutor(1, "uploads")
        self._process: BaseProcess | None = None
        self._orders: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, folder: UploadFolder, order: UploadOrder) -> None:
        """Have an upload evaluated when its turn comes; 429 where too many wait."""
        self.slots.take()
        task = asyncio.get_running_loop().create_task(self._wait_for(folder, order))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait_for(self, folder: UploadFolder, order: UploadOrder) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._hand_over, folder, order)
        finally:
            self.slots.free()

    def _hand_over(self, folder: UploadFolder, order: UploadOrder) -> None:
        """Blocks until the upload is over; a process that dies takes only this one upload with it."""
        try:
            orders = self._started()
            orders.send((str(folder.path), order))
            orders.recv()
        except (EOFError, OSError):
            self._process = None
            with suppress(SynthesisError, ApiError, OSError):  # its folder may be gone, with the server's own
                folder.input(order.kind).unlink(missing_ok=True)
                folder.change(state=FAILED, error=_DIED)

    def _started(self) -> Connection:
        if self._process is None or self._orders is None or not self._process.is_alive():
            # Spawned, not forked: there are threads and sockets here that it must not have.
            context = multiprocessing.get_context("spawn")
            self._orders, theirs = context.Pipe()
            self._process = context.Process(target=work, args=(theirs,), daemon=True, name="synthesis uploads")
            self._process.start()
            theirs.close()
        return self._orders

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.terminate()
