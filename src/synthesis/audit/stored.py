"""Audits of stored results (a report, a file of results, a table of verdicts, a saved run), and samples to label."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from synthesis.audit.counting import AuditCounts, AuditOptions, AuditTally, NoticeReader, outcome_only
from synthesis.audit.document import percent
from synthesis.checks.registry import checks, rules_in_force
from synthesis.errors import InputError, MissingExtraError, OptionError, Place
from synthesis.labels import FIELD, Estimate, LabelSummary, QuestionFigures, RunSampling, question_text
from synthesis.model import Case, CaseResult, CheckResult, Finding, Source, Turn
from synthesis.model.report import Report
from synthesis.read.cases import CaseValidator
from synthesis.read.lines import MOST_LINE, opened
from synthesis.read.rows import LogOptions, with_facts
from synthesis.report.findings import count
from synthesis.report.stored import StoredReport, find_layout, from_lines, open_report
from synthesis.run.tally import Tally, failures_of, run_conditions
from synthesis.settings import TRAFFIC
from synthesis.stats import Agreement

if TYPE_CHECKING:
    from synthesis.history.store import History


def sample_report(counts: AuditCounts) -> Report | None:
    """The sampled conversations as a report to save and label; it says how each one was drawn."""
    drawn = counts.tally.sample
    if drawn is None:
        return None
    rows = drawn.rows()
    # Two rows may have the same id, and a run has each id once.
    seen: Counter[str] = Counter()
    results = tuple(_named(row.item, seen) for row in rows)
    tally = Tally()
    for result in results:
        tally.add(result)
    sampling = msgspec.to_builtins(RunSampling.of_rows(rows, drawn.seed))
    given = counts.conditions["input"]
    files = {"files": ["sample"], **given} if isinstance(given, Mapping) else given
    conditions = {**counts.conditions, "input": files, "options": {"sample": drawn.size, "seed": drawn.seed}}
    return Report({**conditions, FIELD: sampling}, tally.to_dict(), failures_of(results), results)


def _named(result: CaseResult, seen: Counter[str]) -> CaseResult:
    seen[result.id] += 1
    again = seen[result.id]
    return result if again == 1 else msgspec.structs.replace(result, id=f"{result.id} ({again})")


def own_labels(history: "History", run_id: str) -> dict[str, Any]:
    """What the labels of a drawn sample say about all rows: how many, by how many people, with which agreement."""
    labels = history.labels(run_id)
    sampling = labels.sampling
    if sampling is None:
        raise OptionError(
            f"the run {run_id} is not a drawn sample: its labels say nothing about other rows",
            hint="Draw one with `synthesis audit LOGS --sample 200` and save it with its texts.",
        )
    summary = labels.summary()
    figures = [_figures(each) for each in summary.questions if each.cases]
    drawn_from = labels.run.conditions.get("input", {}).get("sha256")
    return {"sentence": _sentence(summary, len(sampling.rows)), "drawn_from": drawn_from, "checks": figures}


def _figures(question: QuestionFigures) -> dict[str, Any]:
    """The figures of a check, or of the question about a crisis cue (`crisis_cue`), in words."""
    unknown = Estimate(None, reason="nothing was asked about the drawn rows")
    found = question.recall or unknown
    return {
        "check": question.question,
        "question": question_text(question.question),
        "labels": question.cases,
        "rate": _estimate(question.rate or unknown),
        "precision": _estimate(question.precision or unknown),
        "recall": _estimate(found) + _missed(found),
        "agreement": _agreement(question.agreement),
    }


def _estimate(found: Estimate) -> str:
    if found.value is None or found.interval is None:
        return f"unknown: {found.reason}"
    low, high = found.interval
    return f"{percent(found.value)} ({percent(low)} to {percent(high)})"


def _missed(found: Estimate) -> str:
    if found.missed_at_most is None:
        return ""
    return f"; at most {percent(found.missed_at_most)} of all conversations are missed"


def _agreement(found: Agreement) -> str:
    return found.reason if found.alpha is None else f"alpha {found.alpha:.2f}"


def _sentence(summary: LabelSummary, drawn: int) -> str:
    people = count(summary.people, "person") if summary.people == 1 else f"{summary.people:,} people"
    unverified = f", {summary.unverified:,} of them unverified" if summary.unverified else ""
    return (
        f"{count(summary.labels, 'label')} by {people}{unverified}, on {drawn:,} sampled conversations. Rates are per "
        "conversation, weighted by the probability of being drawn, with 95 % intervals."
    )


# Stored results.


LOG, REPORT, RESULTS, TABLE = "log", "report", "results", "table"
_ELSEWHERE = "unknown: the results do not say"


def kind_of(path: Path) -> str:
    """What a path holds: conversations, or results of them."""
    if path.is_dir():
        return TABLE if any(map(_is_table, sorted(path.glob("*.parquet"))[:1])) else LOG
    if path.suffix == ".parquet" and path.is_file():
        return TABLE if _is_table(path) else LOG
    if path.suffix == ".json" and path.is_file():
        layout = find_layout(path)
        return REPORT if layout and "summary" in layout.header else LOG
    if path.name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")) and path.is_file():
        return RESULTS if _holds_results(path) else LOG
    return LOG


def kind_of_all(paths: Iterable[Path]) -> str:
    kinds = {kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise OptionError(
            f"the files are of several kinds ({', '.join(sorted(kinds))})",
            hint="Audit logs and stored results separately.",
        )
    return kinds.pop()


def _holds_results(path: Path) -> bool:
    try:
        with opened(path) as file:
            first = msgspec.json.decode(file.readline(MOST_LINE))
    except (InputError, OSError, EOFError, ValueError, RecursionError):  # which reading it as a log reports
        return False
    return isinstance(first, dict) and "outcome" in first and isinstance(first.get("checks"), dict)


def _is_table(path: Path) -> bool:
    return {"outcome", "findings", "timelines"} <= {*_parquet(path).schema_arrow.names}


def _parquet(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("parquet", "reading Parquet files") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        hint = "It may be incomplete. Write it again, or leave it out."
        raise InputError(f"is not a readable Parquet file: {reason}", place=Place(str(path)), hint=hint) from None


def audit_stored(paths: Iterable[Path], kind: str, columns: Mapping[str, str], options: AuditOptions) -> AuditCounts:
    """Count what stored results say."""
    paths = list(paths)
    if kind == REPORT:
        return audit_report([open_report(path) for path in paths], options, paths)
    log = LogOptions(CaseValidator(checks()), columns=dict(columns), facts=options.by)
    if kind == TABLE:
        return _counted(_table_rows(paths, log), _conditions(), options, [])
    found = (_pair(result) for path in paths for result in from_lines(path))
    return _counted(found, _conditions(), options, [])


def audit_report(reports: Iterable[StoredReport], options: AuditOptions, paths: Iterable[Path] = ()) -> AuditCounts:
    """The same for reports, which hold their conditions; a table that a report names is read."""
    stored, places = list(reports), list(paths)
    header = stored[0].header
    if any(each.header["rules"]["hash"] != header["rules"]["hash"] for each in stored):
        raise OptionError("the reports were made by different rules", hint="Audit them separately.")
    if any(each.header.get("reader") != header.get("reader") for each in stored):
        raise OptionError("the reports were made by different readers", hint="Audit them separately.")
    inputs = [each.header.get("input", {"files": [], "sha256": None}) for each in stored]  # none: cases of a program
    names = [name for given in inputs for name in given["files"]]
    conditions: dict[str, Any] = {
        key: header[key] for key in ("tool", "rules", "similarity", "profile", "reader") if key in header
    }
    conditions["input"] = {"sha256": ", ".join(str(given["sha256"]) for given in inputs)}
    return _counted(_report_rows(stored, places), conditions, options, names)


def _report_rows(stored: list[StoredReport], places: list[Path]) -> Iterator[tuple[Case, CaseResult]]:
    for number, each in enumerate(stored):
        table = each.header.get("results_table")
        if table and places:
            yield from _table_rows([places[number].parent / str(table)], LogOptions(CaseValidator(checks())))
        else:
            yield from map(_pair, each.results())


def _counted(
    found: Iterable[tuple[Case, CaseResult]], conditions: Mapping[str, Any], options: AuditOptions, files: list[str]
) -> AuditCounts:
    rules = rules_in_force()
    tally = AuditTally(options, files, NoticeReader(rules, options.notices))
    for case, result in found:
        tally.add_case(case, result)
    groups = {rule.id: rule.group for rule in (*rules.rules, *rules.learned_rules)}
    return AuditCounts(tally, dict(conditions), groups, is_stored=True)


def _conditions() -> dict[str, Any]:
    current = run_conditions(rules_in_force(), TRAFFIC)
    elsewhere = {"profile": _ELSEWHERE, "reader": {"name": _ELSEWHERE}, "input": {"sha256": ""}}
    return current | {"rules": current["rules"] | {"hash": _ELSEWHERE}} | elsewhere


def _pair(result: CaseResult) -> tuple[Case, CaseResult]:
    """A stored result, and the conversation if it is stored too."""
    texts = result.texts
    case = Case(result.id, tuple(result.checks), source=result.source)
    if "messages" in texts:
        case = msgspec.structs.replace(case, messages=msgspec.convert(texts["messages"], tuple[Turn, ...]))
    elif result.has_texts:
        case = msgspec.structs.replace(case, user=texts.get("user", ""), assistant=texts["assistant"])
    return case, result


def _table_rows(paths: Iterable[Path], log: LogOptions) -> Iterator[tuple[Case, CaseResult]]:
    known = [*checks()]
    for path in paths:
        for part in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
            file = _parquet(part)
            for batch in file.iter_batches(batch_size=1000):
                for row in batch.to_pylist():
                    yield _from_row(row, known, log)


def _from_row(row: Mapping[str, Any], known: Iterable[str], log: LogOptions) -> tuple[Case, CaseResult]:
    courses = {each["check"]: each["outcomes"] for each in row["timelines"] or ()}
    outcomes = {name: courses.get(name, [row[name]]) for name in known if row.get(name) is not None}
    verdicts = {name: outcome_only(name, own, row["error"]) for name, own in outcomes.items()}
    source = Source(row["source_file"], row["source_line"]) if row.get("source_file") else None
    findings = msgspec.convert([_finding(each) for each in row["findings"] or ()], tuple[Finding, ...])
    result = CaseResult(
        id=str(row["id"]),
        outcome=row["outcome"],
        is_negative_example=False,
        checks=_with_findings(verdicts, findings),
        findings=findings,
        languages={"language": row["language"] or ""},
        source=source,
    )
    return with_facts(Case(result.id, tuple(verdicts), source=source), row, log), result


def _with_findings(verdicts: Mapping[str, CheckResult], findings: tuple[Finding, ...]) -> dict[str, CheckResult]:
    return {
        name: msgspec.structs.replace(verdict, findings=tuple(each for each in findings if name in each.checks))
        for name, verdict in verdicts.items()
    }


def _finding(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if key == "checks" else value for key, value in fields.items() if value is not None}
