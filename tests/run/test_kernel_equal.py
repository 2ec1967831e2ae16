"""The kernel decides as Python does, byte for byte, and leaves to Python what it does not know."""

import contextlib
import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from both_readers import needs_library
from helpers import case, row, write_jsonl

from campaign.random_tables import compare
from corpus.rows import READ, rows_in
from synthesis.checks import registry
from synthesis.checks.registry import Check, asked_checks, checks
from synthesis.errors import SynthesisError
from synthesis.io import CASE_SCHEMA, CASES
from synthesis.model import Case, CheckResult
from synthesis.model.case import Turn
from synthesis.read.cases import CaseValidator, load_cases, parse_line
from synthesis.read.inputs import Input
from synthesis.report.stored import SEPARATOR
from synthesis.rules.native.library import Library, NativeReaderError
from synthesis.rules.ruleset import RuleSet
from synthesis.run import blocks
from synthesis.run.evaluator import Evaluator
from synthesis.run.files import RunOutcome, evaluate_files
from synthesis.run.kernel import FAILURES, KEEPS_TEXT, READY, RECORDS, Answer, Kernel, KernelCall
from synthesis.run.spec import RunSpec
from synthesis.run.tally import failure_of
from synthesis.settings import AUTHORED, LEARNED, PROFILES, READERS, RULES, TRAFFIC

pytestmark = needs_library
PLAIN = case(checks=["agency_language"])
MOST_LEFT = 0.01  # the share of bundled data that Python may have to evaluate
EVERYTHING = RECORDS | FAILURES | KEEPS_TEXT
_encode = msgspec.json.Encoder().encode


def evaluator(profile: str, reader: str) -> Evaluator:
    return Evaluator(registry.rules_in_force(reader=reader), profile=profile)


def kernel_of(one: Evaluator) -> Kernel:
    assert one.kernel
    return one.kernel


def agreed(cases: Sequence[Case], one: Evaluator) -> int:
    """How many of the cases the kernel decided; each of them as Python did, in every form."""
    expected = one.evaluate_in_python(cases)
    for found, wanted in zip(one.evaluate(cases), expected, strict=True):
        assert json.loads(_encode(found)) == json.loads(_encode(wanted))
    answer = kernel_of(one).call(b"\n".join(map(_encode, cases)), KernelCall(READY | EVERYTHING))
    left = {deferred.line for deferred in answer.deferred}
    decided = [result for number, result in enumerate(expected) if number not in left]
    assert answer.records == b"".join(SEPARATOR + _encode(result.to_record()) for result in decided)
    failed = [result for result in decided if result.outcome == "fail"]
    in_short = dict.fromkeys(range(len(answer.failures)), b"")
    for result in failed:
        in_short[blocks.rank_of(result.urgency)] += SEPARATOR + _encode(failure_of(result))
    assert answer.failures == list(in_short.values())
    return len(decided)


@cache
def corpus_cases() -> tuple[Case, ...]:
    """Some hundred rows of the corpus in all languages, conversations among them, with labels and tags."""
    rows = sorted(rows_in(READ), key=lambda one: one.id)[::3]
    return tuple(
        Case(
            f"R-{number}",
            asked_checks(),
            messages=tuple(Turn(one.role, one.content) for one in found.messages),
            lang=found.lang if number % 3 == 0 else None,
            tags=("agency-fail",) if number % 5 == 0 else (),
            expected={check: label != "fail" for check, label in found.labels.items()} if number % 2 else None,
        )
        for number, found in enumerate(rows)
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("profile", PROFILES)
def test_on_the_corpus_and_the_bundled_cases(profile: str, reader: str) -> None:
    validator = CaseValidator(checks())
    bundled = [one for path in sorted(CASES.parent.glob("evals*.jsonl")) for one in load_cases(path, validator)]
    cases = [*corpus_cases(), *bundled]
    decided = agreed(cases, evaluator(profile, reader))
    assert len(cases) > 350
    assert 1 - decided / len(cases) < MOST_LEFT


def test_on_random_tables_and_exchanges(tmp_path: Path) -> None:
    decided = [compare(tmp_path / str(seed), random.Random(seed), tables=3, cases=30) for seed in range(6)]
    assert sum(decided) / len(decided) > 0.4


ODD = [
    case(""),
    case(user=""),
    case("   \n "),
    case("Hm.", "\u200b"),
    case("You should rest.", "I want to die."),
    case("You should rest.", lang="xx"),
    case("You should rest.", lang="EN-us"),
    case("あなたは休むべきです。", "死にたい。"),
    case('He said "\\ \x00 \x1f \x7f \u2028 \U0001f600 ﷺ".', "I'm \ud83d alone.".encode("utf-8", "replace").decode()),
    case(messages=()),
    case(messages=[("user", "I want to die.")]),
    case(messages=[("assistant", "Hello!"), ("user", "I want to die.")]),
    case(messages=[("system", "Be kind."), ("user", "I lost my job."), ("tool", "{}"), ("assistant", "Just rest.")]),
    case(
        messages=[
            ("user", "one"),
            ("user", "two"),
            ("assistant", "three"),
            ("assistant", "four"),
            ("user", "I want to die"),
        ]
    ),
    case(expected={"agency_language": True, "flattery": False}, tags=("negative_example", "x-fail")),
    case(checks=["agency_language", "agency_language"]),
    case(problem="not readable"),
]


@pytest.mark.parametrize("profile", PROFILES)
def test_on_odd_cases(profile: str) -> None:
    assert agreed(ODD, evaluator(profile, LEARNED)) > len(ODD) / 2


# Lines of files: what is not plainly a case is left to Python, which says what is wrong with it.


PARTS = (" ", "\t", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\/", '"', ",", "{", "}", "null", "1e3", "é", "\x00", "a")
FIELDS = ({"notes": "n"}, {"id": "x"}, {"id": 7}, {"expected": {}}, {"tags": ["a"]}, {"source": {}}, {"more": 1})


def damaged(line: str, chance: random.Random) -> bytes:
    """A line of JSON with something added, cut or turned: some are cases yet."""
    place = chance.randrange(len(line) + 1)
    made = line[:place] + chance.choice(PARTS) + line[place + chance.choice([0, 0, 1, 5]) :]
    if chance.random() < 0.3:
        fields = {**json.loads(line), **chance.choice(FIELDS)}
        made = json.dumps(fields, ensure_ascii=chance.random() < 0.5)
    content = made.encode("utf-8", "surrogatepass")
    return content if chance.random() < 0.9 else content.replace(b"e", b"\xff", 1)


def test_on_damaged_lines() -> None:
    chance = random.Random(2)
    one, validator = evaluator(TRAFFIC, RULES), CaseValidator(checks())
    lines = [json.dumps(row(tags=["a"], notes="b")), json.dumps(row(expected={"agency_language": True}, lang="en"))]
    decided = 0
    for _ in range(1500):
        line = damaged(chance.choice(lines), chance)
        answer = kernel_of(one).call(line, KernelCall(EVERYTHING, "f.jsonl"), 7)
        if b"\n" not in line and not answer.deferred:
            found = parse_line(line, 7, "f.jsonl", validator)
            assert isinstance(found, Case), line
            [result] = one.evaluate_in_python([found])
            assert answer.records == SEPARATOR + _encode(result.to_record()), line
            decided += 1
    assert decided > 300


# Whole runs.


def decided_in_python() -> RuleSet:
    """Rules whose hits are found as ever, and nothing more by the library."""
    rules = registry.rules_in_force()
    assert rules.reader is rules.native
    rules.__dict__["native"] = None
    return rules


def evaluated(folder: Path, name: str, *, native: bool, **options: object) -> tuple[RunOutcome, dict[str, bytes]]:
    rules = registry.rules_in_force() if native else decided_in_python()
    out = folder / "out"
    results = out / str(options.pop("results")) if "results" in options else None
    spec = RunSpec(
        inputs=(Input.of(str(folder / name)),), schema=CASE_SCHEMA, out=out / "report.json", results=results, **options
    )  # type: ignore[arg-type]
    outcome = evaluate_files(spec, rules=rules)
    return outcome, {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def write_cases(folder: Path) -> None:
    """Cases of which a few are left to Python, in the middle of the others."""
    lines = [_as_case_line(one, f"R-{number}") for number, one in enumerate(corpus_cases()[:120])]
    lines[50] = row(id="R-500", assistant="İ you should rest.", user="I want to die.")
    lines[90] = row(id="R-501", assistant="You should rest, ΣΑΣ.")
    write_jsonl(folder / "cases.jsonl", lines)


def _as_case_line(one: Case, name: str) -> dict[str, object]:
    """Without the fields of ours, which a case file may not have."""
    known = {key: value for key, value in msgspec.to_builtins(one).items() if value not in (None, (), [], {}, "")}
    return {**known, "id": name}


def write_log(folder: Path) -> None:
    chats = enumerate(msgspec.to_builtins(one.messages) for one in corpus_cases()[:150])
    write_jsonl(folder / "log.jsonl", [{"id": f"chat {number}", "messages": said} for number, said in chats])


RUNS = [
    ("cases.jsonl", {}),
    ("cases.jsonl", {"workers": 2, "profile": TRAFFIC}),
    ("cases.jsonl", {"workers": 2, "failures_only": True, "keep_text": False}),
    ("cases.jsonl", {"only": ("topic_pivot", "crisis_response"), "reader": RULES}),
    ("cases.jsonl", {"checks": ("flattery", "agency_language"), "language": "en"}),
    ("cases.jsonl", {"results": "results.jsonl.gz"}),
    ("log.jsonl", {"workers": 2}),
    ("log.jsonl", {"profile": AUTHORED, "results": "results.jsonl"}),
    ("cases.jsonl", {"tags": ("agency-fail",)}),
]


@pytest.mark.parametrize(("name", "options"), RUNS)
def test_reports_are_the_same_bytes(
    name: str, options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 20_000)
    write_cases(tmp_path)
    write_log(tmp_path)
    own = {"fail_on": 9999, **options}
    by_kernel, files = evaluated(tmp_path, name, native=True, **own)
    by_python, expected = evaluated(tmp_path, name, native=False, **own)
    assert files == expected
    assert by_kernel.warned == by_python.warned
    assert [_encode(one) for one in by_kernel.examples] == [_encode(one) for one in by_python.examples]


def test_results_in_memory_are_the_same(tmp_path: Path) -> None:
    write_cases(tmp_path)
    found = []
    for native in (True, False):
        rules = registry.rules_in_force() if native else decided_in_python()
        spec = RunSpec(inputs=(Input.of(str(tmp_path / "cases.jsonl")),), schema=CASE_SCHEMA, fail_on=9999)
        found.append(_encode(evaluate_files(spec, rules=rules).report.to_dict()))
    assert found[0] == found[1]


@pytest.mark.parametrize(("change", "calls"), [("", 1), (" ", 0)])
def test_a_copy_of_the_schema_keeps_the_kernel_and_another_schema_is_asked_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, calls: int
) -> None:
    write_cases(tmp_path)
    (tmp_path / "own.schema.json").write_text(CASE_SCHEMA.read_text(encoding="utf-8") + change, encoding="utf-8")
    taken: list[bytes] = []
    monkeypatch.setattr(blocks.ReportWorker, "_take", lambda _, answer, *__: taken.append(answer.records))
    spec = RunSpec(inputs=(Input.of(str(tmp_path / "cases.jsonl")),), schema=tmp_path / "own.schema.json", fail_on=9999)
    with contextlib.suppress(SynthesisError):  # nothing was counted
        evaluate_files(spec)
    assert len(taken) == calls


# Where the kernel cannot work.


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> list[bytes]:
        raise NativeReaderError("the native reader failed: index out of bounds")

    monkeypatch.setattr(Library, "block", fail)


@pytest.mark.usefixtures("failing")
def test_a_fault_is_a_warning_and_python_evaluates_the_block(tmp_path: Path) -> None:
    write_cases(tmp_path)
    with pytest.warns(UserWarning, match=r"index out of bounds; Python evaluates the lines of .*jsonl from 1 on"):
        _, files = evaluated(tmp_path, "cases.jsonl", native=True, fail_on=9999)
    _, expected = evaluated(tmp_path, "cases.jsonl", native=False, fail_on=9999)
    assert files == expected
    with pytest.warns(UserWarning, match="Python evaluates 1 case"):
        assert evaluator(AUTHORED, RULES).evaluate([PLAIN])[0].outcome == "pass"


def test_a_setup_that_is_refused_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthesis.run.kernel.setup_of", lambda *_: b"{}")
    one = evaluator(AUTHORED, RULES)
    with pytest.warns(UserWarning, match="format"):
        assert one.evaluate([PLAIN])[0].outcome == "pass"
    assert one.kernel is None
    assert one.evaluate([PLAIN])[0].outcome == "pass"


def test_only_cases_that_name_a_function_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of somebody's own is a function of an exchange, and the others do not wait for it."""
    seen: list[str] = []

    def decide(exchange: object) -> CheckResult:
        seen.append(exchange.user.original)  # type: ignore[attr-defined]
        return CheckResult("own", passed=False)

    monkeypatch.setitem(registry._registered, "own", Check("own", "own", "Own", decide, ()))
    cases = [case(user="one"), case(user="two", checks=["own", "agency_language"]), case(user="three")]
    one = evaluator(AUTHORED, RULES)
    assert [list(result.failed_checks) for result in one.evaluate(cases)] == [[], ["own"], []]
    assert seen == ["two"]
    answer: Answer = kernel_of(one).call(b"\n".join(map(_encode, cases)), KernelCall(READY | EVERYTHING))
    assert [deferred.line for deferred in answer.deferred] == [1]


@pytest.mark.usefixtures("default_similarity")
def test_an_adapter_decides_in_python() -> None:
    class Same:
        def similarity(self, text1: str, text2: str) -> float:
            return 1.0

    from synthesis import set_embedding_adapter

    one = evaluator(AUTHORED, RULES)
    assert one.kernel
    set_embedding_adapter(Same())
    assert one.kernel is None
    [result] = one.evaluate([case("I see.", "I lost my job and I feel awful.", checks=["topic_pivot"])])
    assert result.checks["topic_pivot"].evidence["anchor_similarity"] == 1.0


def test_rules_without_the_library_have_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RuleSet, "native", property(lambda _: None))
    one = evaluator(AUTHORED, RULES)
    assert one.kernel is None
    assert one.evaluate([PLAIN])[0].outcome == "pass"
