"""What a run asks of its journal. There are two: a file for one process, a PostgreSQL database for several."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from synthesis.errors import JudgeError
from synthesis.judge.journal.ledger import Ledger, Sample
from synthesis.judge.journal.lines import CallLine, ErrorLine, Line, LostLine, ReplyLine, VerdictLine, now
from synthesis.judge.model import TokenUsage

Opening = Callable[[Ledger], Sequence[Line]]
Listener = Callable[[Sequence[Line]], None]


class Work(msgspec.Struct, frozen=True):
    """One sample of one iteration; `token` is the lease on it, where there are leases."""

    iteration: int
    sample: Sample
    token: int = 0


class LeaseLostError(JudgeError):
    """Another process has taken over the sample; this process records no outcome for it."""


class Journal(ABC):
    """Append-only. Once a coroutine here has returned, its effect survives the death of this process.

    `ledger` is what all lines add up to, `begun` counts this process's calls, `shown` names the journal in messages.
    """

    def __init__(self, folder: Path, shown: str) -> None:
        self.folder = folder
        self.shown = shown
        self.ledger = Ledger()
        self.begun = 0

    @abstractmethod
    async def open(self, opening: Opening) -> None:
        """Store the lines that `opening` finds missing in the ledger: judge, price, set. It may refuse."""

    @abstractmethod
    def enlist(self, work: Sequence[Work], listener: Listener) -> None:
        """Offer the samples this process would judge; `listener` is called with lines that other processes wrote."""

    @abstractmethod
    async def take(self) -> Work | None:
        """The next sample, reserved for this process; None when none is left."""

    @abstractmethod
    def halt(self) -> None:
        """Stop handing out samples; waiting callers get None."""

    @abstractmethod
    async def store(self, line: Line, work: Work | None = None) -> Line | None:
        """Store a line, in the name of the lease on `work`; returns what was stored, None if the lease was lost."""

    @abstractmethod
    async def commit(self) -> None:
        """Return when everything stored so far is on the disk."""

    @abstractmethod
    async def end(self) -> None:
        """Finish judging: release held samples and read what other processes have written."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    async def begin(self, work: Work, worst: TokenUsage) -> int:
        """Record that a call is about to be sent; returns its number."""
        sample, most = work.sample, (worst.input_tokens, worst.output_tokens)
        line = CallLine(self.ledger.next_call, work.iteration, sample.hash, sample.fingerprint, now(), most)
        stored = await self.store(line, work)
        if not isinstance(stored, CallLine):
            raise LeaseLostError("another process has taken over this sample")
        self.begun += 1
        return stored.n

    async def note(self, line: ReplyLine | LostLine) -> None:
        """Record how a call ended."""
        await self.store(line)

    async def finish(self, work: Work, line: VerdictLine | ErrorLine) -> bool:
        """Store the outcome of a sample; False: another process had taken it over."""
        return isinstance(await self.store(line, work), type(line))
