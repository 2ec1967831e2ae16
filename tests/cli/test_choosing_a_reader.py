"""`--reader` chooses whether the learned reader reads beside the rules; reports name it and are kept apart by it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import CommandLine, every_command, row, write_jsonl
from learned_samples import INSTEAD, NAME, PRESSURE, REPLY, USER, WHY, forget, install

import synthesis
from synthesis.checks import card, learned, rules_in_force
from synthesis.errors import OptionError, WeightsError
from synthesis.reader.reference import PythonEngine
from synthesis.run.table import BatchEvaluator

EXCHANGE = {"user": USER, "assistant": REPLY}


@pytest.fixture
def log(cli: CommandLine) -> Path:
    return write_jsonl(cli.folder / "log.jsonl", [EXCHANGE])


@pytest.fixture
def no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package without weights."""
    monkeypatch.setattr(learned, "BUNDLED", tmp_path / "nowhere.bin")
    forget()
    yield
    monkeypatch.undo()
    forget()


def evaluated(cli: CommandLine, log: Path, *options: str, out: str = "report.json") -> int:
    return cli("eval", log, "--out", out, "--workers", "1", *options).code


# The option


def test_every_command_that_takes_a_profile_takes_a_reader() -> None:
    def having(option: str) -> set[str]:
        return {path for path, command in every_command().items() if any(option in one.opts for one in command.params)}

    assert having("--profile") <= having("--reader")
    assert having("--reader") - having("--profile") == {"check", "serve"}  # which know one profile only


@pytest.mark.usefixtures("toy_reader")
def test_the_learned_reader_decides_unless_rules_are_asked_for(cli: CommandLine, log: Path) -> None:
    assert evaluated(cli, log) == 2
    assert evaluated(cli, log, "--reader", "rules") == 0
    assert cli("check", USER, REPLY).code == 2
    assert cli("check", USER, REPLY, "--reader", "rules").code == 0


@pytest.mark.usefixtures("toy_reader")
def test_a_setting_chooses_it_and_an_option_overrides_it(cli: CommandLine, log: Path) -> None:
    (cli.folder / "synthesis.toml").write_text('reader = "rules"\n')
    assert evaluated(cli, log) == 0
    assert evaluated(cli, log, "--reader", "learned") == 2
    assert cli("check", USER, REPLY).code == 0
    assert cli("config").out.count("rules") >= 1


@pytest.mark.parametrize("args", [("eval", "log.jsonl"), ("check", USER, REPLY), ("audit", "log.jsonl"), ("serve",)])
def test_a_reader_that_does_not_exist_is_told_with_the_nearest(cli: CommandLine, log: Path, args: list[str]) -> None:
    assert log.is_file()
    outcome = cli(*args, "--reader", "rule")
    assert (outcome.code, outcome.out) == (1, "")
    assert "there is no reader 'rule'" in outcome.err
    assert "Did you mean 'rules'?" in outcome.err


@pytest.mark.usefixtures("toy_reader")
def test_in_authored_it_may_only_speak_for_a_reply(cli: CommandLine) -> None:
    cases = write_jsonl(cli.folder / "cases.jsonl", [row(**EXCHANGE, checks=[PRESSURE])])
    assert evaluated(cli, cases) == 0
    assert evaluated(cli, cases, "--profile", "traffic") == 2


# The library


@pytest.mark.usefixtures("toy_reader")
def test_the_library_takes_the_same_choice() -> None:
    assert synthesis.evaluate(USER, REPLY).failed_checks == [PRESSURE]
    assert synthesis.evaluate(USER, REPLY, reader="rules")
    talk = [{"role": "user", "content": USER}, {"role": "assistant", "content": REPLY}]
    assert synthesis.evaluate_conversation(talk).failed
    assert not synthesis.evaluate_conversation(talk, reader="rules").failed
    assert not synthesis.ReplyEvaluator(reader="rules").reply(USER, REPLY).failed
    assert synthesis.Guard().look_at(USER, REPLY).failed
    assert not synthesis.Guard(reader="rules").look_at(USER, REPLY).failed
    assert not synthesis.Guard(reader="rules", rules=rules_in_force()).look_at(USER, REPLY).failed


@pytest.mark.parametrize(
    "make",
    [
        lambda: synthesis.evaluate(USER, REPLY, reader="model"),
        lambda: synthesis.ReplyEvaluator(reader="model"),
        lambda: BatchEvaluator(reader="model"),
        lambda: synthesis.RunSpec(inputs=(), reader="model"),
    ],
)
def test_the_library_refuses_a_reader_that_does_not_exist(make: object) -> None:
    with pytest.raises(OptionError, match="there is no reader 'model'"):
        make()  # type: ignore[operator]


@pytest.mark.usefixtures("toy_reader")
def test_tables_take_the_same_choice() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: [text] for name, text in EXCHANGE.items()})
    outcomes = [synthesis.evaluate_table(table, reader=one)["outcome"].to_pylist() for one in ("learned", "rules")]
    assert outcomes == [["fail"], ["pass"]]


@pytest.mark.usefixtures("toy_reader")
def test_a_table_of_the_other_reader_is_not_resumed(cli: CommandLine, log: Path) -> None:
    pytest.importorskip("pyarrow")
    assert evaluated(cli, log, "--out-table", "table") == 2
    outcome = cli("eval", log, "--out", "report.json", "--out-table", "table", "--reader", "rules")
    assert outcome.code == 1
    assert "reader" in outcome.err


# Reports


@pytest.mark.usefixtures("toy_reader")
def test_a_report_names_its_reader(cli: CommandLine, log: Path) -> None:
    shown = cli("eval", log, "--out", "learned.json")
    assert f"Reader: rules and {NAME}." in shown.out
    assert "Reader: rules." in cli("eval", log, "--out", "rules.json", "--reader", "rules").out
    named = cli.report("learned.json")["reader"]
    found = learned.learned_reader()
    assert found is not None
    assert named == {"name": NAME, "hash": found.hash}
    assert cli.report("rules.json")["reader"] == {"name": "rules"}
    assert json.loads(cli("eval", log, "--json", "--out", "again.json").out)["reader"] == NAME


@pytest.mark.usefixtures("no_reader")
def test_without_weights_rules_read_and_the_report_says_so(cli: CommandLine, log: Path) -> None:
    assert evaluated(cli, log) == 0
    assert cli.report("report.json")["reader"] == {"name": "rules"}


@pytest.mark.usefixtures("toy_reader")
def test_reports_of_different_readers_are_not_compared_unless_asked_to(cli: CommandLine, log: Path) -> None:
    evaluated(cli, log, "--reader", "rules", out="old.json")
    evaluated(cli, log, out="new.json")
    outcome = cli("compare", "old.json", "new.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert f"reader: rules -> {NAME}" in outcome.err
    assert "newly failing: 1" in cli("compare", "old.json", "new.json", "--across").out


@pytest.mark.usefixtures("toy_reader")
def test_a_report_from_before_there_was_a_choice_was_read_by_rules(cli: CommandLine, log: Path) -> None:
    evaluated(cli, log, "--reader", "rules", out="old.json")
    old = cli.report("old.json")
    del old["reader"]
    (cli.folder / "old.json").write_text(json.dumps(old))
    evaluated(cli, log, "--reader", "rules", out="rules.json")
    evaluated(cli, log, out="learned.json")
    assert cli("compare", "old.json", "rules.json").code == 0
    assert f"reader: rules -> {NAME}" in cli("compare", "old.json", "learned.json").err


@pytest.mark.usefixtures("toy_reader")
def test_other_weights_are_another_ruler_for_the_same_question(cli: CommandLine, log: Path) -> None:
    evaluated(cli, log, out="old.json")
    old = cli.report("old.json")
    (cli.folder / "new.json").write_text(json.dumps(old | {"reader": {"name": "toy-2", "hash": "ab"}}))
    outcome = cli("compare", "old.json", "new.json")
    assert outcome.code == 0
    assert "weights of the reader" in outcome.out


@pytest.mark.usefixtures("toy_reader")
def test_a_baseline_of_the_other_reader_is_refused(cli: CommandLine, log: Path) -> None:
    evaluated(cli, log, "--reader", "rules", out="old.json")
    outcome = cli("eval", log, "--out", "new.json", "--baseline", "old.json")
    assert outcome.code == 1
    assert f"was evaluated by the reader 'rules', this run by '{NAME}'" in outcome.err
    assert "give --reader rules" in outcome.err
    assert evaluated(cli, log, "--reader", "rules", "--baseline", "old.json", out="new.json") == 0


@pytest.mark.usefixtures("toy_reader")
def test_evaluating_again_takes_the_reader_that_the_newer_report_names(cli: CommandLine, log: Path) -> None:
    evaluated(cli, log, out="learned.json")
    evaluated(cli, log, "--reader", "rules", out="rules.json")
    both = cli("compare", "learned.json", "rules.json", "--reevaluate", "--json")
    assert json.loads(both.out)["newly_passing"] == []
    assert json.loads(cli("compare", "rules.json", "learned.json", "--reevaluate", "--json").out)["in_both"] == 1


@pytest.mark.usefixtures("toy_reader")
def test_a_saved_run_names_its_reader_and_trends_keep_readers_apart(cli: CommandLine, log: Path) -> None:
    pytest.importorskip("sqlalchemy")
    for reader in ("rules", "learned"):
        evaluated(cli, log, "--reader", reader, "--save", "--history", "h.db", "--run-name", "night")
    assert NAME in cli("history", "show", "latest", "--history", "h.db").out
    assert json.loads(cli("history", "show", "latest", "--history", "h.db", "--json").out)["reader"] == NAME
    assert f"night over 1 run, profile traffic, reader {NAME}" in cli("history", "trend", "--history", "h.db").out


@pytest.mark.usefixtures("toy_reader")
def test_an_audit_names_its_reader_and_can_be_verified(cli: CommandLine, log: Path) -> None:
    assert cli("audit", log, "--out", "learned").code == 0
    assert cli("audit", log, "--out", "rules", "--reader", "rules").code == 0
    documents = {name: json.loads((cli.folder / name / "audit.json").read_text()) for name in ("learned", "rules")}
    assert documents["learned"]["reader"]["name"] == NAME
    assert documents["rules"]["reader"] == {"name": "rules"}
    method = (cli.folder / "learned" / "audit.md").read_text()
    assert f"a learned reader ({NAME})" in " ".join(method.split())
    for name in documents:
        assert cli("audit", "verify", f"{name}/audit.json", log).code == 0
    since = cli("audit", log, "--out", "since", "--since", "rules/audit.json", "--all-cells")
    assert since.code == 0
    assert "another reader was in force (rules then, toy-1 now)" in (cli.folder / "since" / "audit.md").read_text()


# `synthesis reader`, and what points to it


@pytest.mark.usefixtures("toy_reader")
def test_the_reader_is_shown_with_its_heads(cli: CommandLine) -> None:
    shown = cli("reader", "show")
    found = learned.learned_reader()
    assert found is not None
    assert shown.code == 0
    assert f"{NAME}  weights and thresholds {found.hash}" in shown.out
    assert f"runs on {found.engine.name}" in shown.out
    assert "the reply makes it hard to leave [decides in en]" in shown.out
    assert "off in every language" in shown.out
    assert "trained on  the corpus: 1,200 rows, MIT" in shown.out
    told = json.loads(cli("reader", "show", "--json").out)
    assert (told["name"], told["hash"], told["engine"]) == (NAME, found.hash, found.engine.name)
    assert set(told["heads"]) == set(found.decisions)


@pytest.mark.usefixtures("toy_reader")
@pytest.mark.parametrize("name", [PRESSURE, f"learned.{PRESSURE}"])
def test_a_head_is_shown_with_what_it_means_its_figures_and_words(cli: CommandLine, name: str) -> None:
    shown = cli("reader", "show", name).out
    for words in (
        "the reply makes it hard to leave",
        WHY,
        INSTEAD,
        "1,200 rows, MIT",
        "decides alone from a score of en",
        "en, held, 40 positives: precision 0.91, recall 0.50; rules alone precision 0.80, recall -",
        "stay, please",
        "bye",
        "Short replies are hard.",
    ):
        assert words in shown
    assert json.loads(cli("reader", "show", name, "--json").out)["words_for"] == ["stay", "please"]


def test_without_its_card_the_reader_is_shown_all_the_same(
    cli: CommandLine, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path_factory.mktemp("reader"), with_card=False)
    for args in ((), (PRESSURE,)):
        shown = cli("reader", "show", *args)
        assert shown.code == 0
        assert "has no card of the reader" in shown.out
    card.CARD.write_text("{}")
    card.reader_card.cache_clear()
    assert "card of the learned reader cannot be read" in cli("reader", "show").err
    with pytest.raises(WeightsError):
        card.reader_card(card.CARD)
    monkeypatch.undo()
    forget()


@pytest.mark.usefixtures("no_reader")
def test_without_weights_the_command_says_so_in_one_sentence(cli: CommandLine) -> None:
    assert cli("reader", "show").out == ("This copy of the package has no learned reader: rules alone find signals.\n")
    assert json.loads(cli("reader", "show", "--json").out)["name"] is None
    assert cli("reader", "show", "cue").code == 1
    assert "learned reader: none in this package" in cli("--version").out


@pytest.mark.usefixtures("toy_reader")
def test_a_head_that_does_not_exist_is_told_with_the_nearest(cli: CommandLine) -> None:
    outcome = cli("reader", "show", "cues")
    assert outcome.code == 1
    assert "Did you mean 'cue" in outcome.err


def test_the_rules_point_to_the_reader(cli: CommandLine) -> None:
    outcome = cli("rules", "show", "learned.cue")
    assert outcome.code == 1
    assert "`synthesis reader show cue` explains it." in outcome.err


@pytest.mark.usefixtures("toy_reader")
def test_plain_python_is_named_where_it_runs(cli: CommandLine, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "engine", PythonEngine)
    assert f"learned reader: {NAME} on python, which is slow" in cli("--version").out
    assert "runs on python (slow" in cli("reader", "show").out
    slow = "note: the learned reader runs in plain Python, which is slow."
    assert slow in cli("eval", log, "--out", "report.json").err
    assert slow not in cli("eval", log, "--out", "report.json", "--quiet").err
    assert slow not in cli("eval", log, "--out", "report.json", "--reader", "rules").err
