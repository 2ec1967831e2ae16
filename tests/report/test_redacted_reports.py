"""A report to share holds nobody's words, whichever field they were in."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from report_samples import GLOSSARY, Record, agency, found, pivot, realistic, reassurance, report, result

from synthesis.io import REPORT_SCHEMA
from synthesis.report.formats import FORMATS
from synthesis.report.stored import from_dict, redacted

SECRET = "xylophone"


def telling() -> Record:
    """A secret in every place where evaluated words can stand."""
    said = f"You should {SECRET}"
    one = result("A-1", f"My {SECRET} left me", said, tags=["kept"])
    one["checks"] = {
        "agency_language": agency(False, -1, neg=["you should"]),
        "topic_pivot": pivot(False, 0.1, anchor_text=SECRET, vuln_hits=[SECRET], turns=[pivot(True, 0.5, x=SECRET)]),
        "unverifiable_reassurance": reassurance(SECRET),
        "a_plugin": {"pass": False, "reason": SECRET, "neg_hits": [SECRET], "deep": {"er": [{"st": SECRET}]}},
        "broken": {"pass": None, "error": f"ValueError: {SECRET}"},
    }
    one["findings"] = [found(said, said, "agency.negative.you-should")]
    one["notes"] = SECRET
    two = result("A-2")
    del two["user"], two["assistant"]
    two["messages"] = [{"role": "assistant", "content": SECRET}]
    return report(one, two)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_word_is_left_in_any_format(name: str) -> None:
    text = "".join(FORMATS[name].render(redacted(from_dict(telling())), GLOSSARY))
    assert SECRET not in text


def test_rules_verdicts_and_places_are_kept() -> None:
    stored = redacted(from_dict(telling()))
    one = next(stored.results()).to_dict()
    assert one["findings"][0]["rule"] == "agency.negative.you-should"
    assert one["findings"][0]["text"] == "[20 characters]"
    assert one["assistant"] == "[20 characters]"
    kept = telling()["results"][0]["checks"]["agency_language"]
    assert one["checks"]["agency_language"] == {**kept, "neg_hits": ["[10 characters]"]}
    assert one["checks"]["topic_pivot"]["pass_strength"] == "clear_fail"
    assert one["checks"]["broken"]["error"] == "ValueError"
    assert one["tags"] == ["kept"]
    assert stored.header["redacted"] is True
    assert stored.summary == telling()["summary"]


def test_a_redacted_report_still_fits_the_schema() -> None:
    schema: Any = json.loads(Path(REPORT_SCHEMA).read_text(encoding="utf-8"))
    text = "".join(FORMATS["json"].render(redacted(from_dict(realistic())), GLOSSARY))
    jsonschema_rs.validator_for(schema).validate(json.loads(text))
