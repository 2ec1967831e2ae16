"""The same table of verdicts on local processes, Ray and Spark: how fast, and what each engine adds to the work.

    python benchmarks/engines.py [--cases 20000] [--workers 2] [--save figures.json] [--write docs/scale.md]
    python benchmarks/engines.py --sizing figures.json [--write docs/scale.md]

A run is the whole command, from Parquet files to a finished table; `start` is the same command on ten conversations, so
that `rate` is what a long run comes to. All engines are measured in one run of this script, one after the other, and
their tables are compared byte for byte. `ray.data` does the same work with that library in place of Ray core.
`--sizing` measures nothing: it computes the tables again from figures that were kept.
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
from itertools import chain
from pathlib import Path
from typing import Any

import corpora
import msgspec

CORPORA = {"short": corpora.short, "realistic": corpora.realistic, "mixed": corpora.mixed}
FEW = 10
CORES = (64, 256, 1024)
SIZES = {"100 million": 10**8, "1 billion": 10**9}
_BLOCK = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_RAY_DATA = """
import os, sys
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import ray, synthesis
ray.init("local", num_cpus=int(sys.argv[3]), include_dashboard=False, log_to_driver=False, logging_level="error")
ray.data.DataContext.get_current().enable_progress_bars = False
evaluator = synthesis.BatchEvaluator()
table = ray.data.read_parquet(sys.argv[1]).map_batches(evaluator, batch_format="pyarrow", batch_size=1024)
table.write_parquet(sys.argv[2])
"""


class Run(msgspec.Struct):
    """One engine: seconds of the whole command, of its start, and a hash of the table."""

    engine: str
    workers: int
    seconds: float
    start: float
    table: str = ""

    def rate(self, cases: int) -> float:
        """Conversations per second of a long run."""
        return (cases - FEW) / max(self.seconds - self.start, 1e-9)


class Figures(msgspec.Struct):
    """All that was measured, and where."""

    day: str
    cores: int
    load: float
    corpus: str
    cases: int
    input_bytes: int
    table_bytes: int
    runs: list[Run]


def measure(engines: Sequence[str], cases: int, corpus: str, workers: int) -> Figures:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, count in (("few", FEW), ("many", cases)):
            write_parquet(folder / kind / "log.parquet", CORPORA[corpus](count), max(1, count // (16 * workers)))
        runs = [measured(engine, number, folder) for engine in engines for number in counts(engine, workers)]
        input_bytes = (folder / "many/log.parquet").stat().st_size
        table_bytes = sum(path.stat().st_size for path in (folder / f"many-local-{workers}").rglob("part-*.parquet"))
    return Figures(time.strftime("%Y-%m-%d"), os.cpu_count() or 1, load, corpus, cases, input_bytes, table_bytes, runs)


def counts(engine: str, workers: int) -> list[int]:
    """One core alone is what sizing rests on; the other engines are held against as many local processes."""
    return sorted({1, workers}) if engine == "local" else [workers]


def measured(engine: str, workers: int, folder: Path) -> Run:
    start, seconds = (timed(engine, workers, folder, kind) for kind in ("few", "many"))
    run = Run(engine, workers, seconds, start, hash_of(folder / f"many-{engine}-{workers}"))
    print(f"{engine} {workers}: {seconds:.1f} s, start {start:.1f} s", file=sys.stderr, flush=True)
    return run


def timed(engine: str, workers: int, folder: Path, kind: str) -> float:
    log, out = folder / kind / "log.parquet", folder / f"{kind}-{engine}-{workers}"
    if engine == "ray.data":
        command = [sys.executable, "-c", _RAY_DATA, str(log), str(out), str(workers)]
    else:
        command = [sys.executable, "-m", "synthesis", "--cases", str(log), "--map", "user=user", "--engine", engine]
        command += ["--workers", str(workers), "--out-table", str(out), "--out", str(folder / "report.json")]
        command += ["--fail-on", "1000000000", "--quiet"]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{engine} failed with {done.returncode}:\n{done.stderr}")
    return time.perf_counter() - begun


def write_parquet(path: Path, rows: Iterator[dict[str, Any]], group: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(rows)
    path.parent.mkdir()
    with pq.ParquetWriter(path, pa.RecordBatch.from_pylist([first]).schema) as writer:
        remaining = chain([first], rows)
        while batch := [row for row, _ in zip(remaining, range(group), strict=False)]:
            writer.write_batch(pa.RecordBatch.from_pylist(batch))


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
        "| engine | processes | whole run, s | start, s | conversations/s | rate against local | same bytes as local |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in figures.runs:
        rate, local = run.rate(figures.cases), base[run.workers]
        same = "yes" if run.table == local.table else "its own files"
        cells = (run.engine, run.workers, f"{run.seconds:.1f}", f"{run.start:.1f}", f"{rate:,.0f}")
        share = f"{100 * rate / local.rate(figures.cases):.0f} %"
        lines.append(f"| {' | '.join(map(str, cells))} | {share} | {same} |")
    return "\n".join(lines) + "\n"


def sizing_table(figures: Figures) -> str:
    """What the figures come to at sizes that nobody has run here."""
    alone = next(run for run in figures.runs if run.engine == "local" and run.workers == 1)
    rate = alone.rate(figures.cases)
    hours_on = " | ".join(f"hours on {cores:,} cores" for cores in CORES)
    lines = [
        f"**Extrapolated** from {rate:,.0f} conversations per second on one core, in proportion to cores, without "
        f"waiting for storage; {figures.input_bytes / figures.cases:,.0f} bytes of Parquet in and "
        f"{figures.table_bytes / figures.cases:,.0f} bytes out per conversation.",
        "",
        f"| conversations | core-hours | {hours_on} | in, GB | out, GB |",
        f"| --- | --- | {' | '.join('---' for _ in CORES)} | --- | --- |",
    ]
    for name, count in SIZES.items():
        hours = count / rate / 3600
        spread = " | ".join(f"{hours / cores:,.1f}" for cores in CORES)
        weights = [count * size / figures.cases / 1e9 for size in (figures.input_bytes, figures.table_bytes)]
        lines.append(f"| {name} | {hours:,.0f} | {spread} | {weights[0]:,.0f} | {weights[1]:,.0f} |")
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
