"""A finished run's journal is damaged: it is refused at that line, or the run ends as if nothing had happened."""

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign import judged_runs
from campaign.judge_server import JudgeServer
from campaign.lab import JUDGE, Lab
from campaign.tally import Attempt, Budget, Kind, Setting, expect

SAMPLES = 12
FATAL = 1
_LINE = re.compile(r"journal\.jsonl:(\d+)")

Damage = Callable[[random.Random, bytes], tuple[bytes, int, int]]  # the content, first and last line to be named


def _truncated(chance: random.Random, content: bytes) -> tuple[bytes, int, int]:
    """A torn end is what a crash leaves: never refused (0 lines may be named)."""
    return content[: chance.randrange(len(content))], 0, 0


def _flipped(chance: random.Random, content: bytes) -> tuple[bytes, int, int]:
    place = chance.randrange(len(content))
    line = content.count(b"\n", 0, place) + 1
    changed = bytes([content[place] ^ 1 << chance.randrange(8)])
    return content[:place] + changed + content[place + 1 :], line, line + 1


def _edited(chance: random.Random, content: bytes) -> tuple[bytes, int, int]:
    """Another digit in place of one: still JSON, but not what was stored."""
    places = [match.start() for match in re.finditer(rb"\d", content)]
    place = chance.choice(places)
    digit = chance.choice([str(number).encode() for number in range(10) if content[place] != ord(str(number))])
    line = content.count(b"\n", 0, place) + 1
    return content[:place] + digit + content[place + 1 :], line, line


def _doubled(chance: random.Random, content: bytes) -> tuple[bytes, int, int]:
    lines = content.splitlines(keepends=True)
    number = chance.randrange(len(lines))
    place = chance.randrange(number, len(lines)) + 1
    lines.insert(place, lines[number])
    return b"".join(lines), number + 1, len(lines)


def _swapped(chance: random.Random, content: bytes) -> tuple[bytes, int, int]:
    lines = content.splitlines(keepends=True)
    first, second = sorted(chance.sample(range(len(lines)), 2))
    lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines), 1, len(lines)


def _removed(chance: random.Random, content: bytes) -> tuple[bytes, int, int]:
    lines = content.splitlines(keepends=True)
    number = chance.randrange(len(lines))
    return b"".join(lines[:number] + lines[number + 1 :]), 1, len(lines)


DAMAGES: list[Damage] = [_truncated, _flipped, _flipped, _edited, _doubled, _swapped, _removed]


@contextmanager
def prepare(setting: Setting) -> Iterator[Attempt]:
    test_set = judged_runs.write_set(setting.folder / "set.json", SAMPLES)
    with JudgeServer() as server, Lab.opened(*JUDGE) as lab:
        command = judged_runs.command(server, test_set)
        ended = lab.start(setting.folder, *command).wait()
        expect(ended.code == 0, f"an undisturbed run ends with {ended.code}: {ended.text[-300:]!r}")
        finished = setting.folder / "run"
        whole, content = judged_runs.results(finished), (finished / "journal.jsonl").read_bytes()

        def attempt(chance: random.Random, number: int, folder: Path) -> None:
            damage = DAMAGES[number % len(DAMAGES)]
            damaged, first, last = damage(chance, content)
            journal = folder / "run" / "journal.jsonl"
            shutil.copytree(finished, folder / "run")
            journal.write_bytes(damaged)
            before = len(server.calls)
            ended = lab.start(folder, *command).wait()
            name = damage.__name__.strip("_")
            if ended.code == FATAL:
                _expect_refusal(name, ended.text, first, last)
                expect(journal.read_bytes() == damaged, f"{name}: refused, but changed")
                expect(len(server.calls) == before, f"{name}: refused, but calls were sent")
                return
            expect(ended.code == 0, f"{name}: ends with {ended.code}: {ended.text[-200:]!r}")
            judged_runs.expect_same(judged_runs.results(folder / "run"), whole)
            judged_runs.expect_each_once(judged_runs.stored(folder / "run"), SAMPLES)

        yield attempt


def _expect_refusal(name: str, said: str, first: int, last: int) -> None:
    found = _LINE.search(said)
    expect(last, f"{name}: a torn end is refused: {said[-200:]!r}")
    expect(found, f"{name}: refused without a line: {said[-200:]!r}")
    expect(found and first <= int(found[1]) <= last, f"{name}: line {first} is damaged, {said[:160]!r}")
    expect("--output-dir" in said, f"{name}: does not say what to do: {said[-200:]!r}")


KIND = Kind(
    "journal-damage",
    "a journal truncated, with a bit flipped, a digit edited, a line doubled, swapped or removed",
    prepare,
    quick=Budget(280, 130),
    full=Budget(3000, 2400),
)
