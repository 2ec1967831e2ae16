"""The lines of a journal. Each is one JSON object; `t` says which kind."""

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from synthesis.judge.model import Rubric, TestCase, TokenUsage

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


class RunLine(msgspec.Struct, frozen=True, rename="camel", tag="run", tag_field="t"):
    """Opens a journal; written again whenever judge, price or number of iterations change."""

    format: int
    at: str
    test_set_name: str
    judge: Identity
    iterations: Count
    price: Price | None
    rubric: Rubric


class SetLine(msgspec.Struct, frozen=True, tag="set", tag_field="t"):
    """The samples as they are now: queryLogId and fingerprint, in order."""

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


class ErrorLine(msgspec.Struct, frozen=True, rename="camel", tag="error", tag_field="t", omit_defaults=True):
    """A sample that could not be judged, and why."""

    i: Count
    h: str
    f: str
    at: str
    query_log_id: str
    question: str
    reason: str
    kind: str | None = None


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
