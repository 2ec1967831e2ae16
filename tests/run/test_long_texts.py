"""Work that must not grow faster than a text: counted rather than timed."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from both_readers import message, needs_library

import synthesis
from synthesis.checks.registry import rules_in_force
from synthesis.rules.native.library import library
from synthesis.rules.native.reader import NativeReader

HITS = "You should relax. I promise everything will be fine. "
# Many hits in one sentence without an end: more steps than the compiled reader gives to a text of ordinary length.
LINE = (
    "vou me matar e pronto Me sinto um peso pra minha família e eu só queria morrer  Eu só queria sumir  Cheguei no "
    "fundo do poço  Às vezes queria sumir  "
)


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generations that the search for cycles was in."""
    found: list[int] = []

    def note(phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            found.append(about["generation"])

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


def test_the_search_for_cycles_does_not_grow_with_the_hits_of_a_text() -> None:
    synthesis.evaluate("I feel awful.", HITS, checks="all")  # loads the rules, which is another matter
    counted = []
    for times in (20, 2000):
        with collections() as found:
            verdict = synthesis.evaluate("I feel awful.", HITS * times, checks="all")
            assert len(verdict.to_dict()["findings"]) >= 2 * times
        counted.append(len(found))
    assert counted[1] <= counted[0] + 6  # one at the end of each stage, at most


def test_findings_are_nothing_that_the_search_for_cycles_looks_at() -> None:
    verdict = synthesis.evaluate("I feel awful.", HITS)
    assert verdict.findings
    assert not any(map(gc.is_tracked, verdict.findings))


@needs_library
def test_a_long_text_is_not_left_to_the_slow_reader_for_its_length() -> None:
    compiled = library()
    assert compiled is not None
    reader = NativeReader(rules_in_force(), compiled)
    text = (LINE * (1_000_000 // len(LINE) + 1))[:1_000_000]
    (reading,) = reader.read([message(text, "pt", "user")])
    assert len(reading.hits) > 200_000
    assert reader.declined == 0
