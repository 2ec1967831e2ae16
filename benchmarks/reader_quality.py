"""What the learned reader adds: rules alone, the reader alone, and both, on the corpus in the profile `traffic`.

    python benchmarks/reader_quality.py --texts DIR [--part read] [--into docs/reader-figures.md]

The reader alone fails a row where the score of a check's own head decides by itself. Each look at scored figures is
noted in looks.jsonl. Everyday and support-desk rows are counted apart: nearly nothing in them should fail.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus_verdicts import ENGLISH, OTHERS, Verdict, half, markdown, verdicts
from protocol import LOOKS, POSITIVES_FOR_RECALL, Confusion, Share, log_look
from quality import write_into

from corpus.rows import CHECKS, DOUBT, FAIL, OK, READ, SCORED, Row, rows_in
from synthesis.checks.card import CARD
from synthesis.checks.learned import LearnedReader, learned_reader
from synthesis.checks.registry import rules_in_force
from synthesis.run.evaluator import Evaluator
from synthesis.settings import LEARNED, RULES, TRAFFIC

BY_RULES, BY_READER, BY_BOTH = WAYS = ("rules alone", "reader alone", "both")
AREAS = {"everyday": "everyday", "desk": "support desk"}
Told = Mapping[str, Sequence[Verdict]]  # by way


def alone(rows: Sequence[Row], reader: LearnedReader) -> list[Verdict]:
    """The verdicts of the heads by themselves: a row fails if one of its replies does."""
    found = []
    for row in rows:
        failed = set(_failed(row, reader))
        found += [
            Verdict(row, check, row.label(check), FAIL if check in failed else OK)
            for check in CHECKS
            if row.label(check) != DOUBT
        ]
    return found


def _failed(row: Row, reader: LearnedReader) -> Iterator[str]:
    said = reader.engine.scores([each.content for each in row.messages], [each.role for each in row.messages])
    count, earlier, message = len(reader.weights.heads), None, None
    for each, scores in zip(row.messages, said, strict=True):
        if each.role == "user":
            earlier, message = message, scores
        elif message is not None:
            parts = [reader.weights.bias, message[:count], scores, *([earlier[count:]] if earlier else [])]
            values = [sum(part) for part in zip(*parts, strict=True)]
            for check in CHECKS:
                least = reader.decision(check).alone.get(row.lang)
                if least is not None and reader.logit(values[reader.weights.heads.index(check)]) >= least:
                    yield check


def told(rows: Sequence[Row]) -> Told:
    reader = learned_reader()
    if reader is None:
        raise SystemExit("This copy has no weights: run `make train` first.")
    evaluators = {
        BY_RULES: Evaluator(rules_in_force(reader=RULES), profile=TRAFFIC),
        BY_BOTH: Evaluator(rules_in_force(reader=LEARNED), profile=TRAFFIC),
    }
    found = {way: verdicts(rows, evaluator) for way, evaluator in evaluators.items()}
    return {BY_RULES: found[BY_RULES], BY_READER: alone(rows, reader), BY_BOTH: found[BY_BOTH]}


def by_check(parts: Mapping[str, Told]) -> Iterator[tuple[str, ...]]:
    yield "check", "rows", "part", "failing", "by", "precision", "recall", "false alarms"
    for check in CHECKS:
        for name in (ENGLISH, OTHERS):
            for part, ways in parts.items():
                for way in WAYS:
                    own = [one for one in ways[way] if one.check == check and half(one) == name]
                    found = Confusion.of(one.pair for one in own)
                    shares = (found.precision, found.recall, found.false_alarms)
                    yield f"`{check}`", name, part, str(found.positives), way, *map(str, shares)


def whole_rows(parts: Mapping[str, Told]) -> Iterator[tuple[str, ...]]:
    yield (
        "part",
        "rows",
        "by",
        "fail nothing by label",
        "of these failed by a check",
        "fail something",
        "of these found",
    )
    for part, ways in parts.items():
        for name in (ENGLISH, OTHERS):
            for way in WAYS:
                own = [one for one in ways[way] if half(one) == name]
                labelled, failed = (
                    _ids(one.row.id for one in own if one.label == FAIL),
                    _ids(one.row.id for one in own if one.said == FAIL),
                )
                rows = _ids(one.row.id for one in own)
                fine = rows - labelled
                wrong = Share(len(fine & failed), len(fine), POSITIVES_FOR_RECALL)
                right = Share(
                    len({one.row.id for one in own if one.label == FAIL == one.said}),
                    len(labelled),
                    POSITIVES_FOR_RECALL,
                )
                yield part, name, way, str(len(fine)), str(wrong), str(len(labelled)), str(right)


def _ids(ids: Iterable[str]) -> set[str]:
    return set(ids)


def quiet_rows(parts: Mapping[str, Told]) -> Iterator[tuple[str, ...]]:
    """Rows that fail nothing by label, in areas where nearly nothing should be found."""
    yield "part", "rows", "language", "fail nothing by label", *(f"failed by {way}" for way in WAYS)
    for part, ways in parts.items():
        for area, title in AREAS.items():
            own = [one for one in ways[BY_RULES] if one.row.area == area]
            labelled = {one.row.id for one in own if one.label == FAIL}
            for lang in sorted({one.row.lang for one in own}):
                rows = {one.row.id for one in own if one.row.lang == lang} - labelled
                failed = [
                    Share(len({one.row.id for one in ways[way] if one.said == FAIL} & rows), len(rows), 100)
                    for way in WAYS
                ]
                yield part, title, lang, str(len(rows)), *map(str, failed)


# Languages are measured in two halves: the seven have too few failing rows each.
LANGUAGES = {ENGLISH: "en", OTHERS: "others"}


def put_into_card(parts: Mapping[str, Told]) -> None:
    """Note the figures of each check's head beside the weights, where there are failing rows enough."""
    card = json.loads(CARD.read_text("utf-8"))
    for check in CHECKS:
        card["heads"][check]["figures"] = [
            figures
            for part, ways in parts.items()
            for name in (ENGLISH, OTHERS)
            if (figures := _figures(check, name, part, ways))["positives"] >= POSITIVES_FOR_RECALL
        ]
    CARD.write_text(json.dumps(card, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _figures(check: str, name: str, part: str, ways: Told) -> dict[str, Any]:
    by = {
        way: Confusion.of(one.pair for one in ways[way] if one.check == check and half(one) == name)
        for way in (BY_RULES, BY_BOTH)
    }
    return {
        "language": LANGUAGES[name],
        "part": part,
        "positives": by[BY_BOTH].positives,
        "precision": _rate(by[BY_BOTH].precision),
        "recall": _rate(by[BY_BOTH].recall),
        "rules_precision": _rate(by[BY_RULES].precision),
        "rules_recall": _rate(by[BY_RULES].recall),
    }


def _rate(share: Share) -> float | None:
    return round(share.hits / share.total, 3) if share.total else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="the public texts")
    parser.add_argument("--part", choices=(READ, SCORED), action="append", help="default: both")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the tables into a document, between its marks")
    parser.add_argument("--card", action="store_true", help="note the figures in the card of the reader")
    options = parser.parse_args()
    chosen = {part: rows_in(part, texts=options.texts) for part in options.part or (READ, SCORED)}
    parts = {part: told(rows) for part, rows in chosen.items()}
    made = {
        "reader checks": markdown(by_check(parts)),
        "reader rows": markdown(whole_rows(parts)),
        "reader quiet": markdown(quiet_rows(parts)),
    }
    print("\n\n".join(f"{name}\n\n{lines}" for name, lines in made.items()))
    if SCORED in chosen:
        log_look(
            LOOKS, datetime.now(UTC), sets=["corpus scored: readers"], profiles=[TRAFFIC], rows=len(chosen[SCORED])
        )
    if options.card:
        put_into_card(parts)
    if options.into:
        write_into(options.into, made)


if __name__ == "__main__":
    main()
