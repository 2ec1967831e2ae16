"""The offline judge as a screen: how much it can tell, and how often it is right where it tells.

    python benchmarks/claims.py [--part scored] [--sets DIR] [--into docs/offline-judge.md] [--errors]

Measured on the minimal pairs of corpus/answers, by kind of change and by language, and on the answers of labelled sets
(wice_dev, begin_dev, qags_dev under DIR), which people have labelled as a whole. The judge says `supported` where every
claim is, `not supported` where one is contradicted, and else that it cannot tell. Each look at scored rows is noted in
looks.jsonl; `--errors` prints what is wrong in rows that may be read.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from labelled import chosen  # noqa: E402
from protocol import LOOKS, READ, SCORED, Share, log_look, was_read  # noqa: E402
from quality import write_into  # noqa: E402

from corpus.minimal_pairs import DOUBT, KINDS, SUPPORTED, documents  # noqa: E402
from synthesis.judge.model import TestCase, Verdict  # noqa: E402
from synthesis.judge.offline import OfflineJudge  # noqa: E402
from synthesis.judge.rubric import load_rubric  # noqa: E402

SETS = ("wice_dev", "begin_dev", "qags_dev")
LANGUAGES = {"en": "English", "de": "German", "es": "Spanish", "th": "Thai"}
PASS_AT = 4
FEWEST = 100  # rows of a line of a table
QUESTION = "What does the article say?"  # for a set without questions
HEAD = "| | answers | told | supported, right | not supported, right |"
RUBRIC = load_rubric("rag")


class Told(NamedTuple):
    """One answer: what people say of it, and what the judge says; None where it cannot tell."""

    group: tuple[str, ...]
    case: TestCase
    is_supported: bool
    said: bool | None


def told_of(verdict: Verdict) -> bool | None:
    score = verdict.axes["faithfulness"].score
    return None if score is None else score >= PASS_AT


def pairs(part: str, judge: OfflineJudge) -> Iterator[Told]:
    for document in documents(part):
        for answer in document.answers:
            if answer.label != DOUBT:
                case = TestCase(answer.id, answer.question, answer.answer, document.passages)
                group = ("all pairs", answer.kind, LANGUAGES[document.language])
                yield Told(group, case, answer.label == SUPPORTED, told_of(judge.judge(case, RUBRIC)))


def answers(path: Path, part: str, judge: OfflineJudge) -> Iterator[Told]:
    for row, own, _ in chosen(path, part):
        if own == part or was_read("faithfulness", path.stem):
            case = case_of(row)
            yield Told((path.stem,), case, bool(row["gold"]), told_of(judge.judge(case, RUBRIC)))


def case_of(row: Mapping[str, Any]) -> TestCase:
    passages = [row["context"]] if isinstance(row["context"], str) else row["context"]
    return TestCase(row["id"], row.get("question") or QUESTION, row["answer"], tuple(passages))


def table(rows: Iterable[Told], names: Iterable[str]) -> Iterator[str]:
    found = list(rows)
    yield HEAD
    yield "| --- " * 5 + "|"
    for name in names:
        own = [row for row in found if name in row.group]
        if len(own) >= FEWEST:
            yield f"| {name} | {len(own)} | {_told(own)} | {_right(own, said=True)} | {_right(own, said=False)} |"


def _told(rows: list[Told]) -> str:
    return f"{sum(row.said is not None for row in rows) / len(rows):.0%}"


def _right(rows: list[Told], *, said: bool) -> str:
    """Of those of which it says so: a count below a hundred, a share with its interval from there."""
    counts = Counter(row.is_supported is said for row in rows if row.said is said)
    return str(Share(counts[True], counts.total(), FEWEST))


def errors(rows: Iterable[Told]) -> Iterator[str]:
    for row in rows:
        if row.said is not None and row.said is not row.is_supported:
            yield f"{row.case.query_log_id}: said {'supported' if row.said else 'not supported'}: {row.case.answer}"


def sections(options: argparse.Namespace, show: Callable[[str], None]) -> list[Told]:
    judge = OfflineJudge()
    rows = list(pairs(options.part, judge))
    show(f"Minimal pairs, part {options.part}, by kind of change and by language:\n")
    for line in table(rows, ("all pairs", *KINDS, *LANGUAGES.values())):
        show(line)
    if options.sets:
        known = [name for name in SETS if (options.sets / f"{name}.jsonl").is_file()]
        others = [row for name in known for row in answers(options.sets / f"{name}.jsonl", options.part, judge)]
        show(f"\nAnswers of other sets, part {options.part}:\n")
        for line in table(others, known):
            show(line)
        rows += others
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(READ, SCORED), default=SCORED)
    parser.add_argument("--sets", type=Path, metavar="DIR")
    parser.add_argument("--into", type=Path, metavar="FILE")
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args()
    lines: list[str] = []
    rows = sections(options, lines.append)
    print("\n".join(lines))
    if options.errors:
        if options.part != READ:
            parser.error("--errors: only rows of the part `read` may be read")
        print("\n".join(errors(rows)))
    if options.part == SCORED:
        names = sorted({f"answers {row.group[0]}" if row.group[0] == "all pairs" else row.group[0] for row in rows})
        log_look(LOOKS, datetime.now(UTC), sets=names, profiles=["offline judge"], rows=len(rows))
    if options.into:
        write_into(options.into, {"claims": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
