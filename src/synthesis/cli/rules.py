"""`synthesis rules`: list, explain, test and lint the rules."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from synthesis.cli import ExitCode
from synthesis.cli.options import Group, json_option, out_option, print_json, rules_option
from synthesis.cli.terminal import columns, print_lines
from synthesis.errors import OptionError, did_you_mean
from synthesis.printable import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from synthesis.checks.table import Table
    from synthesis.rules.authoring import StepShare
    from synthesis.rules.ruleset import RuleSet
    from synthesis.rules.schema import Rule
    from synthesis.run.proofs import Problem

_ID_WIDTH = 58
_TABLE_WIDTH = 120  # below that a rule takes two lines: its id, and why it is there


def _load(folders: tuple[str, ...]) -> "RuleSet":
    from synthesis.checks.registry import rules_in_force
    from synthesis.settings import find_settings

    configured = find_settings(Path.cwd()).values.get("rules", ())
    return rules_in_force((*configured, *folders))


def _own_tables(folders: tuple[str, ...]) -> "list[Table]":
    """The tables in these folders and in those of the settings."""
    from synthesis.checks.registry import load_tables
    from synthesis.settings import find_settings

    return load_tables((*find_settings(Path.cwd()).values.get("rules", ()), *folders))


def _proofs(
    look: "Callable[[Table, RuleSet], Iterable[Problem]]", tables: "list[Table]", loaded: "RuleSet"
) -> list[str]:
    return [str(problem) for table in tables for problem in look(table, loaded)]


@click.group("rules", cls=Group)
def rules() -> None:
    """List, explain, test and lint the rules."""


@rules.command("list")
@rules_option
@click.option("--signal", metavar="NAME", help="Only rules of this signal, such as agency.negative.")
@click.option("--lang", metavar="CODE", help="Language of the rules. [default: all]")
@json_option
def list_(folders: tuple[str, ...], signal: str | None, lang: str | None, as_json: bool) -> None:
    """List the rules by language and id, and how their checks were tested."""
    from synthesis.checks.registry import checks, measured_languages
    from synthesis.glossary import explain_rule
    from synthesis.report.findings import evidence_sentence

    shown = [
        rule
        for rule in _load(folders).rules
        if (signal is None or rule.signal == signal) and (lang is None or rule.language == lang)
    ]
    if not shown:
        raise OptionError("no rule matches", hint="`synthesis rules list` without options shows all.")
    if as_json:
        print_json([explain_rule(rule) for rule in shown])
        return
    broad = (columns() or _TABLE_WIDTH) >= _TABLE_WIDTH
    for rule in shown:
        name, why = safe(rule.id), click.style(safe(rule.text("why")), dim=True)
        own = [f"{name:<{_ID_WIDTH}} {why}"] if broad else [name, f"      {why}"]
        print_lines([f"{safe(rule.language)}  {own[0]}", *own[1:]], hang=5 + _ID_WIDTH if broad else 0)
    print_lines([f"{len(shown)} rules", click.style(evidence_sentence(measured_languages(), checks()), dim=True)])


@rules.command("show")
@click.argument("rule_id", metavar="ID")
@rules_option
@click.option(
    "--lang", metavar="CODE", help="Language of the rule, or 'all'. [default: en, else the first that has it]"
)
@json_option
def show(rule_id: str, folders: tuple[str, ...], lang: str | None, as_json: bool) -> None:
    """Explain one rule: what it finds, why it matters, what would be better, and its examples.

    A rule of the same name may be in the packs of several languages.
    """
    from synthesis.glossary import explain_rule
    from synthesis.report.findings import how_to_read

    loaded = _load(folders)
    found = {rule.language: rule for rule in loaded.rules if rule.id == rule_id}
    if command := how_to_read(rule_id):
        raise OptionError(f"'{rule_id}' is not a rule: the learned reader finds it", hint=f"`{command}` explains it.")
    if not found:
        raise OptionError(f"no rule is called '{rule_id}'", hint=_nearest(rule_id, loaded))
    asked = lang or ("en" if "en" in found else next(iter(found)))
    if asked not in (*found, "all"):
        raise OptionError(f"'{rule_id}' is not in the language '{lang}'", hint=did_you_mean(asked, found))
    shown = [rule for code, rule in found.items() if asked in (code, "all")]
    if as_json:
        print_json([explain_rule(rule) | {"file": rule.file, "line": rule.line} for rule in shown])
        return
    for rule in shown:
        _explain(rule, loaded)
    if others := [code for code in found if asked not in (code, "all")]:
        print_lines([click.style(f"  also in {', '.join(map(safe, others))}: --lang CODE, or --lang all", dim=True)])


def _nearest(rule_id: str, loaded: "RuleSet") -> str:
    hint = did_you_mean(rule_id, {rule.id for rule in loaded.rules})
    return hint.partition(" Known:")[0] if hint.startswith("Did") else "`synthesis rules list` shows them all."


def _explain(rule: "Rule", loaded: "RuleSet") -> None:
    from synthesis.checks.registry import signals
    from synthesis.glossary import explain_rule

    signal, texts = signals()[rule.signal], explain_rule(rule, rule.language)
    guards = loaded.packs[rule.language].guards
    known = f"{rule.language}, {rule.group}, {rule.severity}"
    lines = [
        f"  signal    {safe(signal.name)}: {safe(signal.title)} (in the {signal.where}'s words)",
        f"  why       {safe(texts['why'])}",
        f"  instead   {safe(texts['instead'])}",
        *(f"  finds     {safe(source)}" for source in texts["finds"]),
        *(f"  not when  {safe(name)}: {safe(guards[name].why)}" for name in rule.guards),
        *(["  not when  words around it say otherwise (see the pack)"] if rule.exception else []),
        *(f"  match     {safe(example)}" for example in rule.match),
        *(f"  miss      {safe(example)}" for example in rule.miss),
        click.style(f"  {safe(rule.file)}:{rule.line}", dim=True),
    ]
    print_lines([f"{click.style(safe(rule.id), bold=True)}  ({safe(known)})"])
    print_lines(lines, hang=10)


@rules.command("test")
@click.argument("path", required=False, metavar="[FOLDER]")
@rules_option
@json_option
def test(path: str | None, folders: tuple[str, ...], as_json: bool) -> int:
    """Test every rule on its examples and every table of your own on its cases.

    With FOLDER, the rules and tables there on top of the bundled ones.
    """
    from synthesis.checks.registry import signals
    from synthesis.rules.authoring import example_count, example_failures, missing_concepts, rules_on_top
    from synthesis.run.proofs import failed_proofs

    loaded = _load((*folders, path) if path else folders)
    tested = rules_on_top(loaded, _load(folders)) if path else loaded.rules
    tables = _own_tables((*folders, path) if path else folders)
    failures = [*map(str, example_failures(loaded, signals(), tested)), *_proofs(failed_proofs, tables, loaded)]
    gaps = {code: list(missing_concepts(loaded, code)) for code in sorted({rule.language for rule in tested})}
    if as_json:
        counts = {"rules": len(tested), "examples": example_count(tested)}
        print_json({**counts, "failures": failures, "missing_concepts": gaps})
        return ExitCode.UNMET if failures else ExitCode.OK
    for failure in failures:
        click.echo(safe(failure), err=True)
    for code, concepts in gaps.items():
        if concepts:
            words = f"has no rule for {len(concepts)} concepts that English covers; `synthesis rules lint` lists them"
            click.echo(f"{safe(code)} {words}")
    for table in tables:
        click.echo(f"check {safe(table.name)}: {len(table.cases)} cases")
    click.echo(f"{len(tested)} rules, {example_count(tested)} examples, {len(failures)} failed")
    return ExitCode.UNMET if failures else ExitCode.OK


@rules.command("lint")
@click.argument("path", required=False, metavar="[FOLDER]")
@click.option(
    "--texts", type=click.Path(path_type=Path), metavar="LOG", help="A log to count the steps of patterns on."
)
@rules_option
@json_option
def lint(path: str | None, texts: Path | None, folders: tuple[str, ...], as_json: bool) -> int:
    """Look for weak rules and tables, concepts without a rule, missing translations, and expired helplines."""
    from datetime import date

    from synthesis.checks.helplines import expired_lines
    from synthesis.checks.registry import signals
    from synthesis.rules.authoring import costs, greatest_costs, missing_concepts, missing_texts, rules_on_top, unproven
    from synthesis.rules.authoring import lint as remarks_on
    from synthesis.run.proofs import weak_steps

    loaded = _load((*folders, path) if path else folders)
    expired = [f"helpline expired ({line.valid_until}): {line.label}" for line in expired_lines(date.today())]
    tables = _own_tables((*folders, path) if path else folders)
    own = tuple(f"{signal}/" for table in tables for signal in table.signals)  # which need not speak every language
    gaps = [
        f"{code}: no rule for {concept}"
        for code in loaded.languages
        for concept in missing_concepts(loaded, code)
        if not concept.startswith(own)
    ]
    gaps += [
        f"{code}: texts.yaml is missing {place}" for code in loaded.languages for place in missing_texts(loaded, code)
    ]
    below = _load(())
    steps = costs(loaded, below=below)
    own_rules = rules_on_top(loaded, below) if path or folders else None
    remarks = [
        *map(str, remarks_on(loaded, steps, below if own_rules is not None else None)),
        *map(str, unproven(loaded, signals(), own_rules)),
        *gaps,
        *_proofs(weak_steps, tables, loaded),
    ]
    costly = list(map(str, [*greatest_costs(steps), *(_dearest(texts, loaded) if texts else ())]))
    if as_json:
        print_json({"rules": len(loaded.rules), "remarks": remarks, "expired_helplines": expired, "costs": costly})
        return ExitCode.UNMET if remarks else ExitCode.OK
    for line in (*remarks, *expired):
        click.echo(safe(line), err=True)
    for line in costly:
        click.echo(safe(line))
    click.echo(f"{len(loaded.rules)} rules, {len(remarks)} remarks")
    return ExitCode.UNMET if remarks else ExitCode.OK


def _dearest(log: Path, loaded: "RuleSet") -> "list[StepShare]":
    """Which patterns take most steps on a log."""
    from synthesis.rules.authoring import dearest

    found: dict[tuple[str, str], list[str]] = {}
    for side, text in _told_in(log):
        language = _language_of(text, side, loaded)
        if language in loaded.languages:
            found.setdefault((language, side), []).append(text)
    return dearest(loaded, found)


@rules.command("review")
@click.option("--lang", required=True, metavar="CODE", help="Language of the rules.")
@click.option("--signal", metavar="NAME", help="Only rules of this signal or check, such as crisis.cue or crisis.")
@click.option(
    "--texts",
    type=click.Path(path_type=Path),
    metavar="LOG",
    help="A log to show rules on. [default: the corpus of a checkout]",
)
@click.option(
    "--lines", type=click.IntRange(min=2), default=20, show_default=True, metavar="N", help="Lines for a rule."
)
@out_option("the sheet. [default: review/CODE.md]")
@rules_option
@json_option
def review(
    lang: str,
    signal: str | None,
    texts: Path | None,
    lines: int,
    out: str | None,
    folders: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a sheet on which a speaker reviews the rules: why, what each finds in texts, what it leaves out.

    Ticks and notes that are on the sheet already stay.
    """
    from synthesis.checks.registry import signals
    from synthesis.io import replaced
    from synthesis.rules.review import answers_on, counted, seen_in, sheet

    loaded, path = _load(folders), Path(out) if out else Path("review") / f"{lang}.md"
    if lang not in loaded.languages:
        raise OptionError(f"no pack speaks '{lang}'", hint=did_you_mean(lang, loaded.languages))
    own = [rule for rule in loaded.packs[lang].rules if signal is None or f"{rule.signal}.".startswith(f"{signal}.")]
    if not own:
        raise OptionError(f"no rule of '{lang}' belongs to '{signal}'", hint=did_you_mean(str(signal), signals()))
    found = seen_in(loaded, own, _texts_of(lang, texts, loaded), lines)
    old = answers_on(_old_sheet(path))
    with replaced(path) as file:
        file.write(sheet(own, loaded.packs[lang], signals(), found, old).encode())
    counts = counted(own, loaded.packs[lang], old)
    if as_json:
        print_json({"sheet": str(path), **counts._asdict()})
        return
    click.echo(f"{safe(str(path))}: {counts}")


def _old_sheet(path: Path) -> str:
    """The sheet that is there already; another file is not written over."""
    from synthesis.io import is_stream
    from synthesis.rules.review import TITLE

    content = path.read_bytes() if path.is_file() and not is_stream(path) else b""
    if content and not content.startswith(TITLE.encode()):
        raise OptionError(f"{path} is not a review sheet", hint="Choose another file with --out.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise OptionError(f"{path} is not UTF-8 (byte {error.start})", hint="Save the sheet as UTF-8.") from None


def _texts_of(language: str, log: Path | None, loaded: "RuleSet") -> dict[str, list[str]]:
    """What people and assistants say in one language, in a log or in the parts of the corpus that may be read."""
    corpus = [Path("corpus/rows") / part / f"{language}.jsonl" for part in ("train", "read")]
    found: dict[str, list[str]] = {"user": [], "assistant": []}
    for path in [log] if log else filter(Path.is_file, corpus):
        for side, text in _told_in(path):
            if log is None or _language_of(text, side, loaded) == language:
                found[side].append(text)
    return found


def _language_of(text: str, side: str, loaded: "RuleSet") -> str:
    from synthesis.rules.reading import Message

    return loaded.language_of(Message(text, side))[0].code


def _told_in(log: Path) -> "Iterator[tuple[str, str]]":
    """Each message of a log and each reply, with its side."""
    from synthesis.checks.registry import checks
    from synthesis.errors import Problem
    from synthesis.read.cases import CaseValidator
    from synthesis.read.inputs import Input, log_cases
    from synthesis.read.rows import LogOptions

    for case in log_cases(Input.of(log).looked_at(), LogOptions(CaseValidator(checks()))):
        for exchange in () if isinstance(case, Problem) else case.exchanges:
            yield from zip(("user", "assistant"), exchange, strict=True)


@rules.command("new-language")
@click.argument("language", metavar="CODE")
@click.option("--folder", default="rules", show_default=True, metavar="DIR", help="Where the pack's folder is made.")
@json_option
def new_language(language: str, folder: str, as_json: bool) -> None:
    """Start a pack for a new language: files to fill in, with the concepts that English covers."""
    from synthesis.rules.authoring import scaffold

    written = [str(path) for path in scaffold(language, Path(folder), _load(()))]
    if as_json:
        print_json({"written": written})
        return
    for path in written:
        click.echo(safe(path))
    click.echo(f"Fill them in, then run: synthesis rules test {safe(folder)}; synthesis rules lint {safe(folder)}")


@rules.command("new-check")
@click.argument("name", metavar="NAME")
@click.option("--folder", default="rules", show_default=True, metavar="DIR", help="Where the check's files are made.")
@json_option
def new_check(name: str, folder: str, as_json: bool) -> None:
    """Start a check of your own: a table, a rule for it and cases that prove both, to be changed step by step."""
    from synthesis.checks.scaffold import scaffold_check

    written = [str(path) for path in scaffold_check(name, Path(folder))]
    if as_json:
        print_json({"written": written})
        return
    for path in written:
        click.echo(safe(path))
    click.echo(f"Change them, then run: synthesis rules test {safe(folder)}; synthesis rules lint {safe(folder)}")
