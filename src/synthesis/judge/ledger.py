"""The lines of a journal, and what they add up to. Each line is one JSON object; `t` says which kind."""

import copy
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any
from zlib import crc32

import msgspec

from synthesis.errors import Place, RunFolderError, shorten
from synthesis.judge.model import AxisVerdict, Rubric, TestCase, TokenUsage, Verdict
from synthesis.report.judged.layout import Layout, canonical_record, in_words, layout_of
from synthesis.report.judged.run import OFFLINE

FORMAT = 1
Count = Annotated[int, msgspec.Meta(ge=1)]
Tokens = Annotated[int, msgspec.Meta(ge=0)]


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Identifies the judge: a run folder belongs to one. `settings` is None where version 0.1 did not record them."""

    provider: str
    model: str
    prompt: str | None
    rubric: str
    settings: str | None = None

    def covers(self, other: "Identity") -> bool:
        """Whether it is the same judge, as far as is recorded."""
        return self == (other if self.settings is not None else msgspec.structs.replace(other, settings=None))

    def is_continued_by(self, other: "Identity") -> bool:
        """Whether both are versions of the offline judge under one rubric: judging again is free."""
        names = {judge.rubric.rpartition(":")[0] for judge in (self, other)}
        return self.provider == other.provider == OFFLINE and len(names) == 1

    def difference(self, other: "Identity") -> str:
        """How two judges differ, in words."""
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in self.__struct_fields__]
        return ", ".join(
            f"{name} {mine or 'none'}, not {theirs or 'none'}" for name, mine, theirs in pairs if mine != theirs
        )


class Price(msgspec.Struct, frozen=True, rename="camel"):
    """USD per million tokens, and the source of the price."""

    input_per_million: float
    output_per_million: float
    source: str

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """The cost of these tokens."""
        return (input_tokens * self.input_per_million + output_tokens * self.output_per_million) / 1_000_000


class RunLine(msgspec.Struct, frozen=True, rename="camel", tag="run", tag_field="t", omit_defaults=True):
    """Opens a journal; written again whenever judge, price or number of iterations change.

    `has_courses` is told where the rubric does not say it: courses under another rubric than theirs.
    """

    format: int
    at: str
    test_set_name: str
    judge: Identity
    iterations: Count
    price: Price | None
    rubric: Rubric
    has_courses: bool = False

    @property
    def layout(self) -> Layout:
        """What the fields of this run's files are called."""
        return layout_of(self.rubric.name, has_courses=self.has_courses)


class SetLine(msgspec.Struct, frozen=True, tag="set", tag_field="t"):
    """The samples as they are now: id and fingerprint, in order."""

    at: str
    samples: tuple[tuple[str, str], ...]


class CallLine(msgspec.Struct, frozen=True, tag="call", tag_field="t"):
    """Call `n` was begun; `worst` is what it could cost at most, in input and output tokens."""

    n: Count
    i: Count
    h: str
    f: str
    at: str
    worst: tuple[Tokens, Tokens]


class ReplyLine(msgspec.Struct, frozen=True, tag="reply", tag_field="t"):
    """Call `n` was answered, but not with a verdict; what it cost is known."""

    n: Count
    at: str
    usage: tuple[TokenUsage, ...]
    reason: str


class LostLine(msgspec.Struct, frozen=True, tag="lost", tag_field="t"):
    """Call `n` was cut off or abandoned; its cost is not known."""

    n: Count
    at: str
    reason: str


class VerdictLine(msgspec.Struct, frozen=True, tag="verdict", tag_field="t"):
    """A judged sample with its whole record; answers call `n` where there was one."""

    i: Count
    h: str
    f: str
    at: str
    n: Count | None
    record: dict[str, Any]


class ErrorLine(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag="error", tag_field="t", omit_defaults=True
):
    """A sample that could not be judged, and why. It has one of the names that an id has in the run's layout."""

    i: Count
    h: str
    f: str
    at: str
    id: str | None = None
    query_log_id: str | None = None
    question: str
    reason: str
    kind: str | None = None

    @property
    def sample_id(self) -> str | None:
        """The id, under either name."""
        return self.query_log_id if self.query_log_id is not None else self.id


Line = RunLine | SetLine | CallLine | ReplyLine | LostLine | VerdictLine | ErrorLine
_DECODER = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()
Raw = bytes | memoryview


def encode(line: Line) -> bytes:
    """One line of a journal, without its line break."""
    return _ENCODER.encode(line)


def decode(raw: Raw) -> Line:
    """One line of a journal; raises msgspec's errors."""
    line: Line = _DECODER.decode(raw)
    return line


def now() -> str:
    """The time as files show it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def sample_hash(query_log_id: str) -> str:
    """The identity of a sample."""
    return hashlib.sha256(query_log_id.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(case: TestCase) -> str:
    """Changes when the question, the context or the answer changes."""
    return hashlib.sha256(msgspec.json.encode((case.question, case.context, case.answer))).hexdigest()


# Checksums: each line vouches for itself and for all lines before it. A checksum of the line alone would not notice a
# line that was lost, doubled or moved. So it runs over the whole journal: the CRC-32 of everything up to and including
# this line. It finds damage; it is no signature.


_KEY = b',"sum":"'
_END = b'"}'
_DIGITS = 8
_WIDTH = len(_KEY) + _DIGITS + len(_END)


class ChecksumError(ValueError):
    """A line that is not what was written, or not where it was written."""


class ChecksumChain:
    """Walks along a journal, as its reader or its writer. `has_begun`: a line with a checksum was passed."""

    def __init__(self) -> None:
        self.has_begun = False
        self._sum = 0

    def copy(self) -> "ChecksumChain":
        """A chain that goes its own way from here."""
        return copy.copy(self)

    def seal(self, line: Line) -> bytes:
        """The bytes of the next line, its checksum included."""
        content = encode(line)
        self._sum, self.has_begun = crc32(content, self._sum), True
        return content[:-1] + _KEY + b"%08x" % self._sum + _END

    def check(self, raw: Raw) -> None:
        """Pass the next line. Version 0.1 wrote no checksums, so lines without one may come first."""
        found = self._sum_in(raw)
        if found is None and self.has_begun:
            raise ChecksumError("this line has no checksum, though the lines before it have")
        following = self._following(raw, is_sealed=found is not None)
        if found is not None and found != b"%08x" % following:
            raise ChecksumError(
                "the checksum does not match: this line was changed, or lines before it were changed, lost, doubled "
                "or moved"
            )
        self._sum, self.has_begun = following, found is not None

    def matches(self, raw: Raw) -> bool:
        """`raw` has a checksum, and it is the next line."""
        found = self._sum_in(raw)
        return found is not None and found == b"%08x" % self._following(raw, is_sealed=True)

    def _following(self, raw: Raw, *, is_sealed: bool) -> int:
        return crc32(b"}", crc32(raw[:-_WIDTH], self._sum)) if is_sealed else crc32(raw, self._sum)

    def _sum_in(self, raw: Raw) -> bytes | None:
        """Quotes inside a JSON string are escaped, so no text can end like this."""
        end = bytes(raw[-_WIDTH:])
        if len(end) < _WIDTH or not (end.startswith(_KEY) and end.endswith(_END)):
            return None
        return end[len(_KEY) : len(_KEY) + _DIGITS]


# What the lines add up to, updated line by line: while a process runs and when the journal is read again.


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
        return noted if verdict is None or verdict.n is not None else (*noted, *_usage_in(verdict))

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
            self._open.pop(line.n).calls[line.n].usage = _usage_in(line)


def _usage_in(line: VerdictLine) -> tuple[TokenUsage, ...]:
    """What the call behind a verdict was billed."""
    return msgspec.convert(line.record["tokenUsage"], tuple[TokenUsage, ...])


# Reading a journal: every line is checked before it counts; damage stops with its line and what to do.


_ROUNDING = 1e-9


class JournalReader:
    """Checks stored lines in their order, and adds them up in `ledger`. `shown` names the journal in messages."""

    def __init__(self, shown: str) -> None:
        self.ledger = Ledger()
        self.chain = ChecksumChain()
        self._shown = shown

    def read(self, raw: Raw, number: int) -> Line:
        """The next line; a damaged one is refused with its place, and nothing is changed."""
        chain = self.chain.copy()  # it moves on with a good line only, so the hint knows how far the journal is sound
        try:
            line = decode(raw)
            self._check_format(line, raw, number)
            chain.check(raw)
            _check_line(line, self.ledger)
            self.ledger.apply(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, ChecksumError, DamagedLineError) as error:
            raise self._damaged(raw, number, error) from None
        except KeyError as error:
            raise self._damaged(raw, number, DamagedLineError(f"there is no open call {error}")) from None
        self.chain = chain
        return line

    def _damaged(self, raw: Raw, number: int, error: Exception) -> RunFolderError:
        """The error for one damaged line."""
        is_foreign = self.ledger.run is None and not isinstance(error, ChecksumError)
        kind = "this is not a journal of this tool" if is_foreign else "the journal is damaged"
        return self._refused(raw, number, f"{kind}: {error}")

    def _check_format(self, line: Line, raw: Raw, number: int) -> None:
        if isinstance(line, RunLine) and line.format != FORMAT:
            message = f"this journal has format {line.format}; this version reads format {FORMAT}"
            raise self._refused(raw, number, message)

    def _refused(self, raw: Raw, number: int, message: str) -> RunFolderError:
        excerpt = shorten(bytes(raw[:200]).decode("utf-8", "replace"))
        return RunFolderError(message, place=Place(self._shown, number, excerpt=excerpt), hint=self._hint(number))

    def _hint(self, number: int) -> str:
        hint = "Nothing was changed. Restore the file from a copy, or choose another folder with --output-dir."
        if not self.chain.has_begun:
            return hint
        return (
            f"{hint} The lines before this one are sound: `head -n {number - 1}` keeps them, the rest is judged again."
        )


class DamagedLineError(ValueError):
    """A line that can be read, but cannot be true."""


class StoredVerdict(msgspec.Struct, frozen=True):
    score: Annotated[int, msgspec.Meta(ge=1, le=5)] | None
    reasoning: str


class StoredRecord(msgspec.Struct, frozen=True, rename="camel"):
    """What every record has."""

    query_log_id: str
    question: str
    system_answer: str
    judge_verdict: dict[str, StoredVerdict]
    overall_score: float | None
    passed: bool
    course_count: Annotated[int, msgspec.Meta(ge=0)]
    token_usage: tuple[TokenUsage, ...]
    flags: tuple[str, ...] = ()
    details: dict[str, Any] = {}


def _check_line(line: Line, ledger: Ledger) -> None:
    """Refuse a line that contradicts those before it. A checksum proves more, but lines of version 0.1 have none."""
    if isinstance(line, RunLine):
        return
    run = ledger.run
    if run is None:
        raise DamagedLineError("a journal begins with its judge; this line does not")
    if isinstance(line, CallLine):
        _require(line.n >= ledger.next_call, f"call {line.n} appears twice")
    if isinstance(line, CallLine | VerdictLine | ErrorLine):
        _require(line.i <= run.iterations, f"there is no iteration {line.i}")
        _require(ledger.query_log_id(line.h) is not None, "it names a sample that the set does not have")
    if isinstance(line, VerdictLine):
        _check_record(line, ledger.query_log_id(line.h), run)
    if isinstance(line, ErrorLine):
        _require(line.sample_id == ledger.query_log_id(line.h), "its sample hash belongs to another id")


def _check_record(line: VerdictLine, query_log_id: str | None, run: RunLine) -> None:
    record, rubric = _stored_record(line, run), run.rubric
    _require(record.query_log_id == query_log_id, "its sample hash belongs to another id")
    missing = [axis.name for axis in rubric.axes if axis.name not in record.judge_verdict]
    _require(not missing, f"the record has no verdict on {', '.join(missing)}")
    verdict = Verdict({name: AxisVerdict(said.score, said.reasoning) for name, said in record.judge_verdict.items()})
    overall, told = rubric.overall(verdict), record.overall_score
    same = told is overall if told is None or overall is None else abs(overall - told) < _ROUNDING
    _require(same and rubric.passed(verdict) == record.passed, "overallScore or passed do not follow from the scores")


def _stored_record(line: VerdictLine, run: RunLine) -> StoredRecord:
    try:
        return msgspec.convert(canonical_record(line.record), StoredRecord)
    except msgspec.ValidationError as error:
        raise DamagedLineError(in_words(str(error), run.layout)) from None


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise DamagedLineError(message)
