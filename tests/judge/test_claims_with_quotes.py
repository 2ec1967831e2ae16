"""`--detail claims`: what the judge says of each claim, and whether its quotes stand where it says."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import config_for, judge
from server import JudgeServer, good_content, says

from synthesis.errors import RunFolderError
from synthesis.judge.claims import Comparable, read_claims
from synthesis.judge.model import Course, Skill, TestCase
from synthesis.judge.replies import UnusableReplyError

PASSAGES = ("The library opens at nine.\nIt’s closed on Sundays.", "The café on the ground floor serves soup.")
ANSWER = "It opens at nine. The café serves cake."
CASE = TestCase("log-0", "When does it open, sample-0?", ANSWER, PASSAGES)


def claim(verdict="supported", passage=1, quote="opens at nine", words="It opens at nine.", text="It opens at nine"):
    return {"claim": text, "words": words, "verdict": verdict, "passage": passage, "quote": quote}


def reply(*claims):
    return json.dumps({"claims": list(claims), **json.loads(good_content("sample-0"))})


def checked(*claims):
    return read_claims(reply(*claims), ANSWER, PASSAGES)


def judged(tmp_path, *contents, case=CASE, **changes):
    with JudgeServer({"sample-0": [says(content) for content in contents]}) as server:
        return judge([case], config_for(server, tmp_path, detail="claims", **changes)), server


@pytest.mark.parametrize(
    "quote",
    ["opens at nine", "The library opens at nine. It's closed", '"Opens  at\nnine"', "it’s CLOSED on sundays."],
)
def test_a_verbatim_quote_is_found_at_its_place(quote):
    (found,) = checked(claim(quote=quote))
    start, end = found["quoteSpan"]
    assert found["quoteFound"] is True
    assert PASSAGES[0][start:end].lower().split() == quote.strip('"').replace("'", "’").lower().split()
    assert found["notes"] == []


@pytest.mark.parametrize(
    ("quote", "passage", "note"),
    [
        ("opens at ten", 1, "false quote: it does not stand in passage 1"),
        ("opens ... nine", 1, "false quote: it does not stand in passage 1"),
        ("serves soup", 1, "false quote: it does not stand in passage 1; it stands in passage 2"),
        ("opens at nine", 7, "false quote: it does not stand in passage 7; it stands in passage 1"),
        ("opens at nine", None, "false quote: it does not stand in a passage that it names; it stands in passage 1"),
        ("", 1, "the judge gives no quote"),
    ],
)
def test_a_quote_that_does_not_stand_there_is_marked(quote, passage, note):
    (found,) = checked(claim(quote=quote, passage=passage))
    assert (found["quoteFound"], found["notes"], found["evidence"]) == (False, [note], "")


def test_a_claim_that_was_not_found_needs_no_quote():
    (found,) = checked(claim("not found", None, "", "The café serves cake.", "Cake is served"))
    assert "quoteFound" not in found
    assert ANSWER[slice(*found["span"])] == "The café serves cake."


@given(st.text(min_size=1), st.text(), st.text())
def test_what_was_cut_from_a_text_is_found_in_it(quote, before, behind):
    place = Comparable(before + quote + behind).locate(quote)
    assert place is not None or not quote.strip()


def test_every_invented_quote_is_found_and_no_true_one(tmp_path):
    chance = random.Random(3)
    words = " ".join(PASSAGES).split()
    claims, invented = [], 0
    for number in range(100):
        passage = chance.randrange(2)
        if is_false := number % 3 == 0:
            quote = " ".join(chance.choice(words) for _ in range(5)) + " indeed"
        else:
            start = chance.randrange(len(PASSAGES[passage]) - 12)
            quote = PASSAGES[passage][start : start + 12]
        invented += is_false
        claims.append(claim(passage=passage + 1, quote=quote, text=f"claim {number}"))
    result, server = judged(tmp_path, reply(*claims))
    metrics = result.metrics[0]["claims"]
    assert (metrics["falseQuotes"]["numerator"], metrics["falseQuotes"]["denominator"]) == (invented, 100)
    assert [c["quoteFound"] for c in result.records[0][0]["details"]["claims"]] == [n % 3 != 0 for n in range(100)]
    assert len(server.calls) == 1


def test_claims_stand_in_records_metrics_and_pages(tmp_path):
    from synthesis.judge.results import read_run

    claims = (claim(), claim("contradicted", 2, "serves soup"), claim("not found", None, ""), claim(quote="no such"))
    result, server = judged(tmp_path, reply(*claims))
    metrics = result.metrics[0]["claims"]
    assert (metrics["total"], metrics["supported"], metrics["contradicted"], metrics["notFound"]) == (4, 2, 1, 1)
    assert metrics["unsupported"]["value"] == 0.5
    assert metrics["falseQuotes"]["value"] == pytest.approx(1 / 3)
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["required"][0] == "claims"
    assert "Quotes are checked" in server.bodies[0]["messages"][0]["content"]
    (sample,) = read_run(tmp_path / "run").last.records
    assert [found.support for found in sample.claims] == [1.0, 0.0, 0.0, 1.0]


def test_courses_are_quoted_as_the_judge_reads_them(tmp_path):
    course = Course("CS-1", "Cells", (Skill("microscopy", ("Focus a microscope",)),))
    case = TestCase("log-0", "Which, sample-0?", "CS-1 teaches microscopy.", (course,))
    result, _ = judged(tmp_path, reply(claim(quote="Focus a microscope")), case=case)
    assert result.records[0][0]["details"]["claims"][0]["quoteFound"] is True


@pytest.mark.parametrize(
    "content", [good_content("sample-0"), reply({"claim": "x"}), reply("x"), reply(claim("perhaps"))]
)
def test_a_reply_without_usable_claims_is_asked_for_once_more(tmp_path, content):
    with pytest.raises(UnusableReplyError):
        read_claims(content, ANSWER, PASSAGES)
    result, server = judged(tmp_path, content, reply(claim()))
    assert result.complete
    assert len(server.calls) == 2


def test_an_answer_without_claims_has_none(tmp_path):
    result, _ = judged(tmp_path, reply())
    assert result.complete
    assert "claims" not in result.metrics[0]


def test_asking_for_claims_makes_another_judge(tmp_path):
    result, _ = judged(tmp_path, reply(claim()))
    assert "detail=claims:" in result.run.judge.settings
    with JudgeServer() as server, pytest.raises(RunFolderError, match="another judge"):
        judge([CASE], config_for(server, tmp_path))


def test_the_handbook_shows_a_claim_as_it_is():
    import re
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "judge.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json claim.json\n(.*?)^```", page, re.M | re.S)
    said = claim(text="The library opens at nine")
    assert checked(said) == [json.loads(shown)]
