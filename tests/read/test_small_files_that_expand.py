"""Files of kilobytes that expand to gigabytes: every command that reads files ends in words, in bounded memory."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

MB = 1 << 20
MOST = 700  # megabytes of the whole process, Python, rules and Arrow included: some 100 of them
LARGEST_FILE = 2 * MB


class Ended(NamedTuple):
    code: int
    megabytes: int
    said: str


# The peak is that of the process itself and of what it started: from outside, the memory of the process that starts it
# would count too. The limit is there so that a failure does not take the machine down.
RUN = """
import atexit, resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

def peak():
    own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024

if __name__ == "__main__":
    atexit.register(lambda: open("peak", "w").write(str(peak())))
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__") if sys.argv[0].endswith(".py") else runpy.run_module(
        sys.argv[0], run_name="__main__", alter_sys=True
    )
"""


def ended(folder: Path, *arguments: str) -> Ended:
    """A command or a script in a process of its own."""
    tests = str(Path(__file__).parent.parent)
    paths = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    (folder / "run.py").write_text(RUN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    return Ended(done.returncode, int((folder / "peak").read_text()), done.stdout)


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def write(path: Path, columns: dict[str, Any], **options: Any) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd", dictionary_pagesize_limit=64 * MB, **options)


def dictionary(path: Path) -> None:
    """400 rows with one text of 6 MB, which is stored once."""
    names = {"user": "question", "assistant": "answer"}
    text = repeated("You should relax. " + "x" * (6 * MB), 400)
    columns: dict[str, Any] = dict.fromkeys((*names, *names.values()), text)
    write(path, columns | {"user": ["hello"] * 400, "question": ["hello"] * 400}, store_schema=False)


def categories(path: Path) -> None:
    """The same as a column of categories, which Arrow does not unfold."""
    write(path, {"user": ["hello"] * 400, "assistant": repeated("You should relax. " + "x" * (6 * MB), 400)})


def long_list(path: Path) -> None:
    """One row with a list of 100,000 messages of one text."""
    said = {"role": "assistant", "content": "x" * 10_000}
    write(path, {"messages": [[{"role": "user", "content": "hi"}, said] * 50_000]})


def long_value(path: Path) -> None:
    """One text of 500 MB among a thousand short ones: their average is short."""
    write(path, {"user": ["hello"] * 1001, "assistant": ["x" * (500 * MB)] + ["ok"] * 1000}, use_dictionary=False)


def long_names(path: Path) -> None:
    """Conversations whose name is a text of a megabyte."""
    rows = 2000
    columns = {"chat": repeated("n" * MB, rows), "user": ["hello"] * rows, "assistant": ["ok"] * rows}
    write(path, columns, store_schema=False)


def packed(path: Path, pieces: Iterator[bytes]) -> None:
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else zstandard.open(path, "wb") as file:
        for piece in pieces:
            file.write(piece)


def zeros(path: Path) -> None:
    packed(path, (bytes(MB) for _ in range(400)))


def deep(path: Path) -> None:
    packed(path, (b"[" * MB for _ in range(64)))


def deep_objects(path: Path) -> None:
    packed(path, (b'{"messages":' * (MB // 12) for _ in range(64)))


def long_lines(path: Path) -> None:
    """80 lines of 10 MB each: none is too long, and all of them do not fit."""
    line = b'{"user": "hello", "assistant": "You should relax. ' + b"x" * (10 * MB) + b'"}\n'
    packed(path, (line for _ in range(80)))


def cells(path: Path) -> None:
    """A cell of five million empty objects: 15 MB as a text, gigabytes as objects."""
    packed(path, iter([b'{"messages": "[', b"{}," * (5 * MB - 100), b'{}]"}\n']))


FILES: list[tuple[str, Callable[[Path], None], str]] = [
    ("rows.parquet", dictionary, "the rows of row group 1 expand to more than 268,435,456 bytes"),
    ("categories.parquet", categories, "the rows of row group 1 expand to more than 268,435,456 bytes"),
    ("list.parquet", long_list, "the rows of row group 1 expand to more than 268,435,456 bytes"),
    ("value.parquet", long_value, "the column 'assistant' of row group 1 holds 524,"),
    ("zeros.jsonl.gz", zeros, "is longer than 16,777,216 bytes"),
    ("zeros.jsonl.zst", zeros, "is longer than 16,777,216 bytes"),
    ("zeros.csv.zst", zeros, "its header is too long"),
    ("zeros.json.gz", zeros, "zeros.json.gz:1:1: is not valid JSON"),
    ("deep.json.gz", deep, "deep.json.gz:1:2: is nested too deeply"),
    ("deep.jsonl.zst", deep, "is longer than 16,777,216 bytes"),
    ("objects.jsonl.gz", deep_objects, "is longer than 16,777,216 bytes"),
    ("cells.jsonl.gz", cells, "'messages' is not a list of messages"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "make", "told"), FILES, ids=[name for name, _, _ in FILES])
def test_an_evaluation_ends_in_words(tmp_path: Path, name: str, make: Callable[[Path], None], told: str) -> None:
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < LARGEST_FILE
    found = ended(
        tmp_path,
        "synthesis",
        "eval",
        "--workers",
        "1",
        "--cases",
        name,
        "--checks",
        "agency_language",
        "--on-bad-row",
        "stop",
    )
    assert found.code == 1
    assert told in found.said
    assert "Traceback" not in found.said
    assert found.megabytes < MOST


@pytest.mark.slow
def test_names_of_conversations_are_bounded(tmp_path: Path) -> None:
    long_names(tmp_path / "names.parquet")
    found = ended(
        tmp_path,
        "synthesis",
        "eval",
        "--workers",
        "1",
        "--cases",
        "names.parquet",
        "--map",
        "conversation=chat",
        "--checks",
        "all",
    )
    assert found.code == 1
    assert "expand to more than" in found.said
    assert found.megabytes < MOST


@pytest.mark.slow
def test_long_lines_are_evaluated_few_at_a_time(tmp_path: Path) -> None:
    long_lines(tmp_path / "lines.jsonl.zst")
    found = ended(
        tmp_path, "synthesis", "eval", "--workers", "1", "--cases", "lines.jsonl.zst", "--checks", "disclosure", "-q"
    )
    assert found.code == 0
    assert found.megabytes < MOST


@pytest.mark.parametrize("name", ["rows.parquet", "deep.json.gz", "zeros.jsonl.zst"])
@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["audit", "make", "{}", "--out", "audit"],
        ["judge", "run", "{}", "--root", "runs"],
        ["testset", "build", "{}", "--out", "set.json"],
    ],
    ids=["audit", "judge", "testset"],
)
def test_every_other_command_that_reads_files_does_too(tmp_path: Path, name: str, command: list[str]) -> None:
    make = next(made for known, made, _ in FILES if known == name)
    make(tmp_path / name)
    found = ended(tmp_path, "synthesis", *(part.format(name) for part in command))
    assert found.code == 1
    assert name in found.said
    assert "Traceback" not in found.said
    assert found.megabytes < MOST


UPLOAD = """
import sys, time
from pathlib import Path
import httpx
from serving import serving

def upload():
    Path("server").mkdir()
    with serving(Path("server")) as address, httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        content = Path("rows.parquet").read_bytes()
        job = client.post("/api/v1/uploads", params={"kind": "parquet"}, content=content).json()
        while (state := client.get(f"/api/v1/uploads/{job['id']}").json())["state"] in ("waiting", "running"):
            time.sleep(0.1)
        print(state)

if __name__ == "__main__":  # the process for jobs imports this, too
    upload()
"""


@pytest.mark.slow
def test_an_upload_does_too(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    dictionary(tmp_path / "rows.parquet")
    (tmp_path / "upload.py").write_text(UPLOAD, encoding="utf-8")
    found = ended(tmp_path, "upload.py")
    assert found.code == 0
    assert "'state': 'failed'" in found.said
    assert "expand to more than" in found.said
    assert found.megabytes < MOST
