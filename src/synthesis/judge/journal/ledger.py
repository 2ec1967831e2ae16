"""What a journal adds up to, updated line by line: while a process runs and when the journal is read again."""

from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from synthesis.judge.journal.lines import (
    CallLine,
    ErrorLine,
    Identity,
    Line,
    LostLine,
    ReplyLine,
    RunLine,
    SetLine,
    VerdictLine,
    sample_hash,
)
from synthesis.judge.model import TokenUsage


class State(StrEnum):
    """The state of a sample. Stale: its text has changed since it was judged."""

    JUDGED = "judged"
    STALE = "stale"
    FAILED = "failed"
    PENDING = "pending"


class Sample(msgspec.Struct, frozen=True):
    """One sample of the set as it is now."""

    position: int
    query_log_id: str
    hash: str
    fingerprint: str


class Work(msgspec.Struct, frozen=True):
    """One sample of one iteration."""

    iteration: int
    sample: Sample


class Call:
    """One call to a judge: begun, and answered unless it was lost."""

    __slots__ = ("begun", "lost", "usage")

    def __init__(self, begun: CallLine) -> None:
        self.begun = begun
        self.usage: tuple[TokenUsage, ...] | None = None
        self.lost: str | None = None


class IterationLedger:
    """Everything that one judge said and cost in one iteration."""

    def __init__(self) -> None:
        self.verdicts: defaultdict[str, dict[str, VerdictLine]] = defaultdict(dict)
        self.errors: dict[tuple[str, str], ErrorLine] = {}
        self.calls: dict[int, Call] = {}
        self.calls_of: defaultdict[str, list[Call]] = defaultdict(list)
        self.last_at: str | None = None

    def state(self, sample: Sample) -> State:
        """A verdict on the present text counts first, then a failure to judge it, then an older verdict."""
        verdicts = self.verdicts.get(sample.hash)
        if verdicts and sample.fingerprint in verdicts:
            return State.JUDGED
        if (sample.hash, sample.fingerprint) in self.errors:
            return State.FAILED
        return State.STALE if verdicts else State.PENDING

    def verdict(self, sample: Sample) -> VerdictLine | None:
        """The verdict on the present text, else the newest on an older one."""
        verdicts = self.verdicts.get(sample.hash)
        if not verdicts:
            return None
        return verdicts.get(sample.fingerprint) or next(reversed(verdicts.values()))

    def usage(self, hash_: str, fingerprint: str) -> tuple[TokenUsage, ...]:
        """What was billed for one text of one sample, in the order of the calls."""
        calls = self.calls_of.get(hash_, ())
        noted = tuple(usage for call in calls if call.begun.f == fingerprint for usage in call.usage or ())
        verdict = self.verdicts.get(hash_, {}).get(fingerprint)
        return noted if verdict is None or verdict.n is not None else (*noted, *usage_in(verdict))

    def unaccounted(self) -> Iterator[Call]:
        """Calls that were begun and never answered."""
        return (call for call in self.calls.values() if call.usage is None)


class Ledger:
    """The state of a run folder."""

    def __init__(self) -> None:
        self.run: RunLine | None = None
        self.samples: tuple[Sample, ...] = ()
        self.next_call = 1
        self._judges: defaultdict[Identity, defaultdict[int, IterationLedger]]
        self._judges = defaultdict(lambda: defaultdict(IterationLedger))
        self._open: dict[int, IterationLedger] = {}  # by call, since a reply names only its call
        self._ids: dict[str, str] = {}

    def present_run(self) -> RunLine:
        """Which judge and set the journal belongs to; every journal that was read or opened has it."""
        if self.run is None:
            raise LookupError("a journal begins with its judge")
        return self.run

    def iteration(self, number: int) -> IterationLedger:
        """The present judge's work in one iteration."""
        return self._judges[self.present_run().judge][number]

    def begun_iterations(self) -> list[int]:
        """The iterations that were asked for and begun, in order; the first begins with the run."""
        if self.run is None:
            return []
        worked = self._judges[self.run.judge]
        return [number for number in range(1, self.run.iterations + 1) if number == 1 or number in worked]

    def worked_iterations(self) -> list[int]:
        """Every iteration that the present judge has worked in, asked for or not."""
        return sorted(self._judges[self.run.judge]) if self.run else []

    def query_log_id(self, hash_: str) -> str | None:
        """The id behind a hash, where the sample was ever in the set."""
        return self._ids.get(hash_)

    def apply(self, line: Line) -> None:
        """Take one line into account."""
        match line:
            case RunLine():
                self.run = line
            case SetLine():
                self.samples = tuple(
                    Sample(position, id_, sample_hash(id_), print_)
                    for position, (id_, print_) in enumerate(line.samples)
                )
                self._ids |= {sample.hash: sample.query_log_id for sample in self.samples}
            case CallLine():
                self._begin(line)
            case ReplyLine():
                self._open.pop(line.n).calls[line.n].usage = line.usage
            case LostLine():
                self._open.pop(line.n).calls[line.n].lost = line.reason
            case VerdictLine():
                self._judged(line)
            case ErrorLine():
                iteration = self.iteration(line.i)
                iteration.errors[line.h, line.f] = line
                iteration.last_at = line.at

    def _begin(self, line: CallLine) -> None:
        iteration = self.iteration(line.i)
        call = Call(line)
        iteration.calls[line.n] = call
        iteration.calls_of[line.h].append(call)
        iteration.last_at = line.at
        self._open[line.n] = iteration
        self.next_call = max(self.next_call, line.n + 1)

    def _judged(self, line: VerdictLine) -> None:
        iteration = self.iteration(line.i)
        iteration.verdicts[line.h][line.f] = line
        iteration.errors.pop((line.h, line.f), None)
        iteration.last_at = line.at
        if line.n is not None:
            self._open.pop(line.n).calls[line.n].usage = usage_in(line)


def usage_in(line: VerdictLine) -> tuple[TokenUsage, ...]:
    """What the call behind a verdict was billed."""
    return msgspec.convert(line.record["tokenUsage"], tuple[TokenUsage, ...])
