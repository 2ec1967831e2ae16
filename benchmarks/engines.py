"""The same table of verdicts on local processes, Ray and Spark: how fast, and what each engine adds to the work.

    python benchmarks/engines.py [--cases 20000] [--workers 2] [--save figures.json] [--write docs/scale.md]
    python benchmarks/engines.py --sizing figures.json [--write docs/scale.md]

A run is the whole command, from Parquet files to a finished table; `start` is the same command on ten conversations, so
that the rate is what a long run comes to. What an engine adds, and the sizing, rest on processor time, which other work
on the machine changes less than the clock. `bare` are the same conversations in a language without rules, so that
they are read, normalised, spread and written, but not searched. All engines are measured in one run of this script, one
after the other, and their tables are compared byte for byte. `ray.data` does the same work with that library in place
of Ray core. `--sizing` measures nothing: it computes the tables again from figures that were kept.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import corpora
import msgspec

CORPORA = {"short": corpora.short, "realistic": corpora.realistic, "mixed": corpora.mixed}
FEW = 10
NO_RULES = "xx"
CORES = (64, 256, 1024)
SIZES = {"100 million": 10**8, "1 billion": 10**9}
_BLOCK = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_RAY_DATA = """
import os, sys
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import ray, synthesis
ray.init("local", num_cpus=int(sys.argv[3]), include_dashboard=False, log_to_driver=False, logging_level="error")
ray.data.DataContext.get_current().enable_progress_bars = False
evaluate = synthesis.evaluate_table
table = ray.data.read_parquet(sys.argv[1]).map_batches(evaluate, batch_format="pyarrow", batch_size=1024)
table.write_parquet(sys.argv[2])
"""


class Run(msgspec.Struct):
    """One engine: seconds of the whole command, of its start, of bare work, of processors; a hash of the table."""

    engine: str
    workers: int
    seconds: float
    start: float
    bare: float
    processor: float
    start_processor: float
    table: str = ""

    def rate(self, cases: int) -> float:
        """Conversations per second of a long run."""
        return (cases - FEW) / (self.seconds - self.start)

    def core_rate(self, cases: int) -> float:
        """Conversations per second of processor time, of all processes together."""
        return (cases - FEW) / (self.processor - self.start_processor)


class Figures(msgspec.Struct):
    """All that was measured, and where."""

    day: str
    cores: int
    load: float
    corpus: str
    cases: int
    text_bytes: int
    runs: list[Run]


def measure(engines: Sequence[str], cases: int, corpus: str, workers: int) -> Figures:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, count, lang in (("few", FEW, None), ("many", cases, None), ("bare", cases, NO_RULES)):
            rows = ({**row, "lang": lang} for row in CORPORA[corpus](count))
            write_parquet(folder / kind / "log.parquet", rows, max(1, count // (16 * workers)))
        runs = [measured(engine, number, folder) for engine in engines for number in counts(engine, workers)]
    text = sum(len((row["user"] + row["assistant"]).encode()) for row in CORPORA[corpus](cases))
    return Figures(time.strftime("%Y-%m-%d"), os.cpu_count() or 1, load, corpus, cases, text, runs)


def counts(engine: str, workers: int) -> list[int]:
    """One core alone is what sizing rests on; the other engines are held against as many local processes."""
    return sorted({1, workers}) if engine == "local" else [workers]


def measured(engine: str, workers: int, folder: Path) -> Run:
    (start, start_processor), (seconds, processor), (bare, _) = (
        timed(engine, workers, folder, kind) for kind in ("few", "many", "bare")
    )
    table = hash_of(folder / f"many-{engine}-{workers}")
    run = Run(engine, workers, seconds, start, bare, processor, start_processor, table)
    print(f"{engine} {workers}: {seconds:.1f} s, start {start:.1f} s, bare {bare:.1f} s", file=sys.stderr, flush=True)
    if seconds <= start:
        raise SystemExit("that is less than its start: give more --cases, or a quieter machine")
    return run


def timed(engine: str, workers: int, folder: Path, kind: str) -> tuple[float, float]:
    """Seconds by the clock, and of the processor time of the command and all that it started."""
    log, out = folder / kind / "log.parquet", folder / f"{kind}-{engine}-{workers}"
    if engine == "ray.data":
        command = [sys.executable, "-c", _RAY_DATA, str(log), str(out), str(workers)]
    else:
        command = [sys.executable, "-m", "synthesis", "--cases", str(log), "--map", "user=user", "--engine", engine]
        command += ["--workers", str(workers), "--out-table", str(out), "--out", str(folder / "report.json")]
        command += ["--fail-on", "1000000000", "--quiet"]
    begun = time.perf_counter()
    with (folder / "said.txt").open("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        used: dict[int, float] = {}
        while process.poll() is None:
            used |= {pid: max(processor_time(pid), used.get(pid, 0.0)) for pid in family(process.pid)}
            time.sleep(0.05)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{engine} failed with {process.returncode}:\n{said.read()}")
    return time.perf_counter() - begun, sum(used.values())


def family(pid: int) -> Iterator[int]:
    """A process and all below it (Linux)."""
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in thread.read_text().split():
                yield from family(int(child))


def processor_time(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended: the last look at it counts
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_parquet(path: Path, rows: Iterator[dict[str, Any]], group: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(rows)
    schema = pa.RecordBatch.from_pylist([{**first, "lang": ""}]).schema
    path.parent.mkdir()
    with pq.ParquetWriter(path, schema) as writer:
        remaining = chain([first], rows)
        while batch := [row for row, _ in zip(remaining, range(group), strict=False)]:
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))


def hash_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("part-*.parquet")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def document(figures: Figures) -> str:
    return f"{measured_table(figures)}\n{sizing_table(figures)}"


def measured_table(figures: Figures) -> str:
    """What was seen, and nothing else."""
    base = {run.workers: run for run in figures.runs if run.engine == "local"}
    lines = [
        f"**Measured** on {figures.day}: {figures.cases:,} conversations of the corpus `{figures.corpus}` in one "
        f"Parquet file, {figures.cores} cores, load {figures.load:.1f} before the run began.",
        "",
        "| engine | processes | whole run, s | start, s | bare run, s | conversations/s "
        "| ms of processor each | more than local | same bytes as local |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in figures.runs:
        local = base[run.workers].core_rate(figures.cases)
        same = "yes" if run.table == base[run.workers].table else "its own files"
        each = run.core_rate(figures.cases)
        seconds = (f"{value:.1f}" for value in (run.seconds, run.start, run.bare))
        cells = (run.engine, run.workers, *seconds, f"{run.rate(figures.cases):,.0f}")
        lines.append(
            f"| {' | '.join(map(str, cells))} | {1000 / each:.2f} | {100 * (local / each - 1):+.0f} % | {same} |"
        )
    return "\n".join(lines) + "\n"


def sizing_table(figures: Figures) -> str:
    """What the figures come to at sizes that nobody has run here."""
    alone = next(run for run in figures.runs if run.engine == "local" and run.workers == 1)
    rate = alone.core_rate(figures.cases)
    hours_on = " | ".join(f"hours on {cores:,} cores" for cores in CORES)
    lines = [
        f"**Extrapolated** from {rate:,.0f} conversations per second of one core's time (local, 1 process), in "
        f"proportion to cores, without waiting for storage. The made-up conversations hold "
        f"{figures.text_bytes / figures.cases:,.0f} bytes of text each.",
        "",
        f"| conversations | text, TB | core-hours | {hours_on} |",
        f"| --- | --- | --- | {' | '.join('---' for _ in CORES)} |",
    ]
    for name, count in SIZES.items():
        hours = count / rate / 3600
        spread = " | ".join(f"{hours / cores:,.1f}" for cores in CORES)
        lines.append(f"| {name} | {count * figures.text_bytes / figures.cases / 1e12:.2f} | {hours:,.0f} | {spread} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--corpus", default="realistic", choices=list(CORPORA))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engines", nargs="+", default=["local", "ray", "ray.data", "spark"])
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the figures")
    parser.add_argument("--sizing", type=Path, metavar="FILE", help="compute from figures that were kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables into this document")
    options = parser.parse_args()
    if options.sizing:
        figures = msgspec.json.decode(options.sizing.read_bytes(), type=Figures)
    else:
        figures = measure(options.engines, options.cases, options.corpus, options.workers)
    if options.save:
        options.save.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
    text = document(figures)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(_BLOCK.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", page), encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
