"""The campaign counts what it should: seeded tries, failures that can be run again, exit codes; and every kind runs."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaign import __main__ as program
from campaign.forked import in_child
from campaign.journal_damage import DAMAGES
from campaign.kinds import KINDS
from campaign.processes import refuse_tracebacks, strays
from campaign.spelling import spelled
from campaign.tally import Attempt, Broken, Budget, Kind, Setting, expect, run_kind
from synthesis.rules.syntax import parse

QUICK = ("random-rules",)  # the others take longer than a test should
SOME = Budget(3, 60)


def kind_of(attempt: Attempt) -> Kind:
    @contextmanager
    def prepare(_: Setting) -> Iterator[Attempt]:
        yield attempt

    return Kind("sample", "a sample", prepare, SOME, SOME)


def draws(seed: int, **options: int) -> list[float]:
    drawn: list[float] = []
    run_kind(kind_of(lambda chance, *_: drawn.append(chance.random())), seed, SOME, **options)
    return drawn


def test_a_try_depends_on_seed_and_number_alone() -> None:
    assert draws(1) == draws(1) != draws(2)
    assert draws(1, number=2) == draws(1)[2:]


def test_a_broken_promise_is_a_failure_that_names_kind_seed_and_number() -> None:
    tally = run_kind(kind_of(lambda _, number, __: expect(number != 1, "no")), 7, SOME)
    assert (tally.tries, [str(failure) for failure in tally.failures]) == (3, ["sample seed 7 number 1: no"])


def test_a_fault_of_the_campaign_itself_does_not_pass_for_a_success() -> None:
    tally = run_kind(kind_of(lambda *_: open("/nowhere").close()), 1, SOME)
    assert len(tally.failures) == 3


def test_what_cannot_be_prepared_is_a_failure() -> None:
    @contextmanager
    def prepare(_: Setting) -> Iterator[Attempt]:
        raise OSError("no database")
        yield

    tally = run_kind(Kind("sample", "", prepare, SOME, SOME), 1, SOME)
    assert "could not be prepared: OSError: no database" in tally.failures[0].what


def test_no_try_begins_after_the_time_is_up() -> None:
    tally = run_kind(kind_of(lambda *_: time.sleep(0.05)), 1, Budget(1000, 0.2))
    assert 1 <= tally.tries < 10


def test_each_try_has_a_folder_of_its_own_that_is_removed() -> None:
    folders: list[Path] = []
    run_kind(kind_of(lambda _, __, folder: folders.append(folder)), 1, SOME)
    assert len(set(folders)) == 3
    assert not any(folder.exists() for folder in folders)


def test_memory_of_the_parent_is_not_counted() -> None:
    held = bytearray(b"x") * (400 << 20)
    _, megabytes = in_child(lambda: len(bytearray(b"x") * (150 << 20)), 20)
    assert len(held)
    assert megabytes < 300


def test_a_child_that_takes_too_long_raises_or_dies_is_broken() -> None:
    assert in_child(lambda: 5, 5)[0] == 5
    for function, words in ((_spin, "processor time"), (lambda: 1 // 0, "traceback: ZeroDivisionError")):
        with pytest.raises(Broken, match=words):
            in_child(function, 1)


def _spin() -> None:
    while True:
        pass


def test_tracebacks_and_strays_are_seen(tmp_path: Path) -> None:
    refuse_tracebacks("error: a message")
    with pytest.raises(Broken, match="KeyError: 'x'"):
        refuse_tracebacks("Traceback (most recent call last):\n  File x\nKeyError: 'x'\n")
    (tmp_path / "report.json.part").touch()
    (tmp_path / ".synthesis-1").mkdir()
    assert strays(tmp_path) == [".synthesis-1", "report.json.part"]


def test_a_spelled_text_is_one_that_the_pattern_matches() -> None:
    assert spelled(parse("(?:you|we) should"), random.Random(1)) in ("you should", "we should")
    assert spelled(parse("a{1,3}b"), random.Random(1), longest=True) == "aaab"


def test_every_damage_changes_a_journal() -> None:
    content = b'{"n":1}\n{"n":2}\n{"n":3}\n'
    for damage in DAMAGES:
        assert damage(random.Random(5), content)[0] != content


def test_a_failure_ends_with_2_and_its_line_is_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kinds = {"sample": kind_of(lambda _, number, __: expect(number, "zero"))}
    monkeypatch.setattr(program, "KINDS", kinds)
    monkeypatch.setenv("SYNTHESIS_CACHE", "")  # restored afterwards, whatever the program sets
    monkeypatch.setattr(program, "_in_a_process", lambda name, options: program._work(name, options))
    assert program.main(["--seed", "3"]) == 2
    assert "| `sample` | 3 | 3 | 1 |" in (out := capfd.readouterr().out)
    assert "sample seed 3 number 0: zero" in out


def test_the_whole_program_runs_a_kind_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SYNTHESIS_CACHE", "")
    code = program.main(["--only", "random-rules", "--number", "20"])
    assert (code, "| `random-rules` | 1 | 1 | 0 |" in capfd.readouterr().out) == (0, True)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in KINDS]
)
def test_a_few_tries_of_every_kind_find_nothing(name: str) -> None:
    tally = run_kind(KINDS[name], 1, Budget(3, 60))
    assert tally.failures == []
    assert tally.tries
