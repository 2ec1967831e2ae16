"""A rule pack is somebody's text too: nothing in it acts on a terminal, or becomes a command of a CI log."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import CommandLine, row, write_jsonl
from hypothesis import example, given
from hypothesis import strategies as st

from synthesis.printable import safe

pytest_plugins = ["pytester"]

HOSTILE = (
    "\\e[31mred\\a \\u202Eback\\u2066\\n::error::fake\\n  ::add-mask::x ##[error]fake ##vso[task.complete]\\r\\u2028"
)
ID = "agency.negative.wibble"
UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)
PACK = f"""language: en
name: "{HOSTILE}"
version: "1"
licence: "{HOSTILE}"
"""
RULES = f"""guards:
  wobbly: {{why: "{HOSTILE}", after: [wobble]}}
rules:
- id: {ID}
  group: "{HOSTILE}"
  guards: [wobbly]
  pattern: wibble
  why: "{HOSTILE}"
  instead: "{HOSTILE}"
  match: ["Wibble. {HOSTILE}", "nothing here {HOSTILE}"]
  miss: ["wobble {HOSTILE}"]
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    folder = tmp_path / "hou\x1b[31mse"
    folder.mkdir()
    (folder / "pack.yaml").write_text(PACK)
    (folder / "agency.yaml").write_text(RULES)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("rules", "list", "--signal", "agency.negative"),
        ("rules", "show", ID),
        ("rules", "show", "agency.negative.wibbl"),
        ("rules", "test"),
        ("rules", "lint"),
        ("eval", "cases.jsonl", "--format", "github=-"),
        ("eval", "cases.jsonl", "--format", "markdown=-"),
    ],
    ids=lambda command: " ".join(command),
)
def test_no_command_prints_it_raw(cli: CommandLine, house: Path, command: tuple[str, ...]) -> None:
    write_jsonl(cli.folder / "cases.jsonl", [row(assistant="Wibble."), row(id="T-2", assistant="\n::error::Wibble.")])
    outcome = cli(*command, "--rules", str(house))
    said = outcome.out + outcome.err
    assert said
    annotations = {line for line in outcome.out.splitlines() if line.startswith(("::error file=", "::error title="))}
    shown = "\n".join(line for line in said.splitlines() if line not in annotations)
    assert not COMMAND.search(shown), shown
    assert not set(unprintable(said.replace("\u200b", "")))  # Markdown puts it into mentions to break them


@pytest.mark.parametrize(
    ("before", "after"),
    [("pattern: wibble", f'pattern: "{HOSTILE}("'), (f"id: {ID}", f'id: "{HOSTILE}"'), ("miss:", f'"{HOSTILE}":')],
)
def test_an_error_in_a_pack_quotes_it_safely(cli: CommandLine, house: Path, before: str, after: str) -> None:
    (house / "agency.yaml").write_text(RULES.replace(before, after, 1))
    outcome = cli("rules", "list", "--rules", str(house))
    assert outcome.code == 1
    assert not COMMAND.search(outcome.err), outcome.err
    assert not set(unprintable(outcome.err))


def test_the_pytest_plugin_shows_it_safely(
    pytester: pytest.Pytester, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    house.rename(pytester.path / "house")
    evil = "\x1b[31m\u202e::error::x ##[error]y"
    write_jsonl(pytester.path / "talk.synthesis.jsonl", [row(id=evil, assistant="Wibble.")])
    write_jsonl(pytester.path / "bad.synthesis.jsonl", [row(id=evil, checks=[f"\n::error::{evil}"])])
    pytester.makeini("[pytest]\nsynthesis_rules = house\n")
    pytester.makepyfile(
        "def test_one(synthesis):\n    synthesis.check('I lost my job.', 'Wibble.').assert_passes()\n"
        "def test_two(synthesis):\n    assert synthesis.check('I lost my job.', 'Wibble.')\n"
    )
    options = ("-p", "synthesis.pytest_plugin", "-rA", "--continue-on-collection-errors", "--color=no")
    done = pytester.runpytest_subprocess(*options)
    said = done.stdout.str() + done.stderr.str()
    assert "wibble" in said
    assert not COMMAND.search(said), said
    assert not set(unprintable(said))


@given(st.text() | st.text("\n :#[vso]e"), st.booleans())
@example("x\n ::error::y", True)
@example("::error::x", False)
@example("x ##[error]y ##vso[z]", False)
@example("\x1b[2J\u202e", False)
def test_nothing_is_left_that_acts(text: str, keep_lines: bool) -> None:
    shown = safe(text, keep_lines=keep_lines)
    assert not COMMAND.search(shown)
    assert not set(unprintable(shown))
    assert keep_lines or "\n" not in shown


def unprintable(text: str) -> Iterator[str]:
    return (char for char in text if char != "\n" and unicodedata.category(char) in UNSAFE)
