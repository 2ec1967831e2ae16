"""Fuzzed inputs over every format: each ends with a report or a clear error, in bounded memory and time."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign import input_files
from campaign.lab import EVALUATION, Lab
from campaign.tally import Attempt, Budget, Kind, Setting, expect
from synthesis.io import CASES

MEGABYTES = 400
SECONDS = 60  # of processor time
CODES = (0, 1, 2, 3)
LARGE_EVERY = 100  # one try in so many is large rather than damaged: it takes seconds
NASTY = [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"{" * 5000, b"[" * 100_000, b'"', b"\r", b"1e999999"]
NASTY += [
    b"\\ud800",
    b"\n\n\n",
    b"-",
    b"null",
    b"\xe2\x80\xae",
    b",,,,,",
    b'""""',
    b"9" * 5000,
    b"\x1f\x8b",
    b"(\xb5/\xfd",
]

Damage = Callable[[random.Random, bytes], bytes]


def _whole(chance: random.Random, content: bytes) -> bytes:  # noqa: ARG001
    return content


def _truncated(chance: random.Random, content: bytes) -> bytes:
    return content[: chance.randrange(len(content))]


def _flipped(chance: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8, 64])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _inserted(chance: random.Random, content: bytes) -> bytes:
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(content) + 1)
        content = content[:place] + chance.choice(NASTY) + content[place:]
    return content


def _removed(chance: random.Random, content: bytes) -> bytes:
    start = chance.randrange(len(content))
    return content[:start] + content[start + chance.randint(1, 200) :]


def _moved(chance: random.Random, content: bytes) -> bytes:
    """Two pieces in each other's place."""
    first, second, third = sorted(chance.randrange(len(content) + 1) for _ in range(3))
    return content[:first] + content[second:third] + content[first:second] + content[third:]


DAMAGES: list[Damage] = [_whole, _truncated, _truncated, _flipped, _flipped, _inserted, _inserted, _removed, _moved]


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    with Lab.opened(*EVALUATION) as lab:
        lab.warm("--cases", CASES, "--workers", 1, "--out", setting.folder / "report.json")

        def attempt(chance: random.Random, number: int, folder: Path) -> None:
            if number % LARGE_EVERY == LARGE_EVERY - 1:
                path, options = input_files.large(chance, folder)
                what = f"large {path.name}"
            else:
                name, content, options = input_files.small(chance)
                inside, outside = chance.choice(DAMAGES), chance.choice(DAMAGES)
                if chance.random() < 0.5:  # the content before it is compressed, or the file as it lies on the disk
                    outside = _whole
                path = folder / name
                path.write_bytes(outside(chance, input_files.packed(name, inside(chance, content) or b"\n")))
                what = f"{inside.__name__} {outside.__name__} {name} {' '.join(options)}"
            _expect_clear_end(lab, folder, path, options, what)

        yield attempt


def _expect_clear_end(lab: Lab, folder: Path, path: Path, options: list[str], what: str) -> None:
    fixed = ["--workers", 1, "--out", folder / "report.json", "--fail-on", 99999]
    ended = lab.start(folder, "--cases", path.name, *fixed, *options, seconds=SECONDS).wait(3 * SECONDS)
    expect(ended.code in CODES, f"{what}: ends with {ended.code}: {ended.text[-200:]!r}")
    expect(ended.code != 1 or "error:" in ended.text, f"{what}: ends with 1 and without a message")
    expect(ended.megabytes <= MEGABYTES, f"{what}: takes {ended.megabytes:.0f} MB")


KIND = Kind(
    "inputs",
    "damaged and large cases, logs and tables as jsonl, json, csv, tsv, parquet, gz and zst",
    prepare,
    quick=Budget(2000, 480),
    full=Budget(20_000, 2 * 3600),
)
