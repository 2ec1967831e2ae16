"""Judged runs in the form of an offline judge that can say that it cannot tell, as a person would see them."""

from typing import Any

import msgspec

from synthesis.judge.claims import CheckedClaim, Comparable, with_passages
from synthesis.judge.metrics import failure_analysis, final_metrics, iteration_metrics
from synthesis.judge.model import AxisVerdict, TestCase, Verdict
from synthesis.judge.rubric import load_rubric
from synthesis.report.judged.run import Iteration, JudgedRun

Record = dict[str, Any]
RUBRIC = load_rubric("rag")
LIBRARY = [
    "The town library lends books to everyone with a card. Children get a card for free.",
    "On weekdays the reading room is open from 9 to 17. On Saturdays it closes at noon. Food is not allowed inside.",
]
PUMP = ["The pump runs for 14 hours on one charge.", "It was built in Turin in 1987 and must never be run dry."]


def claim(
    answer: str,
    text: str,
    verdict: str,
    passages: list[str],
    quote: str = "",
    *,
    slot: tuple[str, str, str] | None = None,
    unsupported: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Record:
    """A claim with its place in the answer, and its quote with the passage that has it."""
    found = [
        (number, span) for number, passage in enumerate(passages, 1) if (span := Comparable(passage).locate(quote))
    ]
    number, span = found[0] if quote and found else (None, None)
    checked = CheckedClaim(
        text,
        1.0 if verdict == "supported" else 0.0,
        quote,
        unsupported,
        notes,
        verdict,
        Comparable(answer).locate(text),
        number,
        quote,
        True if quote else None,
        span,
    ).as_detail()
    return checked | ({"slot": dict(zip(("kind", "claim", "source"), slot, strict=True))} if slot else {})


def told(
    name: str,
    question: str,
    answer: str,
    passages: list[str],
    claims: list[Record],
    scores: tuple[int | None, int | None],
    **details: Any,
) -> Record:
    """A record of the offline judge; without scores it needs a judge."""
    axes = zip(("faithfulness", "completeness"), scores, strict=True)
    known = None not in scores
    given = [score for score in scores if score is not None]
    found: Record = {
        "queryLogId": name,
        "question": question,
        "systemAnswer": answer,
        "judgeVerdict": {axis: {"score": score, "reasoning": f"Reason for {axis}."} for axis, score in axes},
        "overallScore": sum(given) / 2 if known else None,
        "passed": known and min(given) >= 4,
        "courseCount": len(passages),
        "tokenUsage": [],
    }
    if "judgedBy" not in details:
        found["faithfulnessPassed"] = given[0] >= 4 if known else None
        details = {"judge": "offline", **details} if known else details
    if not known:
        found["needsJudge"] = True
    return found | {"details": {**details, **with_passages(claims, passages)}}


def _hours() -> Record:
    answer = (
        "Yes, you can visit:\n\n* The reading room is open from **8 to 19** on weekdays.\n"
        "* On Saturdays it closes at noon.\n\n| what | price |\n| --- | --- |\n| card for children | free |"
    )
    return told(
        "hours",
        "When can I read there with my children?",
        answer,
        LIBRARY,
        [
            claim(answer, "The reading room is open from **8 to 19** on weekdays.", "contradicted", LIBRARY,
                  "On weekdays the reading room is open from 9 to 17.", slot=("time", "8 to 19", "9 to 17")),
            claim(answer, "On Saturdays it closes at noon.", "supported", LIBRARY, "On Saturdays it closes at noon."),
            claim(answer, "card for children | free", "supported", LIBRARY, "Children get a card for free."),
        ],
        (2, 4),
    )  # fmt: skip


def _food() -> Record:
    answer = "Food is allowed inside. <b>Enjoy</b> your stay."
    quote = "Food is not allowed inside."
    made = claim(answer, "Food is allowed inside.", "contradicted", LIBRARY, quote, slot=("negation", "–", "not"))
    return told("food", "May I eat in the reading room?", answer, LIBRARY, [made], (2, 3))


def _pump() -> Record:
    answer = "The pump runs for 20 hours on one charge. It was built in Milan in 1987."
    return told(
        "pump",
        "How long does the pump run?",
        answer,
        PUMP,
        [
            claim(answer, "The pump runs for 20 hours on one charge.", "contradicted", PUMP,
                  "The pump runs for 14 hours on one charge.", slot=("number", "20 hours", "14 hours")),
            claim(answer, "It was built in Milan in 1987.", "contradicted", PUMP,
                  "It was built in Turin in 1987", slot=("entity", "Milan", "Turin")),
        ],
        (1, 5),
    )  # fmt: skip


def _cards() -> Record:
    answer = "Children get a card for free. Parents will find the place welcoming and quiet."
    return told(
        "cards",
        "What does a card cost for children?",
        answer,
        LIBRARY,
        [
            claim(answer, "Children get a card for free.", "supported", LIBRARY, "Children get a card for free."),
            claim(answer, "Parents will find the place welcoming and quiet.", "cannot tell", LIBRARY,
                  unsupported=("welcoming", "quiet"), notes=("says what the context does not say",)),
        ],
        (None, None),
    )  # fmt: skip


def _care() -> Record:
    answer = "Keep some liquid in it at all times."
    made = claim(answer, answer, "cannot tell", PUMP, notes=("in words of its own",))
    return told("care", "How do I care for the pump?", answer, PUMP, [made], (None, None))


def _lends() -> Record:
    answer = "The town library lends books to everyone with a card."
    made = claim(answer, answer, "supported", LIBRARY, answer)
    return told("lends", "Who may borrow books?", answer, LIBRARY, [made], (5, 2))


def _built() -> Record:
    answer = "It was built in Turin in 1987."
    made = claim(answer, answer, "supported", PUMP, "It was built in Turin in 1987")
    return told("built", "Where was the pump built?", answer, PUMP, [made], (5, 5))


def _asked() -> Record:
    """One that could not be told, and that a model was asked about."""
    answer = "It lasts well over half a day."
    made = claim(answer, answer, "supported", PUMP, "The pump runs for 14 hours on one charge.")
    return told("asked", "Does the pump last a morning?", answer, PUMP, [made], (4, 4), judgedBy="openai:gpt-5-mini")


def _empty() -> Record:
    found = told("silent", "Is there parking?", "", LIBRARY, [], (1, 1))
    return {**found, "flags": ["empty answer"], "details": {}}


ERROR: Record = {
    "queryLogId": "lost",
    "hash": "0" * 64,
    "question": "Is the library open today?",
    "reason": "the answer is in Thai letters and the context in Latin ones",
    "calls": 0,
    "failedAt": "2025-01-01T00:00:00.000Z",
    "tokenUsage": [],
}


def records() -> list[Record]:
    """Told: two pass, one passes by a model, four fail (one of them empty); two need a judge."""
    return [_lends(), _cards(), _hours(), _food(), _care(), _built(), _pump(), _asked(), _empty()]


def judged_run(
    *iterations: list[Record], judge: str = "offline", model: str = "offline-3", errors: tuple[Record, ...] = (ERROR,)
) -> JudgedRun:
    """The records of each iteration as reports see them."""
    found = [_iteration(number, one, judge, errors) for number, one in enumerate(iterations, 1)]
    final = final_metrics([one.metrics for one in found], iterations, RUBRIC, timestamp="")
    axes = tuple((axis.name, axis.pass_at) for axis in RUBRIC.axes)
    return JudgedRun("library", f"{judge} ({model})", "rag", axes, tuple(found), final, None)


def _iteration(number: int, judged: list[Record], judge: str, errors: tuple[Record, ...]) -> Iteration:
    total = len(judged) + len(errors)
    counts = {"total": total, "errors": len(errors), "not_judged": 0, "stale": 0}
    metrics = iteration_metrics(judged, RUBRIC, iteration=number, timestamp="", **counts)
    analysis = failure_analysis(judged, RUBRIC, judge)
    parts = {"number": number, "metrics": metrics, "cost": {"totalCost": None}, "analysis": analysis}
    return msgspec.convert({**parts, "records": judged, "errors": errors}, Iteration)


# The same through the whole run: `monkeypatch.setattr(clients.LocalJudge, "judge", judged_by_record)`.


SAMPLES = {record["queryLogId"]: record for record in records()}
CASES = [
    TestCase(name, record["question"], record["systemAnswer"], tuple(PUMP if "pump" in record["question"] else LIBRARY))
    for name, record in SAMPLES.items()
]


async def judged_by_record(_judge: Any, case: TestCase, _calls: Any) -> Verdict:
    """What the record of the sample says."""
    record = SAMPLES[case.query_log_id]
    axes = {axis: AxisVerdict(said["score"], said["reasoning"]) for axis, said in record["judgeVerdict"].items()}
    return Verdict(axes, details=record["details"])
