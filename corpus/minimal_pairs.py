"""Answers and their sources, in minimal pairs: of two nearly equal answers one is supported and the other is not.

A line of `answers/LANG.jsonl` is a document with ten pairs, one of each kind. A document belongs to one part, as rows
of the corpus do: `read` may be studied, `scored` only measured, `sealed` is opened once for each release.
"""

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from corpus.rows import FOLDER, SEALED

ANSWERS = FOLDER / "answers"
KINDS = (
    "number", "entity", "negation", "date", "range", "quantifier", "role", "detail", "paraphrase", "abstention",
)  # fmt: skip
SUPPORTED, CONTRADICTED, NOT_FOUND, DOUBT = LABELS = ("supported", "contradicted", "not found", "doubt")


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`label` is empty in the sealed part, and `doubt` where writer and reader differ."""

    id: str
    kind: str
    question: str
    answer: str
    label: str = ""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    language: str
    subject: str
    part: str
    passages: tuple[str, ...]
    answers: tuple[Answer, ...]
    sealed: str = ""


def documents(part: str, folder: Path = ANSWERS) -> Iterator[Document]:
    """The documents of a part, those of the sealed one with their labels."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            found = msgspec.json.decode(line, type=Document)
            if found.part == part:
                yield unseal(found) if part == SEALED else found


def unseal(document: Document) -> Document:
    labels = json.loads(zlib.decompress(base64.b85decode(document.sealed)))
    answers = (msgspec.structs.replace(one, label=label) for one, label in zip(document.answers, labels, strict=True))
    return msgspec.structs.replace(document, answers=tuple(answers), sealed="")
