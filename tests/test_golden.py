"""A tenth of what `make golden` records, through every door: what the product says has not changed unnoticed.

A change that is meant is recorded with `make golden`; `make golden-check` compares everything.
"""

from itertools import groupby

import pytest

from golden.doors import PROFILES, READERS, Job, jobs
from golden.hashing import comparable, differences, of_jobs, recorded, said_by, share

WAYS = [(reader, profile) for reader in READERS for profile in PROFILES]
LARGE = 2**64
PARTS = 4  # so that no single test takes as long as many others together


def door(name: str) -> str:
    return name.split("/")[0]


def sample() -> list[Job]:
    """One job of each door, or a twentieth of many; of the examples one language for each way of reading."""
    chosen = [job for job in jobs() if job.entries in one_language_a_way()]
    for name, group in groupby(jobs(), key=lambda job: door(job.entries)):
        ranked = sorted(group, key=lambda job: share(job.entries, LARGE))
        chosen += [] if name == "examples" else ranked[: max(1, len(ranked) // 20)]
    return [job for job in chosen if comparable(job)]


def one_language_a_way() -> set[str]:
    languages = {job.entries.split("/")[1] for job in jobs() if door(job.entries) == "examples"}
    ranked = sorted(languages, key=lambda language: share(language, LARGE))
    return {f"examples/{language}/{'/'.join(way)}/" for language, way in zip(ranked, WAYS, strict=False)}


def wanted(name: str) -> bool:
    """What costs a command of its own is read in part, and the examples of every third file."""
    return share(name, {"examples": 3, "forms": 5, "compare": 2, "judge": 4}.get(door(name), 1)) == 0


@pytest.mark.parametrize("part", range(PARTS))
def test_a_tenth_of_what_is_said_is_as_recorded(part: int) -> None:
    expected = {name: digest for name, digest in recorded().items() if wanted(name)}
    chosen = sample()[part::PARTS]
    covered = {name: expected[name] for name in of_jobs(chosen, expected)}
    assert {door(job.entries) for job in chosen} == {door(name) for name in covered}
    assert differences(said_by(chosen, wanted), covered) == []
