"""What the verdicts of `traffic` make of the corpus: read and scored rows, by check, language, situation, register.

    python benchmarks/corpus_verdicts.py [--texts DIR] [--into docs/corpus.md] [--errors agency_language] [--sealed]

`--texts` holds the public texts, without which only written rows count. Each look at scored figures is noted in
looks.jsonl; `--errors` prints what is wrong in rows that may be read. `--sealed` opens the sealed part: once for each
release, and `corpus/openings.jsonl` keeps who has done it when. A row in doubt counts for neither side.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from protocol import LOOKS, POSITIVES_FOR_RECALL, Confusion, Share, log_look, revision  # noqa: E402
from quality import write_into  # noqa: E402

from corpus.rows import CHECKS, DOUBT, FAIL, NOT_APPLICABLE, OK, READ, SCORED, SEALED, WRITTEN, Row, rows_in, unseal  # noqa: E402
from synthesis import __version__  # noqa: E402
from synthesis.model import Case, CheckResult, Turn  # noqa: E402
from synthesis.run.evaluator import Evaluator  # noqa: E402
from synthesis.settings import TRAFFIC  # noqa: E402

OPENINGS = ROOT / "corpus" / "openings.jsonl"
ENGLISH, OTHERS = "English", "the other seven"
WORST = 10
HEAD = ("check", "rows", "part", "failing", "precision", "recall", "false alarms", "not assessed")


class Verdict(NamedTuple):
    """The label of a row for a check, and what the check says."""

    row: Row
    check: str
    label: str
    said: str

    @property
    def pair(self) -> tuple[bool, bool]:
        """A fine reply may be held `ok` or not applicable: only what fails is compared."""
        return self.label == FAIL, self.said == FAIL


def verdicts(rows: Sequence[Row], evaluator: Evaluator) -> list[Verdict]:
    results = evaluator.evaluate([_case(row) for row in rows])
    return [
        Verdict(row, check, row.label(check), _said(result.checks[check]))
        for row, result in zip(rows, results, strict=True)
        for check in CHECKS
        if row.label(check) != DOUBT
    ]


def _case(row: Row) -> Case:
    """Without its language: logs seldom name it."""
    return Case(row.id, CHECKS, messages=tuple(Turn(message.role, message.content) for message in row.messages))


def _said(result: CheckResult) -> str:
    if not result.applicable:
        return NOT_APPLICABLE
    return OK if result.passed else FAIL


def half(verdict: Verdict) -> str:
    return ENGLISH if verdict.row.lang == "en" else OTHERS


# Tables.


def line_of(check: str, name: str, part: str, own: Sequence[Verdict]) -> tuple[str, ...]:
    found = Confusion.of(one.pair for one in own)
    asked = [one for one in own if one.label != NOT_APPLICABLE]
    unseen = Share(sum(one.said == NOT_APPLICABLE for one in asked), len(asked), POSITIVES_FOR_RECALL)
    shares = (found.precision, found.recall, found.false_alarms, unseen)
    return f"`{check}`", name, part, str(found.positives), *(str(share) for share in shares)


def by_check(parts: dict[str, list[Verdict]]) -> Iterator[tuple[str, ...]]:
    yield HEAD
    for check in CHECKS:
        for part, known in parts.items():
            own = [one for one in known if one.check == check]
            yield line_of(check, "all", part, own)
            for name in (ENGLISH, OTHERS):
                yield line_of(check, name, part, [one for one in own if half(one) == name])


Group = Callable[[Verdict], str]
# Rows of others have neither register nor style of their own: they are a cell by their origin.
GROUPS: dict[str, Group] = {
    "language": lambda one: one.row.lang,
    "area": lambda one: one.row.area if one.row.origin == WRITTEN else "",
    "situation": lambda one: one.row.situation if one.row.origin == WRITTEN else "",
    "register": lambda one: one.row.register if one.row.origin == WRITTEN else "",
    "reply": lambda one: one.row.style,
    "origin": lambda one: WRITTEN if one.row.origin == WRITTEN else "public",
}


def grouped(known: Iterable[Verdict], group: Group) -> dict[tuple[str, str], Confusion]:
    pairs = defaultdict[tuple[str, str], list[tuple[bool, bool]]](list)
    for one in known:
        if cell := group(one):
            pairs[one.check, cell].append(one.pair)
    return {cell: Confusion.of(own) for cell, own in sorted(pairs.items())}


def by_group(known: Sequence[Verdict], name: str) -> Iterator[tuple[str, ...]]:
    """What was found in each cell with enough failing rows, and the false alarms with enough others."""
    yield "check", name, "failing", "recall", "false alarms"
    for (check, cell), found in grouped(known, GROUPS[name]).items():
        if found.recall.is_rate or found.false_alarms.is_rate:
            shares = (share if share.is_rate else "-" for share in (found.recall, found.false_alarms))
            yield f"`{check}`", cell, str(found.positives), *(str(share) for share in shares)


def worst(known: Sequence[Verdict], which: str) -> Iterator[tuple[str, ...]]:
    """The ten worst cells of all groups: by what was missed, or by what was wrongly failed."""
    cells = [
        (getattr(found, which), check, f"{name}: {cell}")
        for name, group in GROUPS.items()
        for (check, cell), found in grouped(known, group).items()
    ]
    rated = [(share.hits / share.total, check, cell, share) for share, check, cell in cells if share.is_rate]
    rated.sort(key=lambda one: (one[0] if which == "recall" else -one[0], one[1:3]))
    yield "check", "cell", which.replace("_", " "), "rows"
    yield from ((f"`{check}`", cell, str(share), str(share.total)) for _, check, cell, share in rated[:WORST])


def any_failed(parts: dict[str, list[Verdict]]) -> Iterator[tuple[str, ...]]:
    """Whole rows: how many of those that fail nothing are failed by any check, and the other way round."""
    yield "part", "rows", "fail nothing by label", "of these failed by a check", "fail something", "of these found"
    for part, known in parts.items():
        rows = defaultdict[str, list[tuple[bool, bool]]](list)
        for one in known:
            rows[one.row.id].append(one.pair)
        found = Confusion.of((any(gold for gold, _ in own), any(said for _, said in own)) for own in rows.values())
        shares = (str(found.false_alarms), str(found.positives), str(found.recall))
        yield part, str(len(rows)), str(len(rows) - found.positives), *shares


def markdown(lines: Iterable[tuple[str, ...]]) -> str:
    head, *rest = lines
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *rest))


def tables(parts: dict[str, list[Verdict]]) -> dict[str, str]:
    scored = parts.get(SCORED) or next(iter(parts.values()))
    made = {"corpus checks": by_check(parts), "corpus rows": any_failed(parts)}
    made |= {f"corpus {name}": by_group(scored, name) for name in ("language", "area", "register")}
    made |= {f"corpus worst {which}": worst(scored, which) for which in ("recall", "false_alarms")}
    return {name: markdown(lines) for name, lines in made.items()}


# Parts.


def opened(texts: Path | None, log: Path, release: str, when: datetime) -> list[Row]:
    """The sealed rows with their labels, once for each release. The opening is noted before anything is read."""
    earlier = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.is_file() else []
    if any(opening["release"] == release for opening in earlier):
        raise SystemExit(f"The sealed part was opened for release {release} before: see {log.name}.")
    with log.open("a", encoding="utf-8") as file:
        file.write(
            json.dumps({"date": when.isoformat(timespec="seconds"), "release": release, "revision": revision()}) + "\n"
        )
    return [unseal(row) for row in rows_in(SEALED, texts=texts)]


def errors(known: Iterable[Verdict], check: str) -> Iterator[str]:
    for one in known:
        if one.check == check and one.pair[0] != one.pair[1]:
            said = " / ".join(message.content for message in one.row.messages)
            yield f"{one.row.id} label {one.label}, and the check says {one.said}: {said!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="the public texts")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the tables into a document, between its marks")
    parser.add_argument("--errors", metavar="CHECK", choices=CHECKS, help="print what is wrong in the part `read`")
    parser.add_argument("--sealed", action="store_true", help="open the sealed part: once for each release")
    options = parser.parse_args()
    evaluator, now = Evaluator(profile=TRAFFIC), datetime.now(UTC)
    if options.errors:
        print("\n".join(errors(verdicts(rows_in(READ, texts=options.texts), evaluator), options.errors)))
        return
    chosen = {part: rows_in(part, texts=options.texts) for part in (READ, SCORED)}
    if options.sealed:
        chosen = {SEALED: opened(options.texts, OPENINGS, __version__, now)}
    made = tables({part: verdicts(rows, evaluator) for part, rows in chosen.items()})
    print("\n\n".join(f"{name}\n\n{lines}" for name, lines in made.items()))
    log_look(
        LOOKS,
        now,
        sets=[f"corpus {part}" for part in chosen],
        profiles=[TRAFFIC],
        rows=sum(len(own) for part, own in chosen.items() if part != READ),
    )
    if options.into:
        write_into(options.into, made)


if __name__ == "__main__":
    main()
