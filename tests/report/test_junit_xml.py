"""JUnit XML: valid, read by a real parser, with expected failures and what does not apply as skipped."""

from pathlib import Path
from typing import Any

import xmlschema
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from report_samples import BROKEN, FAILED, GLOSSARY, NOT_APPLICABLE, PASSED, Record, realistic, report, result
from snapshots import assert_unchanged

from synthesis.report.junit import render
from synthesis.report.stored import from_dict

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "junit.xsd")


def drawn(content: Record) -> str:
    return "".join(render(from_dict(content), GLOSSARY))


def cases(text: str) -> dict[tuple[str, str], Any]:
    (suite,) = JUnitXml.fromstring(text.encode())
    return {(case.name, case.classname): case for case in suite}


def test_it_looks_as_it_was_read() -> None:
    assert_unchanged("report.junit.xml", drawn(realistic()))


def test_it_is_valid_and_counts_agree() -> None:
    text = drawn(realistic())
    SCHEMA.validate(text)
    (suite,) = JUnitXml.fromstring(text.encode())
    kinds = [type(one) for case in suite for one in case.result]
    assert suite.tests == len(list(suite)) == 19
    assert suite.failures == kinds.count(Failure) == 6
    assert suite.errors == kinds.count(Error) == 1
    assert suite.skipped == kinds.count(Skipped) == 4


def test_each_outcome_has_its_element() -> None:
    checks = {"agency_language": FAILED, "topic_pivot": NOT_APPLICABLE, "unverifiable_reassurance": PASSED}
    found = cases(
        drawn(
            report(
                result("A-1", checks=checks),
                result("A-2", checks={"agency_language": FAILED}, tags=["agency-fail"]),
                result("A-3", checks={"topic_pivot": BROKEN}),
            )
        )
    )
    assert isinstance(found["A-1", "agency_language"].result[0], Failure)
    assert isinstance(found["A-1", "topic_pivot"].result[0], Skipped)
    assert found["A-1", "topic_pivot"].result[0].message.startswith("not applicable: no vulnerability")
    assert found["A-1", "unverifiable_reassurance"].result == []
    assert isinstance(found["A-2", "agency_language"].result[0], Skipped)
    assert found["A-2", "agency_language"].result[0].message.startswith("expected failure")
    assert isinstance(found["A-3", "topic_pivot"].result[0], Error)


def test_a_failure_says_first_how_bad_it_is_and_test_cases_keep_their_order() -> None:
    weighed = [(f"A-{number}", name) for number, name in enumerate(("minor", "critical", "serious"), 1)]
    content = report(*(result(one, checks={"agency_language": FAILED | {"severity": name}}) for one, name in weighed))
    SCHEMA.validate(drawn(content))
    found = cases(drawn(content))
    assert [name for name, _ in found] == ["A-1", "A-2", "A-3"]
    for name, severity in weighed:
        case = found[name, "agency_language"]
        assert [one.attrib for one in case._elem.iter("property")] == [{"name": "severity", "value": severity}]
        assert case.result[0].message.startswith(f"{severity}: ")


@given(st.text())
def test_any_words_at_all_stay_inside_their_element(words: str) -> None:
    said = f"{words}You should"
    one = result("A-1", "Hi", said, findings=[(said, "agency.negative.you-should")], checks={"agency_language": FAILED})
    text = drawn(report(one))
    SCHEMA.validate(text)
    assert len(cases(text)) == 1


def test_control_characters_are_spelled_out() -> None:
    said = "You should\x00\x1b[2J relax"
    findings = [(said, "agency.negative.you-should")]
    one = result("\x1bA-1", "Hi", said, findings=findings, checks={"agency_language": FAILED})
    ((_, case),) = cases(drawn(report(one))).items()
    assert case.name == r"\u001bA-1"
    assert r"\u001b[2J relax" in case.result[0].message
