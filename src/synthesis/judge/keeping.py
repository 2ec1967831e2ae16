"""What was appended becomes durable and is then shown; samples that are ready together share a flush."""

import asyncio
import contextlib
from collections.abc import Callable

from synthesis.errors import OutputError
from synthesis.judge.files import replace_file
from synthesis.judge.journals import Journal, Work
from synthesis.judge.progress import ProgressView
from synthesis.judge.store import progress_path


class Keeper:
    """Flushes behind the workers' backs, but never lets more than `most` samples wait for the disk.

    With one worker that means: the next call is sent when the last verdict is on the disk. With many, a
    worker need not wait for the disk while the others go on paying.
    """

    def __init__(self, journal: Journal, most: int, shown: Callable[[], None]) -> None:
        self._journal = journal
        self._most = most
        self._shown = shown
        self._waiting: list[Work] = []
        self._on_the_way = 0
        self._flushing: asyncio.Task[None] | None = None
        self._views: dict[int, ProgressView] = {}

    async def keep(self, work: Work) -> None:
        """Take over a sample whose line was appended."""
        self._waiting.append(work)
        if self._flushing is None or self._flushing.done():
            await self.settle()
            self._flushing = asyncio.create_task(self._flush())
        if len(self._waiting) + self._on_the_way >= self._most:
            await self.settle()

    async def settle(self) -> None:
        """Return when nothing waits any more; raises what the disk refused."""
        if self._flushing is not None:
            await asyncio.shield(self._flushing)

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            self._on_the_way = len(batch)
            await self._journal.commit()
            self._on_the_way = 0
            self.show(batch)

    def show(self, batch: list[Work]) -> None:
        """Samples that are stored, here or by another process, appear in the progress files."""
        for work in batch:
            self._view(work.iteration).update(work.sample)
        for iteration in sorted({work.iteration for work in batch}):
            if self._view(iteration).is_due():
                self._write(iteration)
        self._shown()

    def _view(self, iteration: int) -> ProgressView:
        if iteration not in self._views:
            self._views[iteration] = ProgressView(self._journal.ledger, iteration)
        return self._views[iteration]

    def _write(self, iteration: int) -> None:
        """A view that cannot be written is no reason to stop: the journal and the last writing will tell."""
        path = progress_path(self._journal.folder, iteration)
        with contextlib.suppress(OutputError):
            replace_file(path, self._view(iteration).content(), durable=False)
