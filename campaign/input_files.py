"""Sound input files of every format for `inputs` to damage, and large ones."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPLIES = ("You should just relax.", "Would you like to tell me more?", "Everything will work out.", "是的。", "")
CHECKS = ["agency_language", "unverifiable_reassurance", "topic_pivot"]
COLUMNS = ["--map", "user=prompt,assistant=reply,id=name"]
LARGE = (100, 300)  # megabytes
MEGABYTE = 1 << 20


def _cases(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"id": f"T-{number}", "user": "I lost my job.", "assistant": chance.choice(REPLIES), "checks": CHECKS}
        for number in range(chance.randint(1, 20))
    ]


def _chats(chance: random.Random) -> list[dict[str, Any]]:
    said = [{"role": "user", "content": "I lost my job."}]
    return [
        {"messages": [*said, {"role": "assistant", "content": chance.choice(REPLIES)}]}
        for _ in range(chance.randint(1, 20))
    ]


def _rows(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"name": f"n-{number}", "prompt": "I lost my job.", "reply": chance.choice(REPLIES)}
        for number in range(chance.randint(1, 20))
    ]


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _table(rows: list[dict[str, Any]], delimiter: str) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=5)
    return file.getvalue()


def small(chance: random.Random) -> tuple[str, bytes, list[str]]:
    """Name, content before compression, and the options that the file needs."""
    packing = chance.choice(["", "", ".gz", ".zst"])
    options = chance.choice([[], [], ["--on-bad-row", "error"], ["--results", "results.jsonl.gz"]])
    kind = chance.choice(["cases", "chats", "rows", "json", "csv", "tsv", "parquet", "sharegpt"])
    match kind:
        case "cases":
            return f"cases.jsonl{packing}", _lines(_cases(chance)), options
        case "chats":
            return f"chats.jsonl{packing}", _lines(_chats(chance)), options
        case "sharegpt":
            talk = [{"from": "human", "value": "I lost my job."}, {"from": "gpt", "value": chance.choice(REPLIES)}]
            return "talk.json", json.dumps([{"conversations": talk}] * chance.randint(1, 9)).encode(), options
        case "json":
            return "chats.json", json.dumps(_chats(chance)).encode(), options
        case "rows":
            return f"rows.jsonl{packing}", _lines(_rows(chance)), [*options, *COLUMNS]
        case "parquet":
            return "rows.parquet", _parquet(_rows(chance)), [*options, *COLUMNS]
        case _:
            delimiter = "\t" if kind == "tsv" else ","
            return f"rows.{kind}", _table(_rows(chance), delimiter), [*options, *COLUMNS]


def packed(name: str, content: bytes) -> bytes:
    """The content as a file of this name holds it."""
    if name.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if name.endswith(".zst"):
        import zstandard

        compressed: bytes = zstandard.compress(content)
        return compressed
    return content


def _long_line(megabytes: int) -> Iterator[bytes]:
    yield b'{"id": "T-1", "user": "hello", "assistant": "'
    yield from (b"word " * (MEGABYTE // 5) for _ in range(megabytes))
    yield b'", "checks": ["agency_language"]}\n'


def _long_field(megabytes: int) -> Iterator[bytes]:
    yield b'prompt,reply,name\nhello,"'
    yield from (b"word " * (MEGABYTE // 5) for _ in range(megabytes))
    yield b'",n-1\n'


def _long_array(megabytes: int) -> Iterator[bytes]:
    row = json.dumps(_chats(random.Random(0))[0]).encode() + b","
    yield b"["
    # Long rows: it is the memory of the reading that is looked at, not the time of the checks.
    row = row.replace(b"I lost my job.", b"word " * 200_000)
    yield from (row for _ in range(megabytes))
    yield row[:-1] + b"]"


def large(chance: random.Random, folder: Path) -> tuple[Path, list[str]]:
    """A file of hundreds of megabytes whose memory must stay bounded."""
    choices: list[tuple[str, Callable[[int], Iterator[bytes]], list[str]]] = [
        ("line.jsonl", _long_line, []),
        ("line.jsonl.gz", _long_line, []),
        ("line.jsonl.zst", _long_line, []),
        ("field.csv", _long_field, COLUMNS),
        ("array.json", _long_array, []),
    ]
    name, pieces, options = chance.choice(choices)
    path = folder / name
    with _opened(path) as file:
        for piece in pieces(chance.randint(*LARGE)):
            file.write(piece)
    return path, options


def _opened(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "wb", compresslevel=1)
    if path.suffix == ".zst":
        import zstandard

        return zstandard.open(path, "wb")
    return path.open("wb")
