"""How far two labellers agree about what fails, by question and language.

    python -m corpus.agreement

Counted on open rows of all parts: Krippendorff's alpha with its interval, and the share of rows with the same answer.
Alpha below 0.6 means that the guide has to be improved and the question labelled again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from corpus.rows import CHECKS, FAIL, Row, files, rows_of
from synthesis.stats import Agreement, agreement_of

LEAST_POSITIVES = 100  # under this a language has counts and no figure of its own
ENGLISH = "en"


class Agreed(NamedTuple):
    """One question in some rows: how many failed by both labellers, how many by one alone."""

    check: str
    rows: int
    both: int
    one: int
    alpha: Agreement

    @property
    def raw(self) -> float:
        return 1 - self.one / self.rows if self.rows else 1.0


def agreed(check: str, rows: Sequence[Row]) -> Agreed:
    said = [tuple(sorted(int(labels.labels.get(check) == FAIL) for labels in row.labellers[:2])) for row in rows]
    alpha = agreement_of(said, same="all labels are the same", unit="rows")
    return Agreed(check, len(rows), said.count((1, 1)), said.count((0, 1)), alpha)


def open_rows() -> list[Row]:
    return [row for _, path in files() for row in rows_of(path) if not row.sealed]


def by_question(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """A line per question: all rows, English, and the other languages pooled."""
    own = list(rows)
    english, others = ([row for row in own if (row.lang == ENGLISH) is wanted] for wanted in (True, False))
    for check in CHECKS:
        found = agreed(check, own)
        figures = (spelled(agreed(check, some)) for some in (english, others))
        yield (
            f"`{check}`",
            str(found.rows),
            str(found.both),
            str(found.one),
            f"{found.raw:.3f}",
            spelled(found),
            *figures,
        )


HEAD = ("question", "rows", "both say fail", "one alone", "same answer", "alpha", "alpha, English", "alpha, others")


def by_language(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """A line per question, alpha in each language where at least one labeller failed enough rows."""
    languages = sorted({row.lang for row in rows})
    yield ("question", *languages)
    for check in CHECKS:
        found = [agreed(check, [row for row in rows if row.lang == lang]) for lang in languages]
        yield f"`{check}`", *(spelled(one) if one.both + one.one >= LEAST_POSITIVES else "-" for one in found)


def spelled(found: Agreed) -> str:
    if found.alpha.alpha is None:
        return "-"
    interval = found.alpha.interval
    return f"{found.alpha.alpha:.2f}" + (f" ({interval[0]:.2f}-{interval[1]:.2f})" if interval else "")


def table(lines: Iterable[tuple[str, ...]]) -> str:
    head, *rest = lines
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ("---",) * len(head), *rest))


if __name__ == "__main__":
    known = open_rows()
    print(table([HEAD, *by_question(known)]))
    print(table(by_language(known)))
