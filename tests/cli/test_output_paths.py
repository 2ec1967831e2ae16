"""Every file that a command writes where the user says: pipes and devices are written to, links followed, folders
refused.
"""

import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from helpers import CommandLine, row, write_jsonl
from panel_samples import fill_panel
from saved_samples import COLD, SAMPLES, fill

from synthesis.cli.main import main
from synthesis.report.formats import FORMATS

EVAL = ("eval", "cases.jsonl", "--fail-on", "9")
# (command, option) -> the arguments that make it write one file to {out}
WRITING: dict[tuple[str, str], list[str]] = {
    ("eval", "--out"): [*EVAL, "--out", "{out}"],
    ("eval", "--results"): [*EVAL, "--out", "report.json", "--results", "{out}"],
    ("history export", "--out"): ["history", "export", "{new}", "--history", "history.db", "--out", "{out}"],
    ("history export", "--out of a judged run"): [
        *("history", "export", "{judged}", "--history", "history.db", "--out", "{out}"),
    ],
    ("judge panel", "--out"): ["judge", "panel", "offline", "mild", "--root", "panel", "--out", "{out}"],
    ("judge report", "--out"): ["judge", "report", "ferry", "--root", ".", "--format", "html", "--out", "{out}"],
    ("judge report", "--out as Markdown"): [
        *("judge", "report", "ferry", "--root", ".", "--format", "markdown", "--out", "{out}"),
    ],
    ("rules review", "--out"): ["rules", "review", "--lang", "en", "--signal", "flattery", "--out", "{out}"],
    ("testset build", "--out"): ["testset", "build", "log.jsonl", "--out", "{out}"],
    ("testset join", "--out"): [
        *("testset", "join", "--answers", "answers.json", "--contexts", "contexts.json", "--out", "{out}"),
    ],
    **{
        ("eval", f"--format {name}"): [
            "eval",
            "cases.jsonl",
            "--fail-on",
            "9",
            "--no-report",
            "--format",
            f"{name}={{out}}",
        ]
        for name in FORMATS
        if name != "json"
    },
    **{
        ("report convert", f"--out as {name}"): ["report", "convert", "old.json", "--format", name, "--out", "{out}"]
        for name in FORMATS
    },
}
# Options that name a folder, which the command fills with files of its own names.
FOLDERS: dict[tuple[str, str], list[str]] = {
    ("audit make", "--out"): ["audit", "cases.jsonl", "--out", "{out}"],
    ("eval", "--out-table"): [*EVAL, "--out", "report.json", "--out-table", "{out}"],
    ("judge run", "--root"): ["judge", "run", "set.json", "--root", "{out}"],
    ("rules new-check", "--folder"): ["rules", "new-check", "own_check", "--folder", "{out}"],
    ("rules new-language", "--folder"): ["rules", "new-language", "xx", "--folder", "{out}"],
}
ENDINGS = {("eval", "--results"): ".jsonl"}
every_file = pytest.mark.parametrize("writing", WRITING, ids=lambda key: " ".join(key))
every_folder = pytest.mark.parametrize("writing", FOLDERS, ids=lambda key: " ".join(key))
Call = Callable[[list[str], Path], tuple[int, str]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with something to read for every command, and the ids of saved runs."""
    folder = tmp_path_factory.mktemp("sample")
    write_jsonl(folder / "cases.jsonl", [row(assistant=COLD)])
    (folder / "panel").mkdir()
    fill_panel(folder / "panel")
    ids = fill(folder / "history.db")
    write_jsonl(folder / "log.jsonl", [{"id": "q-1", "question": "q", "answer": "a", "context": []}])
    (folder / "set.json").write_text(json.dumps(SAMPLES))
    (folder / "answers.json").write_text(json.dumps([{"queryLogId": "q-1", "question": "q", "answer": "a"}]))
    (folder / "contexts.json").write_text(json.dumps([{"queryLogId": "q-1", "rankedCourses": []}]))
    return folder, ids


@pytest.fixture
def run(sample: tuple[Path, dict[str, str]], cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Call:
    folder, ids = sample
    monkeypatch.chdir(folder)
    if not (folder / "old.json").exists():
        assert cli(*EVAL, "--out", "old.json").code == 0

    def call(args: list[str], out: Path) -> tuple[int, str]:
        done = cli(*(arg.format(out=out, **ids) for arg in args))
        return done.code, done.err

    return call


def place(tmp_path: Path, writing: tuple[str, str]) -> Path:
    return tmp_path / f"place{ENDINGS.get(writing, '.out')}"


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options(found, (*path, name))
    for parameter in command.params:
        for option in parameter.opts:
            if re.fullmatch(r"--(out|out-.*|results|folder|export)", option):
                yield " ".join(path), option


def test_every_option_that_names_an_output_is_tried_here() -> None:
    tried = {(command, option.split()[0]) for command, option in (*WRITING, *FOLDERS)}
    assert set(options(main)) <= tried


@every_file
def test_a_pipe_gets_the_content_and_stays_a_pipe(writing: tuple[str, str], run: Call, tmp_path: Path) -> None:
    pipe = place(tmp_path, writing)
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    code, err = run(WRITING[writing], pipe)
    reader.join(10)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert (code, [bool(content) for content in received]) == (0, [True]), err
    assert not hidden(tmp_path)


@every_file
def test_a_device_gets_the_content_and_stays_a_device(writing: tuple[str, str], run: Call, tmp_path: Path) -> None:
    device = place(tmp_path, writing)
    make_device(device)
    code, err = run(WRITING[writing], device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert code == 0, err
    assert not hidden(tmp_path)


@every_file
def test_a_link_stays_a_link_and_its_file_gets_the_content(writing: tuple[str, str], run: Call, tmp_path: Path) -> None:
    link = place(tmp_path, writing)
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / link.name
    link.symlink_to(target)
    code, err = run(WRITING[writing], link)
    assert code == 0, err
    assert link.is_symlink()
    assert target.stat().st_size
    assert not hidden(tmp_path)
    assert not hidden(tmp_path / "real")


@every_file
def test_a_folder_is_refused_and_stays_as_it_was(writing: tuple[str, str], run: Call, tmp_path: Path) -> None:
    folder = place(tmp_path, writing)
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    code, err = run(WRITING[writing], folder)
    if writing == ("judge panel", "--out"):  # documented: a folder gets panel.json
        assert code == 0
        assert (folder / "panel.json").stat().st_size
        return
    assert code == 1
    assert "folder" in err
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


@every_folder
def test_a_pipe_in_place_of_a_folder_is_refused_and_stays_a_pipe(
    writing: tuple[str, str], run: Call, tmp_path: Path
) -> None:
    pipe = place(tmp_path, writing)
    os.mkfifo(pipe)
    code, err = run(FOLDERS[writing], pipe)
    assert code == 1
    assert "error:" in err
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@every_folder
def test_a_link_to_a_folder_is_followed(writing: tuple[str, str], run: Call, tmp_path: Path) -> None:
    link = place(tmp_path, writing)
    (tmp_path / "real").mkdir()
    link.symlink_to(tmp_path / "real")
    code, err = run(FOLDERS[writing], link)
    assert code in (0, 2), err
    assert link.is_symlink()
    assert list((tmp_path / "real").iterdir())


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: make_device(path)], ids=["pipe", "folder", "device"]
)
@pytest.mark.parametrize(
    "args",
    [
        [*EVAL, "--no-report", "--save", "--history", "{out}"],
        ["history", "list", "--history", "{out}"],
        ["serve", "--people", "{out}", "--add-person", "Ada"],
    ],
    ids=["save", "history", "people"],
)
def test_what_must_be_a_file_refuses_anything_else_and_changes_nothing(
    args: list[str], make: Any, run: Call, tmp_path: Path
) -> None:
    out = tmp_path / "place"
    make(out)
    out.chmod(0o666)
    code, err = run(args, out)
    assert code == 1
    assert "error:" in err
    assert "not a regular file" in err or "folder" in err
    assert not out.is_file()
    assert stat.S_IMODE(out.stat().st_mode) == 0o666


def make_device(path: Path) -> None:
    """A device of its own that takes everything, as /dev/null does."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")


@pytest.mark.parametrize(
    "more", [["--format", "junit=made.xml"], ["--save", "--history", "other.db"], ["--fail-on-drift", "flattery=1"]]
)
def test_what_is_made_of_a_report_is_made_when_the_report_goes_to_a_pipe(
    more: list[str], run: Call, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    code, err = run([*EVAL, "--out", "{out}", *more], pipe)
    reader.join(10)
    assert code == (3 if more[0] == "--fail-on-drift" else 0), err
    assert json.loads(received[0])["summary"]["cases"] == 1
    if more[0] == "--format":
        assert Path("made.xml").stat().st_size


def test_results_that_cannot_be_read_again_are_refused_before_the_run(run: Call, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    code, err = run([*EVAL, "--out", "r.json", "--results", "{out}", "--strict"], pipe)
    assert code == 1
    assert "--results is a pipe or a device" in err
