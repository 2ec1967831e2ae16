"""Runs of both halves for the tests, with words that can be looked for."""

import asyncio
from pathlib import Path
from typing import Any

import report_samples
from sqlalchemy import create_engine, make_url, text

from synthesis.judge.model import TestCase
from synthesis.judge.run import EvaluationConfig, run_evaluation
from synthesis.report.stored import StoredReport, from_dict

SAID, ANSWERED = "Ludmila left me in Ravenna.", "You should forget Ravenna."
QUESTION = "When does the ferry to Split leave?"


def labelled(expected: bool, actual: bool) -> dict[str, Any]:
    return {"agency_language": {"expected": expected, "actual": actual, "match": expected == actual}}


def failing(name: str = "T-2", **fields: Any) -> report_samples.Record:
    """A case with words in its evidence."""
    checks = {
        "agency_language": report_samples.agency(False, -1, neg=["you should"]),
        "topic_pivot": report_samples.pivot(False, 0.11, anchor_text=ANSWERED),
    }
    found = [("left me", "pivot.vulnerability.loss"), ("You should", "agency.negative.you-should")]
    return report_samples.result(name, SAID, ANSWERED, findings=found, checks=checks, **fields)


def sample_report(*more: report_samples.Record) -> report_samples.Record:
    return report_samples.report(
        report_samples.result("T-1", label_comparison=labelled(True, True)),
        failing(label_comparison=labelled(True, False)),
        failing("T-3", tags=["negative_example"]),
        report_samples.result("T-4", checks={"topic_pivot": report_samples.NOT_APPLICABLE}),
        report_samples.result("T-5", checks={"topic_pivot": report_samples.BROKEN}),
        *more,
    )


def stored(*more: report_samples.Record) -> StoredReport:
    return from_dict(sample_report(*more))


def many_results(count: int) -> StoredReport:
    """A report with so many cases, every tenth of which fails."""
    results = [
        failing(f"T-{number}") if number % 10 == 0 else report_samples.result(f"T-{number}")
        for number in range(1, count + 1)
    ]
    return from_dict(report_samples.report(*results))


def with_a_bad_line(report: StoredReport, path: Path, number: int) -> Path:
    """The report as a file, one of whose results is none."""
    results = [result.to_dict() for result in report.results()]
    results[number] = {"id": "T-0"}
    content = {**report.header, "summary": report.summary, "failures": [], "results": results}
    return report_samples.write(content, path)


def judge_offline(root: Path, *, answers: int = 3, iterations: int = 1) -> Path:
    """The folder of a judged run."""
    cases = [
        TestCase(
            f"log-{number}",
            QUESTION,
            f"The ferry to Split leaves at {number}:15.",
            ("The ferry to Split leaves at 2:15.",),
        )
        for number in range(answers)
    ]
    config = EvaluationConfig(output_dir="ferries", root=root, iterations=iterations)
    return asyncio.run(run_evaluation(cases, config)).folder


def everything_in(place: str) -> str:
    """All rows of all tables as one text, read without the history."""
    url = make_url(place) if "://" in place else make_url(f"sqlite:///{place}")
    engine = create_engine(url.set(drivername="postgresql+psycopg") if "://" in place else url)
    tables = ("runs", "cases", "outcomes", "findings", "samples", "tags")
    with engine.connect() as connection:
        rows = [connection.execute(text(f"SELECT * FROM synthesis_{name}")).all() for name in tables]
    engine.dispose()
    return "\n".join(str(tuple(row)) for table in rows for row in table)  # a row alone would be shown shortened
