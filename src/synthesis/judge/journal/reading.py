"""Reading a journal: every line is checked before it counts; damage stops with its line and what to do."""

from typing import Annotated, Any

import msgspec

from synthesis.errors import Place, RunFolderError, shorten
from synthesis.judge.journal.checksums import ChecksumChain, ChecksumError
from synthesis.judge.journal.ledger import Ledger
from synthesis.judge.journal.lines import (
    FORMAT,
    CallLine,
    ErrorLine,
    Line,
    Raw,
    RunLine,
    VerdictLine,
    decode,
)
from synthesis.judge.model import AxisVerdict, Rubric, TokenUsage, Verdict

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
            check_line(line, self.ledger)
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
    score: Annotated[int, msgspec.Meta(ge=1, le=5)]
    reasoning: str


class StoredRecord(msgspec.Struct, frozen=True, rename="camel"):
    """What every record has."""

    query_log_id: str
    question: str
    system_answer: str
    judge_verdict: dict[str, StoredVerdict]
    overall_score: float
    passed: bool
    course_count: Annotated[int, msgspec.Meta(ge=0)]
    token_usage: tuple[TokenUsage, ...]
    flags: tuple[str, ...] = ()
    details: dict[str, Any] = {}


def check_line(line: Line, ledger: Ledger) -> None:
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
        _check_record(line, ledger.query_log_id(line.h), run.rubric)
    if isinstance(line, ErrorLine):
        _require(line.query_log_id == ledger.query_log_id(line.h), "its sample hash belongs to another queryLogId")


def _check_record(line: VerdictLine, query_log_id: str | None, rubric: Rubric) -> None:
    record = msgspec.convert(line.record, StoredRecord)
    _require(record.query_log_id == query_log_id, "its sample hash belongs to another queryLogId")
    missing = [axis.name for axis in rubric.axes if axis.name not in record.judge_verdict]
    _require(not missing, f"the record has no verdict on {', '.join(missing)}")
    verdict = Verdict({name: AxisVerdict(said.score, said.reasoning) for name, said in record.judge_verdict.items()})
    agrees = abs(rubric.overall(verdict) - record.overall_score) < _ROUNDING and rubric.passed(verdict) == record.passed
    _require(agrees, "overallScore or passed do not follow from the scores")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise DamagedLineError(message)
