"""A history with runs of both kinds and labels, and copies of its file with flipped bytes."""

import random
import shutil
import sqlite3
from pathlib import Path

from saved_samples import fill

from synthesis.history import open_history
from synthesis.labels import Person

FLIPS = (1, 3, 10, 40)


def make(place: Path, *, sealed: bool = True) -> dict[str, str]:
    """The ids of its runs; without checksums it is as an earlier version left it."""
    ids = fill(place)
    with open_history(place) as history:
        history.labels(ids["new"]).store(0, "topic_pivot", Person("Ada", False), "yes")
        history.tag(ids["new"], add=["release"])
    with sqlite3.connect(place) as database:
        if not sealed:
            for table in ("runs", "cases", "samples"):
                database.execute(f"UPDATE synthesis_{table} SET checksum = NULL")
            database.execute("UPDATE synthesis_runs SET rows_checksum = NULL")
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return ids


def flipped(place: Path, copy: Path, seed: int) -> Path:
    """A copy with some bytes that are not what they were; more of them in a row for a larger seed."""
    shutil.copy(place, copy)
    for beside in (copy.with_name(f"{copy.name}-wal"), copy.with_name(f"{copy.name}-shm")):
        beside.unlink(missing_ok=True)
    chance = random.Random(seed)
    content = bytearray(copy.read_bytes())
    used = [at for at, byte in enumerate(content) if byte]  # free pages are zeros, and nobody reads them
    for at in chance.choices(used, k=FLIPS[seed % len(FLIPS)]):
        content[at] ^= chance.randrange(1, 256)
    copy.write_bytes(content)
    return copy
