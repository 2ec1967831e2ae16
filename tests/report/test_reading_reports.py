"""Stored reports: read one record at a time, in any valid form, or refused with place and hint."""

import errno
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from report_samples import Record, realistic, records, report, result, write

from synthesis.errors import InputError, MissingExtraError
from synthesis.report.findings import Glossary
from synthesis.report.formats import FORMATS, write_pieces
from synthesis.report.stored import Parts, find_layout, join_report, open_report, write_parts


def same(path: Path, content: Record) -> None:
    stored = open_report(path)
    assert stored.summary == content["summary"]
    assert records(stored) == content["results"]
    assert records(stored) == content["results"], "a second reading gives the same"
    assert stored.header["tool"] == content["tool"]
    assert not {"summary", "failures", "results"} & set(stored.header)


@pytest.mark.parametrize("content", [realistic(), report(), report(result("A-1"))], ids=["full", "empty", "one"])
def test_one_record_per_line(tmp_path: Path, content: Record) -> None:
    path = write(content, tmp_path / "report.json")
    layout = find_layout(path)
    assert layout is not None
    assert layout.header.get("results", []) == [], "the records themselves are not held in memory"
    same(path, content)


@pytest.mark.parametrize("indent", [None, 2, 4])
def test_any_other_layout_of_the_same_json(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(realistic(), indent=indent), encoding="utf-8")
    same(path, realistic())


def test_keys_in_another_order(tmp_path: Path) -> None:
    content = realistic()
    turned = {key: content[key] for key in reversed(content)}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(turned), encoding="utf-8")
    same(path, content)


def test_a_report_of_the_library_is_read(tmp_path: Path) -> None:
    from synthesis import run_all_cases, write_report

    made = run_all_cases([{"id": "A-1", "user": "Hi", "assistant": "Hello.", "checks": ["agency_language"]}])
    write_report(made, tmp_path / "r.json")
    same(tmp_path / "r.json", msgspec.json.decode(msgspec.json.encode(made.to_dict())))


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_results_beside_a_small_report(tmp_path: Path, suffix: str) -> None:
    content = realistic()
    halves = [content["results"][:5], content["results"][5:]]
    parts = [b"".join(msgspec.json.encode(one) + b"\n" for one in half) for half in halves]
    compress = {".gz": gzip.compress, ".zst": zstandard.compress}.get(suffix[6:], lambda part: part)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / f"results{suffix}").write_bytes(b"".join(map(compress, parts)))
    small = {key: value for key, value in content.items() if key not in {"failures", "results"}}
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**small, "results_file": f"parts/results{suffix}"}, indent=2))
    stored = open_report(path)
    assert records(stored) == content["results"]
    write_pieces(FORMATS["json"].render(stored, Glossary()), tmp_path / "one.json")
    assert records(open_report(tmp_path / "one.json")) == content["results"]
    assert json.loads((tmp_path / "one.json").read_text())["failures"] == content["failures"]


def test_zstd_that_is_not_installed_is_a_friendly_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {key: value for key, value in report().items() if key not in {"failures", "results"}}
    (tmp_path / "r.json").write_text(json.dumps({**small, "results_file": "r.jsonl.zst"}))
    (tmp_path / "r.jsonl.zst").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match="zst"):
        list(open_report(tmp_path / "r.json").results())


def broken(**changes: Any) -> str:
    return json.dumps(report(result("A-1")) | changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        ("17", "not a JSON object"),
        ("[" * 100_000, "not valid JSON|nested|recursion"),
        ("{}", "is not a report of ours"),
        (broken(format_version=99), "format_version"),
        (broken(summary={}), "summary"),
        (broken(results_file=7), "results_file"),
        (broken(results=[{"id": "A-1"}]), "record 1"),
        (broken(results=["text"]), "record 1"),
    ],
)
def test_what_is_no_report_is_refused_with_its_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        list(open_report(path).results())
    assert str(path) in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b'{"summary": "\xff"}')
    with pytest.raises(InputError, match="not valid JSON"):
        open_report(path)


def test_a_broken_record_is_named_by_its_line(tmp_path: Path) -> None:
    path = write(report(result("A-1"), result("A-2")), tmp_path / "report.json")
    lines = path.read_text().split("\n")
    number = next(n for n, line in enumerate(lines, start=1) if '"A-2"' in line)
    path.write_text("\n".join(line[:-9] if n == number else line for n, line in enumerate(lines, start=1)))
    with pytest.raises(InputError, match=rf"report\.json:{number}: is not valid JSON"):
        list(open_report(path).results())


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_report(tmp_path / "none.json")
    with pytest.raises(InputError, match="folder"):
        open_report(tmp_path)


TORN = [
    pytest.param(".gz", gzip.compress(b"\n" * 9)[:-4], id="gzip cut short"),
    pytest.param(".zst", zstandard.compress(b"\n" * 9)[:-4], id="zstd cut short"),
    pytest.param(".zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 40, id="zstd damaged"),
]


@pytest.mark.parametrize(("suffix", "content"), TORN)
def test_a_torn_compressed_file(tmp_path: Path, suffix: str, content: bytes) -> None:
    small = {key: value for key, value in report().items() if key not in {"failures", "results"}}
    (tmp_path / "r.json").write_text(json.dumps({**small, "results_file": f"r.jsonl{suffix}"}))
    (tmp_path / f"r.jsonl{suffix}").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        list(open_report(tmp_path / "r.json").results())


def test_a_record_is_read_only_when_it_is_asked_for(tmp_path: Path) -> None:
    path = write(report(result("A-1"), result("A-2")), tmp_path / "report.json")
    path.write_text(path.read_text().replace('{"id":"A-2"', '{"id":2'))
    results = open_report(path).results()
    assert next(results).id == "A-1"
    with pytest.raises(InputError):
        next(results)


def test_a_report_that_becomes_shorter_or_goes_away_is_named_and_not_the_output(tmp_path: Path) -> None:
    path = write(realistic(), tmp_path / "report.json")
    layout, stored = find_layout(path), open_report(path)
    assert layout is not None
    content = path.read_bytes()
    second = content.index(b"\n", layout.ranges["results"].offset) + 1
    path.write_bytes(content[:second])
    with pytest.raises(InputError, match=r"report\.json.*it has become shorter"):
        write_pieces(FORMATS["json"].render(stored, Glossary()), tmp_path / "one.json")
    path.unlink()
    with pytest.raises(InputError, match=r"report\.json.*no such file"):
        write_pieces(FORMATS["json"].render(stored, Glossary()), tmp_path / "one.json")
    assert not (tmp_path / "one.json").exists()


def test_a_part_that_was_not_written_to_its_end_does_not_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        with path.open("wb") as file:
            file.write(content[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_parts(tmp_path, 0, {"results": b"A-1, A-2"})
    assert not (tmp_path / "0.results").exists()


@pytest.mark.parametrize("most", [0, 40, 1 << 20])
def test_parts_in_memory_and_in_files_join_to_the_same_report(tmp_path: Path, most: int) -> None:
    parts = Parts(tmp_path, most)
    separator = b",\n    "
    for number in range(3):
        records = b"".join(separator + b'{"id": "A-%d%d"}' % (number, place) for place in range(number))
        parts.put(number, {"results": records, f"failures-{3 - number}": records})
    join_report({"summary": {}}, parts, 3, tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert [one["id"] for one in report["results"]] == ["A-10", "A-20", "A-21"]
    assert [one["id"] for one in report["failures"]] == ["A-20", "A-21", "A-10"]
    held = sum(path.stat().st_size for path in tmp_path.glob("*.results"))
    assert (held == 0) == (most == 1 << 20)
