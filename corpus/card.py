"""The tables of the card: `python -m corpus.card` counts and writes them into corpus/README.md, between their marks."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from corpus.agreement import HEAD, by_language, by_question, table
from corpus.rows import CHECKS, FAIL, FOLDER, PARTS, WRITTEN, Row, files, rows_of
from corpus.validate import Placed

CARD = FOLDER / "README.md"


def placed() -> list[Placed]:
    return [(part, row) for part, path in files() for row in rows_of(path)]


def tables(rows: Sequence[Placed]) -> dict[str, str]:
    known = [row for _, row in rows if not row.sealed]
    return {
        "parts": table(parts(rows)),
        "languages": table(languages(rows)),
        "questions": table(questions(known)),
        "areas": table(areas(rows)),
        "registers": table(counted("register", Counter(row.register for _, row in rows if row.origin == WRITTEN))),
        "styles": table(counted("reply", Counter(row.style for _, row in rows if row.origin == WRITTEN))),
        "sources": table(counted("source", Counter(row.origin for _, row in rows if row.origin != WRITTEN))),
        "agreement": table([HEAD, *by_question(known)]),
        "agreement-languages": table(by_language(known)),
    }


def parts(rows: Sequence[Placed]) -> Iterator[tuple[str, ...]]:
    yield "part", "written", "public", "all", "share"
    for part in PARTS:
        own = [row for at, row in rows if at == part]
        written = sum(row.origin == WRITTEN for row in own)
        yield part, str(written), str(len(own) - written), str(len(own)), f"{100 * len(own) / len(rows):.0f} %"


def languages(rows: Sequence[Placed]) -> Iterator[tuple[str, ...]]:
    yield "language", "written", "public", "all", *PARTS, "with 3 messages or more"
    for lang in sorted({row.lang for _, row in rows}):
        own = [(part, row) for part, row in rows if row.lang == lang]
        written = sum(row.origin == WRITTEN for _, row in own)
        by_part = [str(sum(at == part for at, _ in own)) for part in PARTS]
        long = sum(len(row.messages) > 2 for _, row in own)
        yield lang, str(written), str(len(own) - written), str(len(own)), *by_part, str(long)


def questions(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Failing rows by language; what is fine and what is in doubt over all. Sealed rows are not counted."""
    spoken = sorted({row.lang for row in rows})
    yield "question", "fail", *spoken, "ok", "in doubt"
    for check in CHECKS:
        labels = Counter(row.label(check) for row in rows)
        failing = Counter(row.lang for row in rows if row.label(check) == FAIL)
        by_lang = [str(failing[lang]) for lang in spoken]
        yield f"`{check}`", str(labels[FAIL]), *by_lang, str(labels["ok"]), str(labels["doubt"])


def areas(rows: Sequence[Placed]) -> Iterator[tuple[str, ...]]:
    yield "area", "rows", "situations (rows)"
    found = defaultdict[str, Counter[str]](Counter)
    for _, row in rows:
        found[row.area][row.situation] += 1
    for area, situations in sorted(found.items()):
        named = ", ".join(f"{name} {count}" for name, count in sorted(situations.items()))
        yield area, str(situations.total()), named


def counted(what: str, counts: Counter[str]) -> Iterator[tuple[str, ...]]:
    yield what, "rows"
    yield from ((name, str(count)) for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def with_tables(text: str, made: dict[str, str]) -> str:
    """The card with each table between its marks written again."""
    for name, lines in made.items():
        marked = re.compile(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = marked.subn(lambda match: f"{match[1]}\n{lines}\n{match[2]}", text)  # noqa: B023
        if not found:
            raise ValueError(f"{CARD.name} has no mark <!-- figures: {name} -->")
    return text


if __name__ == "__main__":
    CARD.write_text(with_tables(CARD.read_text(encoding="utf-8"), tables(placed())), encoding="utf-8")
