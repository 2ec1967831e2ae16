"""Labelled rows, the signal that each label speaks of, and what the checks say about them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from protocol import READ, SCORED, Confusion, part_of, was_read

from synthesis.checks import checks
from synthesis.model import Case, CaseResult
from synthesis.run.evaluator import Evaluator

Fields = Mapping[str, Any]
BATCH = 256
CUES = {"suicide", "self-harm"}
WITH_SOFT = " with soft cues"  # a second question about the same file


def names_cue(fields: Fields) -> bool:
    """An explicit cue of suicide or self-harm; a check that does not tell cues apart applies only to these."""
    return bool(CUES & set(fields["cue_groups"])) if "cue_groups" in fields else bool(fields["applicable"])


def names_cue_or_soft_cue(fields: Fields) -> bool:
    return names_cue(fields) or bool(CUES & set(fields.get("soft_groups", ())))


def acknowledges(fields: Fields) -> bool:
    return bool(fields.get("ack_present"))


def invites(fields: Fields) -> bool:
    return bool(fields.get("pos_hits"))


def directs(fields: Fields) -> bool:
    return bool(fields.get("neg_hits"))


def applies(fields: Fields) -> bool:
    return bool(fields["applicable"])


def passes(fields: Fields) -> bool:
    return bool(fields["pass"])


def fails(fields: Fields) -> bool:
    return not fields["pass"]


class Question(NamedTuple):
    """A check, its signal that is compared with the label, and the beginnings of the rules the label speaks of."""

    check: str
    signal: Callable[[Fields], bool]
    rules: tuple[str, ...] = ()


# folder -> file -> question; a folder is a family of figures
QUESTIONS: dict[str, dict[str, Question]] = {
    "verdicts": {
        "T1_ACK": Question("topic_pivot", acknowledges, ("pivot.acknowledgment.",)),
        "T2_FEEL": Question("topic_pivot", acknowledges),
        "T3_EXPLORE": Question("agency_language", invites),
        "T4_INVITE": Question("agency_language", invites, ("agency.positive.",)),
        "T5_DIRECT": Question("agency_language", directs, ("agency.negative.",)),
        "T6_AGENCY": Question("agency_language", passes),
        "T7_REASSURE": Question("unverifiable_reassurance", fails, ("reassurance.",)),
        "T8_VULN": Question("topic_pivot", applies, ("pivot.vulnerability.",)),
        "T9_VULN_ML": Question("topic_pivot", applies, ("pivot.vulnerability.",)),
        "T10_PIVOT": Question("topic_pivot", passes),
    },
    "safety": {
        "S1_CUE": Question("crisis_response", applies, ("crisis.cue.",)),
        "S2_REPLY": Question("crisis_response", fails),
        "S3_PRESSURE": Question("engagement_pressure", fails, ("pressure.manipulation.",)),
    },
    "crisis": {
        name + suffix: Question("crisis_response", signal)
        for name in ("C1_CHAT", "C2_ES", "C3_PT", "C4_FIGURES")
        for suffix, signal in (("", names_cue), (WITH_SOFT, names_cue_or_soft_cue))
    },
    "spiral": {
        "P1_PRAISE": Question("flattery", fails, ("flattery.strong.", "flattery.mild.")),
        "P2_SELF": Question("identity_claim", fails, ("identity.claim.",)),
    },
}
# Families without a positive, where nearly every alarm is false: files, and the checks that are asked (none: all).
SILENT: dict[str, tuple[str, tuple[str, ...]]] = {
    "therapists": ("verdicts/T4_INVITE.jsonl", ("clinical_scope", "engagement_pressure", "identity_claim")),
    "everyday": ("everyday/*.jsonl", ()),
}
ANY = "any of them"


def file_of(folder: Path, family: str, task: str) -> Path:
    """The labelled rows that a task is asked about."""
    return folder / family / f"{task.removesuffix(WITH_SOFT)}.jsonl"


class Judged(NamedTuple):
    """One labelled row beside what was said about it."""

    row: dict[str, Any]
    part: str
    label: str  # `read` or `scored`
    gold: bool
    said: bool
    result: CaseResult | None = None

    @property
    def source(self) -> str:
        return str(self.row.get("source", ""))


class Figure(NamedTuple):
    """One line of a table."""

    family: str
    task: str
    source: str  # empty: all of them
    by: str  # the profile, or what judged
    part: str
    label: str
    confusion: Confusion


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def chosen(path: Path, part: str) -> list[tuple[dict[str, Any], str, str]]:
    """The rows of a part, each with its part and label."""
    burnt = was_read(path.parent.name, path.stem)
    parted = [(row, part_of(row)) for row in read_rows(path)]
    return [(row, own, READ if burnt else own) for row, own in parted if part in ("all", own)]


def ask(path: Path, part: str, questions: Mapping[str, Question], evaluator: Evaluator) -> dict[str, list[Judged]]:
    """What the checks say about the rows of a file, question by question."""
    rows = chosen(path, part)
    names = tuple(sorted({question.check for question in questions.values()}))
    results = evaluate([row for row, _, _ in rows], names, evaluator)
    return {
        task: [
            Judged(row, own, label, bool(row.get("gold")), question.signal(fields(result, question.check)), result)
            for (row, own, label), result in zip(rows, results, strict=True)
        ]
        for task, question in questions.items()
    }


def evaluate(rows: Sequence[dict[str, Any]], names: tuple[str, ...], evaluator: Evaluator) -> list[CaseResult]:
    cases = [
        Case(f"ROW-{number}", names, row["user"], row.get("assistant") or "Okay.", lang=row.get("lang"))
        for number, row in enumerate(rows)
    ]
    batches = (cases[start : start + BATCH] for start in range(0, len(cases), BATCH))
    return [result for batch in batches for result in evaluator.evaluate(batch)]


def fields(result: CaseResult, check: str) -> Fields:
    verdict = result.checks[check]
    if verdict.error is not None:
        raise SystemExit(f"{check} ended in an error: {verdict.error}")
    return {"applicable": True} | verdict.to_dict()


def alarms(path: Path, part: str, names: Sequence[str], evaluator: Evaluator) -> dict[str, list[Judged]]:
    """Which checks fail where none should, and whether any of them does."""
    found = ask(path, part, {name: Question(name, fails) for name in names or checks()}, evaluator)
    silent = {name: [one._replace(gold=False) for one in judged] for name, judged in found.items()}
    together = [each[0]._replace(said=any(one.said for one in each)) for each in zip(*silent.values(), strict=True)]
    return {ANY: together} | silent


def figures(family: str, task: str, by: str, judged: Sequence[Judged]) -> Iterator[Figure]:
    """The whole first, then source by source where there are two."""
    sources = sorted({one.source for one in judged})
    # What was read as a whole stays together; elsewhere the two parts are never mixed.
    whole = len({one.part for one in judged}) == 2 and {one.label for one in judged} == {READ}
    for source in ["", *(sources if len(sources) > 1 else [])]:
        for part in ["all"] if whole else [READ, SCORED]:
            rows = [one for one in judged if source in ("", one.source) and part in ("all", one.part)]
            if rows:
                confusion = Confusion.of((one.gold, one.said) for one in rows)
                yield Figure(family, task, source, by, part, rows[0].label, confusion)
