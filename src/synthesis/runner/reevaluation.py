"""Two stored runs evaluated again under one set of rules, so that what differs is what was said."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from synthesis.checks.registry import rules_in_force
from synthesis.errors import InputError
from synthesis.model import Case, CaseResult, Turn
from synthesis.model.result import ERROR
from synthesis.report.compare import numbered
from synthesis.report.reading import StoredReport
from synthesis.report.verdicts import error_of
from synthesis.runner.evaluator import Evaluator
from synthesis.runner.run import BATCH, batches, run_conditions
from synthesis.settings import FORMER_PROFILES

Asked = Mapping[str, Sequence[str]]  # case -> its checks


def evaluator_of(report: StoredReport) -> Evaluator:
    """Today's version with the rules, the profile and the language that a report was made with."""
    options = report.header.get("options") or {}
    rules = rules_in_force(options.get("rules", ()), options.get("disable", ()))
    language = options.get("language")
    return Evaluator(rules, profile=profile_of(report), language=None if language == "auto" else language)


def profile_of(report: StoredReport) -> str:
    name: str = report.header["profile"]
    return FORMER_PROFILES.get(name, name)


def reevaluated(before: StoredReport, after: StoredReport, evaluator: Evaluator) -> tuple[StoredReport, StoredReport]:
    """Both reports with the verdicts of one evaluator; a case of both is asked the checks of the later one."""
    asked = {name: tuple(result.checks) for name, result in _named(after)}
    return _again(before, evaluator, asked), _again(after, evaluator, asked)


def _named(report: StoredReport) -> Iterator[tuple[str, CaseResult]]:
    return numbered((result.name, result) for result in report.results())


def stored_case(result: CaseResult, checks: Sequence[str] | None = None) -> Case:
    """The case behind a result; InputError where its texts were not stored."""
    asked = tuple(result.checks if checks is None else checks)
    if not result.has_texts and result.outcome == ERROR:  # a row that could not be read the first time either
        return Case(result.id, asked, source=result.source, problem=error_of(result))
    if not result.has_texts:
        raise InputError(
            "the runs cannot be evaluated again: the texts were not stored",
            hint="Evaluate the files again, without --no-text.",
        )
    return Case(
        result.id,
        asked,
        user=result.texts.get("user", ""),
        assistant=result.texts.get("assistant", ""),
        expected={name: label.expected for name, label in result.label_comparison.items()} or None,
        tags=result.tags,
        lang=result.language if result.languages.get("language_by") == "declared" else None,
        messages=msgspec.convert(result.texts.get("messages", ()), tuple[Turn, ...]),
        source=result.source,
    )


def _again(report: StoredReport, evaluator: Evaluator, asked: Asked) -> StoredReport:
    def results() -> Iterator[CaseResult]:
        cases = (stored_case(result, asked.get(name)) for name, result in _named(report))
        for batch in batches(cases, BATCH):
            yield from evaluator.evaluate(batch)

    header = report.header | run_conditions(evaluator.rules, evaluator.profile)
    # The figures of the summary are those of the first evaluation, so they go.
    return replace(report, header=header, summary={}, _results=results)
