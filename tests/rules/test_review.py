"""A speaker reviews a pack on a sheet, which keeps what they wrote."""

import json
from pathlib import Path

import pytest
from helpers import CommandLine

PACK = """
rules:
  - id: agency.negative.zonk
    group: mine
    why: It is *only* a test.
    instead: Say something else here.
    except: {before: they say}
    phrases:
      zonk [it]: Just zonk it.
    miss: [They say zonk., Nothing here.]
"""
LOG = [
    {"messages": [{"role": "user", "content": "Hello there, how are you?"}, {"role": "assistant", "content": reply}]}
    for reply in ("You should _zonk_ it, my friend.", "They say zonk it. That is what they do.", "I would rather not.")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    manifest = "language: en\nname: mine\nversion: '1'\nlicence: MIT\nwritten_in: phrases\n"
    (tmp_path / "mine" / "pack.yaml").write_text(manifest)
    (tmp_path / "mine" / "mine.yaml").write_text(PACK)
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in LOG))
    return tmp_path


def sheet(folder: Path, cli: CommandLine) -> str:
    """The part of the sheet on our rule."""
    options = ("--lang", "en", "--signal", "agency.negative", "--rules", "mine", "--texts", "log.jsonl")
    done = cli("rules", "review", *options)
    assert done.code == 0, done.err
    whole = (folder / "review" / "en.md").read_text()
    return "## agency.negative.zonk" + whole.partition("## agency.negative.zonk")[2].partition("\n## ")[0]


def test_a_rule_is_shown_with_what_it_finds_and_what_it_leaves_out(folder: Path, cli: CommandLine) -> None:
    told = sheet(folder, cli)
    assert "**Why:** It is \\*only\\* a test. **Instead:** Say something else here." in told
    assert "    zonk [it]\n        Just zonk it.\n" in told
    assert "*finds*\n\n- You should \\_**zonk\\_ it**, my friend.\n" in told
    assert "*leaves out*\n\n- They say **zonk it**. That is what they do.\n" in told


def test_ticks_and_notes_stay_until_the_rule_changes(folder: Path, cli: CommandLine) -> None:
    sheet(folder, cli)
    path = folder / "review" / "en.md"
    before, head, after = path.read_text().partition("## agency.negative.zonk")
    after = after.replace("- [ ] right\n- note:", "- [x] right\n- note: \\*seldom said", 1)
    path.write_text(before + head + after)
    assert "- [x] right\n- note: \\*seldom said\n" in sheet(folder, cli)
    pack = folder / "mine" / "mine.yaml"
    pack.write_text(PACK.replace("they say", "they say | he says"))
    assert "- [ ] right (the rule has changed since it was ticked)\n- note: \\*seldom said\n" in sheet(folder, cli)


def test_a_sheet_of_other_rules_keeps_what_was_written(folder: Path, cli: CommandLine) -> None:
    sheet(folder, cli)
    path = folder / "review" / "en.md"
    before, head, after = path.read_text().partition("## agency.negative.zonk")
    path.write_text(before + head + after.replace("- note:", "- note: seldom said,\nand if so, loudly", 1))
    assert cli("rules", "review", "--lang", "en", "--signal", "flattery", "--texts", "log.jsonl").code == 0
    assert "- note: seldom said, and if so, loudly\n" in path.read_text()
    assert "- note: seldom said, and if so, loudly\n" in sheet(folder, cli)


@pytest.mark.parametrize(("content", "message"), [(b"# My notes\n", "is not a review sheet"), (b"\xff", "is not a")])
def test_another_file_is_not_written_over(folder: Path, cli: CommandLine, content: bytes, message: str) -> None:
    (folder / "notes.md").write_bytes(content)
    done = cli("rules", "review", "--lang", "en", "--signal", "flattery", "--out", "notes.md")
    assert (done.code, message in done.err, "--out" in done.err) == (1, True, True)
    assert (folder / "notes.md").read_bytes() == content


def test_the_command_tells_how_far_the_review_is(folder: Path, cli: CommandLine) -> None:
    arguments = ("rules", "review", "--lang", "en", "--signal", "flattery", "--texts", "log.jsonl", "--json")
    told = json.loads(cli(*arguments).out)
    assert told["sheet"] == str(Path("review") / "en.md")
    assert (told["right"], told["noted"]) == (0, 0)
    assert told["rules"] > 3


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--lang", "tlh"), "no pack speaks 'tlh'"), (("--lang", "en", "--signal", "nope"), "belongs to 'nope'")],
)
def test_what_is_not_there_is_named(folder: Path, cli: CommandLine, options: tuple[str, ...], message: str) -> None:
    done = cli("rules", "review", *options)
    assert (done.code, message in done.err) == (1, True)
    assert not (folder / "review").exists()
