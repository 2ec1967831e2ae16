"""The engines of the learned reader side by side: microseconds for a text, time to load, memory.

    python benchmarks/learned_reader.py [--texts 2000] [--engines compiled numpy python] [--dims 64 --channels 128]

It reads with the bundled weights; where there are none, or sizes are given, with random ones. The sentences are put
together from common words by how often they occur and from rarer ones that are made here, so that nearly every text has
words that none before it had. `first` is the time of the first batch after loading, when nothing is kept from texts
before it; `next` is that of further batches of other texts; `alone` is one text in a call. The quickest of some runs
counts, since other work on the machine only adds.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from synthesis.reader.engines import ENGINES, engine
from synthesis.reader.reference import Engine
from synthesis.reader.tokens import FOLDED
from synthesis.reader.weights import BUNDLED, STEPS, load, write

COMMON = """
the to i and a it you of in that is my me for but this not have with be on what so do was are just we can about if
don't like all know your or how at they as would he when feel i'm she no get there want from think her up really
because out time one who been had has more people now will an it's him them should some help work were their any did
then make even go things could never by good day always need life other am too much going being after our way say why
something than only his still tell back over anything myself take also someone can't where into talk friend feeling
year last every maybe those doesn't before us family right first nothing try home better lot long thing bad since new
friends most well around keep made these which while again tired trying find job let hard money school told left night
love sure thought though two until down week few sometimes mother father without sorry alone old today see ask said
got hope stop lost start mind away understand else ever same done many house sleep does everyone best through enough
place off little pain sad afraid angry happy doctor wrong thanks please answer matter reason point part nobody
remember month
"""
MARKS = (".", ",", "?", "!", "...")
STEMS = "appoint consider depart employ manag neighbour organis present regul suggest understand wander bright danger"
STEMS += " garden hospital kitchen morning number parent quiet season teach travel weather window writ believ compar"
SYLLABLES = "ba cor den fil gra hem lin mo nar pre qui ras sto tur ven wil"
ENDINGS = ("", "s", "ed", "ing", "er", "ment", "ly", "ful", "ation", "able")
RARE_SHARE = 0.35  # of words that are not among the common ones; in the English cases of this package it is a third
RUNS = 7
ALONE = 3  # batches whose texts are scored one by one
LENGTHS = (40, 200)  # words of a text


class Times(NamedTuple):
    """Microseconds for a text."""

    first: float
    next: float
    alone: float


def sentences(count: int, words: int, seed: int) -> list[str]:
    """Texts of so many words, with a mark now and then and capitals behind it."""
    chance = random.Random(seed)
    common = COMMON.split()
    frequencies = [1 / (rank + 3) for rank in range(len(common))]
    drawn = iter(chance.choices(common, frequencies, k=count * words))
    return [" ".join(_words(drawn, words, chance)) for _ in range(count)]


def _words(drawn: Iterator[str], count: int, chance: random.Random) -> Iterator[str]:
    begins = True
    for _ in range(count):
        word = _rare(chance) if chance.random() < RARE_SHARE else next(drawn)
        ends = chance.random() < 0.12
        yield (word.capitalize() if begins else word) + (chance.choice(MARKS) if ends else "")
        begins = ends


def _rare(chance: random.Random) -> str:
    """One of some 80,000 words, the simpler ones more often."""
    stem = chance.choice(STEMS.split())
    before = "".join(chance.choices(SYLLABLES.split(), k=chance.choice((0, 1, 1, 2))))
    return before + stem + chance.choice(ENDINGS)


def toy(path: Path, buckets: int, dims: int, channels: int) -> None:
    """Weights of the usual sizes that know nothing."""
    chance = random.Random(1)
    width, queries, heads = 5, 3, 25
    header = {
        "name": "random",
        "heads": [f"head-{number}" for number in range(heads)],
        "bias": [0] * heads,
        "unit": 30,
        "shift": {"word": 12, "conv": 9, "attention": 10},
        "buckets": buckets,
        "dims": dims,
        "channels": channels,
        "width": width,
        "queries": queries,
        "most_pieces": 20,
    }
    lower = (chr(code).lower() for code in range(FOLDED))
    arrays = {
        "fold": array("H", (ord(char) if len(char) == 1 else code for code, char in enumerate(lower))),
        "embedding": chance.randbytes(buckets * dims),
        "root": array("i", [0, *(int(4096 * 2 / count**0.5) for count in range(1, 21))]),
        "conv": chance.randbytes(channels * width * dims),
        "conv_bias": array("i", [0] * channels),
        "query": chance.randbytes(queries * channels),
        "exp2": array("H", (round(65535 * 2 ** (-step / 64)) for step in range(STEPS))),
        "heads": chance.randbytes(2 * 3 * heads * (queries + 1) * channels),
    }
    write(path, header, arrays)


def timed(path: Path, name: str, count: int, words: int) -> Times:
    """Of an engine that is loaded for this: what it keeps from texts is part of what is measured."""
    texts = sentences(count * (RUNS + 1 + ALONE), words, seed=words)
    sides = ["user"] * count
    batches = [texts[first : first + count] for first in range(0, len(texts), count)]
    one = engine(load(path), name)
    first, *later = (_seconds(one, batch, sides) / count * 1e6 for batch in batches[:-ALONE])
    # Texts that it has not seen: engines keep words.
    single = min(sum(_seconds(one, [text], ["user"]) for text in batch) for batch in batches[-ALONE:])
    return Times(first, min(later), single / count * 1e6)


def _seconds(one: Engine, texts: Sequence[str], sides: Sequence[str]) -> float:
    begun = time.perf_counter()
    one.scores(texts, sides)
    return time.perf_counter() - begun


def loading(path: Path, name: str) -> float:
    """Milliseconds from the file to an engine that has scored an empty text."""
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        engine(load(path), name).scores([""], ["user"])
        times.append(time.perf_counter() - begun)
    return min(times) * 1e3


MEMORY = """
import re, sys
from pathlib import Path
from synthesis.reader.engines import engine
from synthesis.reader.weights import load
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
texts = sys.stdin.read().splitlines()
before = resident()
kept = engine(load(Path(sys.argv[1])), sys.argv[2])
kept.scores(texts, ["user"] * len(texts))
print(resident() - before)
"""


def memory(path: Path, name: str) -> str:
    """Megabytes that a process grows by: weights, tables and what is kept of 500 texts."""
    if not Path("/proc/self/status").exists():
        return "?"
    texts = "\n".join(sentences(500 if name == "compiled" else 20, 40, seed=3))
    command = [sys.executable, "-c", MEMORY, str(path), name]
    done = subprocess.run(command, input=texts, capture_output=True, text=True, check=True)
    return f"{float(done.stdout):.1f}"


def measure(path: Path, engines: Sequence[str], count: int) -> None:
    header = load(path).header
    sizes = f"buckets {header.buckets:,}, dims {header.dims}, channels {header.channels}, heads {len(header.heads)}"
    print(f"{header.name}: {path.stat().st_size / 1e6:.1f} MB, {sizes}; load of the machine {os.getloadavg()[0]:.1f}")
    columns = "".join(f"{f'{words} words: first':>17}{'next':>8}{'alone':>8}" for words in LENGTHS)
    print(f"{'us per text':<12}{columns}{'load ms':>9}{'MB':>7}")
    for name in engines:
        number = count if name == "compiled" else max(count // 100, 2)
        cells = "".join(
            f"{times.first:>17,.1f}{times.next:>8,.1f}{times.alone:>8,.1f}"
            for times in (timed(path, name, number, words) for words in LENGTHS)
        )
        print(f"{name:<12}{cells}{loading(path, name):>9.1f}{memory(path, name):>7}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--texts", type=int, default=2_000, help="in a batch of the compiled engine")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--dims", type=int, help="of random weights")
    parser.add_argument("--channels", type=int, help="of random weights")
    parser.add_argument("--buckets", type=int, default=131_072, help="of random weights")
    options = parser.parse_args()
    if BUNDLED.exists() and options.dims is None and options.channels is None:
        measure(BUNDLED, options.engines, options.texts)
        return 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.bin"
        toy(path, options.buckets, options.dims or 32, options.channels or 96)
        measure(path, options.engines, options.texts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
