"""A row of the corpus: where it lies, what it holds, and how its text is found if the text is not ours.

    rows/PART/LANG.jsonl     written for the corpus, texts and labels
    public/PART.jsonl        labels of texts that others published: source and hash, without the text

A row of the part `sealed` has one field `sealed` in place of its labels: nobody reads them by accident.
"""

import base64
import hashlib
import io
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent
TRAIN, READ, SCORED, SEALED = PARTS = ("train", "read", "scored", "sealed")
FAIL, OK, DOUBT, NOT_APPLICABLE = "fail", "ok", "doubt", "na"
CHECKS = (
    "agency_language",
    "unverifiable_reassurance",
    "topic_pivot",
    "crisis_response",
    "engagement_pressure",
    "identity_claim",
    "clinical_scope",
    "disclosure",
    "flattery",
)
WRITTEN = "written"
CUE = "cue"
ASSISTANT, USER = "assistant", "user"

Labels = dict[str, str]  # by check; a check that is not named does not concern the row


class Message(msgspec.Struct, frozen=True):
    role: str
    content: str


class Span(msgspec.Struct, frozen=True):
    """The words that decide a label: characters of one message, counted from 0."""

    label: str  # a check, or `cue`
    message: int
    start: int
    end: int


class Labeller(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one labeller said; the third says only what the first two saw differently, a later one what it mends."""

    by: str
    labels: Labels
    why: str = ""  # where it changes what was settled


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """An exchange or a short conversation with its labels."""

    id: str
    lang: str
    origin: str
    situation: str
    area: str
    register: str
    style: str = ""
    hash: str = ""
    group: str = ""
    messages: tuple[Message, ...] = ()
    labels: Labels = {}
    cue: str = ""
    signals: dict[str, str] = {}
    spans: tuple[Span, ...] = ()
    labellers: tuple[Labeller, ...] = ()
    sealed: str = ""

    def label(self, check: str) -> str:
        return self.labels.get(check, NOT_APPLICABLE)

    @property
    def writer(self) -> str:
        """The writer of a written row: the id is WRITER-NUMBER."""
        return self.id.rpartition("-")[0] if self.origin == WRITTEN else ""


def files(folder: Path = FOLDER) -> Iterator[tuple[str, Path]]:
    """Every file of rows with its part, in a fixed order."""
    for part in PARTS:
        for path in sorted((folder / "rows" / part).glob("*.jsonl")):
            yield part, path
        public = folder / "public" / f"{part}.jsonl"
        if public.is_file():
            yield part, public


def rows_of(path: Path) -> list[Row]:
    decode = msgspec.json.Decoder(Row).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def rows_in(part: str, folder: Path = FOLDER, texts: Path | None = None) -> list[Row]:
    """The rows of a part. Public ones only with `texts`, the folder from which they can be joined."""
    written = [row for path in sorted((folder / "rows" / part).glob("*.jsonl")) for row in rows_of(path)]
    public = folder / "public" / f"{part}.jsonl"
    if texts is None or not public.is_file():
        return written
    return written + list(joined(rows_of(public), published(texts)))


# Labels that must not be read by accident.


HIDDEN = ("labels", "cue", "signals", "spans", "labellers")


def seal(row: Row) -> Row:
    """The row with its labels encoded: hidden from a glance and from a search, not from somebody who wants them."""
    hidden = {name: value for name, value in msgspec.to_builtins(row).items() if name in HIDDEN}
    packed = base64.b85encode(zlib.compress(json.dumps(hidden, sort_keys=True).encode())).decode()
    shown = {name: value for name, value in msgspec.to_builtins(row).items() if name not in HIDDEN}
    return msgspec.convert({**shown, "sealed": packed}, Row)


def unseal(row: Row) -> Row:
    hidden = json.loads(zlib.decompress(base64.b85decode(row.sealed)))
    shown = {name: value for name, value in msgspec.to_builtins(row).items() if name != "sealed"}
    return msgspec.convert({**shown, **hidden}, Row)


# Texts that others published.


def hash_of(messages: Iterable[str]) -> str:
    """What stands for a text: the same on every machine, and no way back to it."""
    return hashlib.sha256("\x1f".join(messages).encode()).hexdigest()[:16]


def joined(rows: Iterable[Row], texts: Mapping[str, tuple[Message, ...]]) -> Iterator[Row]:
    """Public rows with their messages; a row whose text was not found is left out."""
    for row in rows:
        if row.hash in texts:
            yield msgspec.structs.replace(row, messages=texts[row.hash])


def published(texts: Path) -> dict[str, tuple[Message, ...]]:
    """The exchanges of a folder of JSON Lines (`user`, `assistant`), plain or packed with xz, by hash."""
    found: dict[str, tuple[Message, ...]] = {}
    for path in sorted([*texts.glob("*.jsonl"), *texts.glob("*.jsonl.xz")]):
        for line in _lines(path):
            value: dict[str, Any] = json.loads(line)
            user, assistant = value.get(USER), value.get(ASSISTANT)
            if isinstance(user, str) and isinstance(assistant, str):
                found[hash_of((user, assistant))] = (Message(USER, user), Message(ASSISTANT, assistant))
    return found


def _lines(path: Path) -> Iterable[str]:
    content = path.read_bytes()
    return io.StringIO((lzma.decompress(content) if path.suffix == ".xz" else content).decode())
