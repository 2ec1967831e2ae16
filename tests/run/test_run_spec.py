"""One object says what a run is: contradictions are refused, and what may be resumed follows from its fields."""

from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from helpers import row, write_jsonl

from synthesis import set_embedding_adapter
from synthesis.errors import OptionError
from synthesis.read.inputs import Input
from synthesis.run.engines import RAY
from synthesis.run.files import evaluate_files
from synthesis.run.spec import NO_EFFECT, RunSpec

# Another value than the default for every field that a verdict can depend on.
OTHER: dict[str, Any] = {
    "checks": ("topic_pivot",),
    "columns": {"user": "prompt"},
    "sort": True,
    "on_bad_row": "stop",
    "tags": ("a",),
    "ids": ("T-1",),
    "only": ("topic_pivot",),
    "sample": 3,
    "seed": 1,
    "limit": 2,
    "profile": "traffic",
    "language": "fr",
    "max_line": 1000,
    "keep": ("model",),
    "failures_only": True,
    "facts": ("app",),
    "as_log": True,
}


def spec(**changes: Any) -> RunSpec:
    return RunSpec(**{"inputs": (), "table": Path("verdicts"), **changes})


def test_every_field_without_the_mark_is_a_condition_of_resuming() -> None:
    hints = get_type_hints(RunSpec, include_extras=True)
    unmarked = {name for name, hint in hints.items() if NO_EFFECT not in getattr(hint, "__metadata__", ())}
    assert unmarked == OTHER.keys()


@pytest.mark.parametrize("name", OTHER)
def test_another_value_is_another_condition(name: str) -> None:
    assert spec(**{name: OTHER[name]}).conditions() != spec().conditions()


def test_the_content_of_the_schema_is_a_condition_and_its_path_is_not(tmp_path: Path) -> None:
    schemas = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for path, content in zip(schemas, ("{}", "{}", '{"type": "object"}'), strict=True):
        path.write_text(content)
    same, also, other = (spec(schema=path).conditions() for path in schemas)
    assert same == also
    assert same != other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checks": ("nonsense",)}, "no check is called 'nonsense'"),
        ({"profile": "nonsense"}, "there is no profile 'nonsense'"),
        ({"engine": "steam"}, "there is no engine 'steam'"),
        ({"on_bad_row": "cry"}, "on-bad-row must be 'stop' or 'error'"),
        ({"language": "tlh"}, "there are no rules for the language 'tlh'"),
        ({"fail_on": -1}, "'-1' is not a possible number of failures"),
        ({"table": None, "keep": ("model",)}, "--keep needs --out-table"),
        ({"table": None, "results": Path("r.jsonl")}, "--results needs a report"),
        ({"out": Path("o.json"), "results": Path("r.jsonl")}, "--results cannot be combined with --out-table"),
        ({"out": Path("o.json"), "results": Path("r.txt")}, "unknown ending"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        spec(**changes)


def test_a_language_is_kept_in_its_short_form() -> None:
    assert [spec(language=code).language for code in ("en-GB", "auto", None)] == ["en", None, None]


def test_paths_and_workers_do_not_show_in_the_report(tmp_path: Path) -> None:
    """Two runs over the same cases are the same run, wherever they write."""
    cases = write_jsonl(tmp_path / "cases.jsonl", [row()])
    first = RunSpec(inputs=(Input.of(cases, "cases.jsonl"),), out=tmp_path / "a.json")
    evaluate_files(first)
    evaluate_files(msgspec.structs.replace(first, out=tmp_path / "deep" / "b.json", workers=2))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "deep" / "b.json").read_bytes()


@pytest.mark.usefixtures("default_similarity")
def test_a_similarity_of_this_process_is_not_lost_in_another(tmp_path: Path) -> None:
    class Same:
        def similarity(self, text1: str, text2: str) -> float:
            return 1.0

    set_embedding_adapter(Same())
    cases = Input.of(write_jsonl(tmp_path / "cases.jsonl", [row()]))
    with pytest.raises(OptionError, match="this process only"):
        evaluate_files(RunSpec(inputs=(cases,), engine=RAY))
    assert evaluate_files(RunSpec(inputs=(cases,), workers=2)).report.conditions["similarity"] == "Same"


def test_cases_and_a_log_in_one_run_are_refused_by_name_with_what_to_do(tmp_path: Path) -> None:
    cases = write_jsonl(tmp_path / "cases.jsonl", [row()])
    log = write_jsonl(tmp_path / "log.jsonl", [{"user": "Hello.", "assistant": "Good morning."}])
    with pytest.raises(OptionError, match=r"cases\.jsonl holds cases and .*log\.jsonl is a log") as refused:
        evaluate_files(RunSpec(inputs=(Input.of(log), Input.of(cases))))
    assert "in two runs" in str(refused.value.hint)
    assert "--profile" in str(refused.value.hint)
    together = evaluate_files(RunSpec(inputs=(Input.of(log), Input.of(cases)), profile="traffic"))
    assert together.report.summary["cases"] == 2
