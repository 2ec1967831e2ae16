"""Help that fits on a screen, options in groups, and one vocabulary over all commands."""

from collections import defaultdict

import pytest
from helpers import CommandLine, every_command, long_name, options, row, write_jsonl

from synthesis.cli.main import COMMANDS
from synthesis.cli.options import FEW, FORMER, GROUPS

SCREEN = 40  # lines


EVERY = every_command()


def shown(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, *args: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = cli(*args)
    assert outcome.code == 0
    assert max(map(len, outcome.out.splitlines())) <= 80
    return outcome.out.splitlines()


def test_the_first_help_fits_on_a_screen(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(cli, monkeypatch, "--help")
    assert len(lines) <= SCREEN
    assert {line.split()[0] for line in lines if line.startswith("  ")} >= COMMANDS.keys()
    assert "synthesis.toml" in "".join(lines)
    assert not any("--checks" in line for line in lines), "the options of eval are in its own help"


def test_eval_shows_its_most_used_options_in_groups_and_all_on_request(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief, whole = (shown(cli, monkeypatch, "eval", form) for form in ("--help", "--help-all"))
    for lines in (brief, whole):
        titles = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
        assert titles == ["Input", "Checks", "Output", "Gate", "Speed", "History", "Help"]
    names = {long_name(option) for option in options(EVERY["eval"])}
    assert {line.split()[0] for line in whole if line.startswith("  -")} >= names - {"--quiet"}  # which begins with -q
    assert sum(line.startswith("  --") for line in brief) <= 16
    assert not any(line.startswith("  --ray-address") for line in brief)


@pytest.mark.parametrize("path", EVERY)
def test_every_option_of_a_long_list_has_a_group(path: str) -> None:
    grouped = {name for names in GROUPS.values() for part in names for name in part.split()} | {"--help-all"}
    found = {long_name(option) for option in options(EVERY[path])}
    assert len(found) <= FEW or found <= grouped


def test_an_option_means_the_same_in_every_command() -> None:
    meanings: dict[str, dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, command in EVERY.items():
        for option in options(command):
            beginning = " ".join((option.help or "").split()[:2])
            kind = (option.type.name.removesuffix(" range"), option.metavar, option.is_flag, beginning)
            meanings[long_name(option)][kind].append(path)
    assert {name: dict(found) for name, found in meanings.items() if len(found) > 1} == {}
    assert all(kind[3] for found in meanings.values() for kind in found), "every option is explained"


@pytest.mark.parametrize(("former", "today"), FORMER.items())
def test_the_former_name_of_an_option_is_nowhere_an_option_beside_the_new_one(former: str, today: str) -> None:
    taken = [{long_name(option) for option in options(command)} for command in EVERY.values()]
    assert any(today in names for names in taken)
    assert not any({former, today} <= names for names in taken)


@pytest.mark.parametrize("former", [["--check", "agency_language"], ["--check=agency_language"]])
def test_the_former_name_still_works_and_says_the_new_one(cli: CommandLine, former: list[str]) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [row(checks=["agency_language", "topic_pivot"])])
    outcome = cli("--cases", cases, *former)
    assert outcome.err == "hint: --check is called --only-check now\n"
    assert list(cli.report()["results"][0]["checks"]) == ["agency_language"]


def test_a_value_after_two_dashes_is_not_taken_for_an_option(cli: CommandLine) -> None:
    outcome = cli("eval", "--", "--check")
    assert "--check: there is no such file" in outcome.err
    assert "hint: --check is called" not in outcome.err


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("evla", "There is no command and no file 'evla'. Did you mean 'eval'?"),
        ("gone.jsonl", "There is no command and no file 'gone.jsonl'. See"),
    ],
)
def test_a_word_that_is_neither_a_command_nor_a_file_is_named(cli: CommandLine, word: str, message: str) -> None:
    outcome = cli(word, "--json")
    assert outcome.code == 1
    assert message in outcome.err


@pytest.mark.parametrize(
    ("args", "same"), [(["judge", "set.json", "--root", "a"], ["judge", "run", "set.json", "--root", "b"])]
)
def test_a_file_may_stand_for_the_command_that_reads_it(cli: CommandLine, args: list[str], same: list[str]) -> None:
    (cli.folder / "set.json").write_text(
        '[{"queryLogId": "q", "question": "When does the ferry leave?", "answer": "At nine.",'
        ' "context": ["The ferry leaves at nine."]}]'
    )
    short, long = cli(*args), cli(*same)
    assert short.code == long.code == 0
    assert short.out.replace("a/set", "b/set") == long.out
