"""What a judged run comes to, first of all: told, passed, failed, needs a judge; and why each sample failed."""

import re

import msgspec
import pytest
from told_samples import ERROR, LIBRARY, claim, judged_run, records, told

from synthesis.report.judged.figures import tiles
from synthesis.report.judged.html import body, reason_of, render
from synthesis.report.judged.outcome import (
    claims_of,
    difference,
    gate_words,
    headline,
    how,
    in_quotes,
    outcome,
    weaknesses,
    why_untold,
)
from synthesis.report.judged.run import (
    FAILED,
    PASSED,
    STALE,
    UNTOLD,
    JudgedRun,
    SavedScore,
    compare_runs,
    last_figures,
    stability,
)
from synthesis.report.markdown import render_judged

RUN = judged_run(records())


def page_of(run: JudgedRun) -> str:
    return "".join(render(run))


def text_of(page: str) -> str:
    """What a person reads of a page."""
    return " ".join(re.sub(r"<[^>]+>", "", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)).split())


def changed(record: dict, **fields: object) -> dict:
    return {**record, **fields}


# One line of outcome.


def test_the_first_line_says_how_all_samples_ended() -> None:
    assert headline(RUN) == "7 of 10 samples told: 3 passed, 4 failed, 2 need a judge, 1 error"
    assert gate_words(RUN) == "3 of 10 pass, 30.0 % (faithfulness of 4 or more)"
    assert sum(outcome(RUN)[1:]) == outcome(RUN).total


def test_offline_faithfulness_alone_decides_who_passes() -> None:
    by_id = {sample.query_log_id: RUN.ending(sample) for sample in RUN.last.records}
    assert by_id["lends"] == PASSED  # completeness 2, which is not validated
    assert {by_id["cards"], by_id["care"]} == {UNTOLD}
    chat = judged_run([one for one in records() if not one.get("needsJudge")], judge="openai", model="m")
    assert [chat.ending(one) for one in chat.last.records if one.query_log_id == "lends"] == [FAILED]
    assert headline(chat) == "7 of 8 samples judged: 2 passed, 5 failed, 1 error"
    assert "faithfulness and completeness of 4 or more" in gate_words(chat)


def test_a_stale_verdict_is_none() -> None:
    run = judged_run(
        [changed(record, stale=True) if record["queryLogId"] == "built" else record for record in records()]
    )
    assert [sample.query_log_id for sample in run.ended(STALE)] == ["built"]
    assert "6 of 10 samples told: 2 passed, 4 failed, 2 need a judge, 1 stale: changed since, 1 error" in headline(run)
    assert "Stale: 1" in page_of(run)


def test_a_run_in_which_nothing_could_be_told_is_drawn() -> None:
    untold = [record for record in records() if record.get("needsJudge")]
    run = judged_run(untold, untold, errors=())
    assert headline(run) == "0 of 2 samples told offline: 0 passed, 0 failed, 2 need a judge"
    for text in (page_of(run), "".join(render_judged(run))):
        assert "ailed: 0" not in text
        assert "care" in text


# What the answer says and what the passage says instead.


@pytest.mark.parametrize(
    ("slot", "told_"),
    [
        (("time", "8 to 19", "9 to 17"), "The answer says “8 to 19”, passage 2 says “9 to 17” (time)."),
        (("entity", "Ann", "Ben"), "The answer says “Ann”, passage 2 says “Ben” (name)."),
        (("place in a row", "first", "third"), "The answer says “first”, passage 2 says “third” (rank)."),
        (("negation", "open", "closed"), "The answer says “open”, passage 2 says “closed” (the opposite)."),
        (("negation", "–", "not"), "The answer affirms what passage 2 denies: “not”."),
        (("negation", "never", "–"), "The answer denies what passage 2 affirms: “never”."),
        (("role", "A … B", "B … A"), "The answer says “A … B”, passage 2 says “B … A” (who does what)."),
        (("later", "a", "b"), "The answer says “a”, passage 2 says “b” (later)."),
        (None, "The answer contradicts passage 2."),
    ],
)
def test_a_contradiction_names_both_sides(slot: tuple[str, str, str] | None, told_: str) -> None:
    made = claim("It is so.", "It is so.", "contradicted", LIBRARY, "Food is not allowed inside.", slot=slot)
    [found] = judged_run([told("one", "?", "It is so.", LIBRARY, [made], (2, 2))]).last.records[0].claims
    assert in_quotes(difference(found)) == told_


def test_what_could_not_be_told_has_its_reason() -> None:
    cards, care = (claims_of(sample, "cannot tell")[0] for sample in RUN.ended(UNTOLD))
    assert why_untold(cards) == "says what the context does not say; not in the context: welcoming, quiet"
    assert why_untold(care) == "in words of its own"
    assert why_untold(msgspec.structs.replace(care, notes=())) == "nothing in the context decides it"


def test_the_worst_comes_first_and_empty_answers_last() -> None:
    assert [sample.query_log_id for sample in RUN.failed()] == ["pump", "food", "hours", "silent"]


# The page.


def test_the_page_has_one_order() -> None:
    page = page_of(RUN)
    places = [
        page.index(f'id="{name}"') for name in ("outcome", "failed", "untold", "errors", "figures", "how", "passed")
    ]
    assert places == sorted(places)
    assert page.count('<p class="headline">') == 1


def test_a_failing_sample_shows_claim_passage_quote_and_difference() -> None:
    page = page_of(RUN)
    card = page[page.index("When can I read there") : page.index("1 empty answer")]
    assert '<mark class="against">The reading room is open from </mark><strong><mark class="against">8 to 19' in card
    assert 'The answer says <strong class="bad"><bdi>8 to 19</bdi></strong>, passage 2 says' in card
    assert '<strong class="good"><bdi>9 to 17</bdi></strong> (time).' in card
    assert 'class="for">On weekdays the reading room is open from 9 to 17.</mark> On Saturdays' in card
    assert "✗ 1 contradicted" in card
    assert page.count('id="s3-claim1"') == 1


def test_markdown_of_answers_is_drawn_and_nothing_of_them_is_html() -> None:
    page = page_of(RUN)
    assert "<ul>\n<li>" in page.replace("<ul><li>", "<ul>\n<li>")
    assert '<div class="scroll"><table><thead><tr><th>what' in page
    assert "&lt;b&gt;Enjoy&lt;/b&gt;" in page
    assert "<b>Enjoy</b>" not in page
    assert "**" not in text_of(page)


def test_each_claim_has_its_sign_once_however_markdown_cuts_it() -> None:
    page = page_of(RUN)
    assert page.count('href="#s3-claim1"') == 1
    assert page.count('href="#s3-claim3"') == 1


def test_what_needs_a_judge_says_why_and_how_to_get_one() -> None:
    text = text_of(page_of(RUN))
    assert "Need a judge: 2 of 10" in text
    assert "give the same command with --escalate openai:MODEL: it asks about these samples alone." in text
    assert "“" not in text or "in words of its own" in text


def test_three_figures_are_large_and_coloured_by_good_and_bad() -> None:
    found = list(tiles(RUN, last_figures(RUN), outcome(RUN)))
    assert [(one.value, one.kind) for one in found] == [("30.0 %", "bad"), ("2.86", "bad"), ("2", "open")]
    good = judged_run([record for record in records() if record["queryLogId"] == "built"], errors=())
    assert [one.kind for one in tiles(good, last_figures(good), outcome(good))] == ["good", "good", "good"]
    chat = judged_run([records()[0]], judge="openai", model="m")
    assert len(list(tiles(chat, last_figures(chat), outcome(chat)))) == 3
    assert page_of(RUN).count("<dt>") - page_of(RUN).count('<dl class="corners">') * 4 == 3


def test_the_matrix_names_both_axes_and_leaves_out_what_has_no_score() -> None:
    page = page_of(RUN)
    assert 'class="axis">Faithfulness →</th>' in page
    assert 'class="axis"><span>Completeness (not validated) →</span></th>' in page
    assert "without 1 empty answer and 2 that need a judge" in page
    cells = re.findall(r'<td class="cell[^"]*">(\d*)</td>', page)
    assert sum(int(number) for number in cells if number) == 6


def test_what_the_judge_is_stands_there_once() -> None:
    page = page_of(judged_run(records(), records()))
    assert page.count("offline judge") == 1
    assert page.count("was not found to agree with people") == 1
    assert "1 sample that it could not tell was judged by openai:gpt-5-mini." in list(how(RUN))


def test_the_page_lists_weaknesses_with_counts_and_advice_and_no_strengths() -> None:
    [first, second] = map(str, weaknesses(RUN))
    assert first.startswith(
        "3 of 4 failed samples have a claim that the context contradicts (name 1, denial 1, number 1, time 1): "
    )
    assert second.startswith("1 of 4 failed samples has an empty answer: find out why")
    assert "strength" not in page_of(RUN).lower()


def test_reasons_of_earlier_runs_lose_what_every_reason_said() -> None:
    old = (
        "Offline judge: a comparison of words, not an understanding of them. 1 claim was compared with the context "
        "word by word; the mean support is 0.12. The answer is in its own words; people find 29% of answers with such "
        "figures fully supported where half of all answers are (4 needs 50%). 1 against the context."
    )
    assert reason_of(old) == (
        "1 claim was compared with the context word by word; the mean support is 0.12. 1 against the context."
    )


# Several iterations.


def test_a_judge_that_cannot_vary_has_no_agreement() -> None:
    for provider in ("offline", "replay"):
        run = judged_run(records(), records(), judge=provider, model="demo")
        assert stability(run) is None
        assert "alpha" not in page_of(run)
        assert "The iterations are alike" in page_of(run)
    chat = judged_run(records(), records(), judge="openai", model="m")
    assert "alpha" in page_of(chat)


def test_a_replay_that_varies_and_an_escalated_sample_that_varies_have_agreement() -> None:
    verdict = {axis: {"score": 1, "reasoning": ""} for axis in ("faithfulness", "completeness")}
    other = [
        changed(record, judgeVerdict=verdict, overallScore=1.0, passed=False)
        if record["queryLogId"] == "asked"
        else record
        for record in records()
    ]
    for provider in ("offline", "replay"):
        assert "alpha" in page_of(judged_run(records(), other, judge=provider))


# Two runs, and Markdown.


def test_samples_that_need_a_judge_are_compared_apart() -> None:
    after = [record for record in records() if record["queryLogId"] != "care"]
    after.append(changed(records()[5], queryLogId="care"))  # told now
    found = compare_runs(RUN, judged_run(after))
    assert found.in_both == 7
    assert set(found.untold) == {"cards", "care"}
    assert (found.newly_failing, found.newly_passing, found.only_before, found.only_after) == ((), (), (), ())
    assert found.difference is not None


def test_markdown_has_the_same_order_and_stays_escaped() -> None:
    text = "".join(render_judged(RUN))
    order = [
        "7 of 10 samples told",
        "#### Failed: 4",
        "Need a judge: 2",
        "<summary>1 error",
        "| figure |",
        "<sub>Judge: offline",
    ]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    assert "The answer says `8 to 19`, passage 2 says `9 to 17` (time)." in text
    assert "`--escalate openai:MODEL`" in text
    assert "<b>" not in text.replace("`Food is allowed inside. <b>", "")


def test_a_run_saved_without_texts_still_says_how_it_ended() -> None:
    bare = tuple(
        msgspec.structs.replace(
            sample,
            question=None,
            system_answer=None,
            judge_verdict={axis: SavedScore(said.score) for axis, said in sample.judge_verdict.items()},
            details={},
            flags=(),
        )
        for sample in RUN.last.records
    )
    run = msgspec.structs.replace(RUN, iterations=(msgspec.structs.replace(RUN.last, records=bare),))
    assert headline(run) == headline(RUN).replace("told", "told offline")
    assert ">pump</h3>" in body(run)
    assert "cannot be told" in text_of(page_of(run))
    assert str(weaknesses(run)[0]).startswith("4 of 4 failed samples have faithfulness below 4: ")


def test_errors_and_empty_runs_need_no_record() -> None:
    run = judged_run([], errors=(ERROR,))
    assert headline(run) == "0 of 1 sample told offline: 0 passed, 0 failed, 1 error"
    assert "Thai letters" in page_of(run)
