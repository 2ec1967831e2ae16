"""`make corpus`: schema, labels and spans, parts that share nothing, balance.

    python -m corpus.validate [--texts DIR] [--measure DIR]

`--texts` holds the public texts: their rows are then compared as well. `--measure` holds sets that others measure with,
as JSON Lines: no row may share a long run of characters with them. Exit code 2 if anything is wrong.
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs

from corpus.rows import (
    ASSISTANT,
    CHECKS,
    CUE,
    DOUBT,
    FAIL,
    FOLDER,
    OK,
    SCORED,
    SEALED,
    USER,
    WRITTEN,
    Labeller,
    Labels,
    Row,
    files,
    joined,
    published,
    rows_of,
)

SCHEMA = FOLDER / "row.schema.json"
# Sentences that many replies must share, such as the line of a helpline: no sign that one row was made from another.
STANDARD = FOLDER / "standard.txt"
WITHDRAWN = "withdrawn.jsonl"  # ids of rows that are gone, with the reason; never used again
RUN, RUN_WITHOUT_SPACES = 60, 20  # characters that two parts may not share
WITHOUT_SPACES = ("ja", "zh")
# What the corpus promises: rows by language, failing rows by check, ordinary rows to score.
ROWS, ENGLISH_ROWS, OTHER_ROWS = 12_000, 4_500, 900
FAILING, ENGLISH_FAILING, OTHER_FAILING = 700, 350, 40
ORDINARY, ORDINARY_SCORED = ("everyday", "desk"), 150
SHOWN = 20

Placed = tuple[str, Row]  # with its part


# One row.


def problems_of(row: Row) -> Iterator[str]:
    """What the schema cannot say: spans lie in their messages, and the labels are those that labellers gave."""
    if row.sealed:
        return
    if dict(row.labels) != settled(row.labellers):
        yield f"labels {dict(row.labels)} do not follow from the labellers, who give {settled(row.labellers)}"
    yield from _unexplained(row.labellers)
    marked = {span.label for span in row.spans}
    for check in sorted(check for check, label in row.labels.items() if label == FAIL and check not in marked):
        yield f"{check} fails, and no span says where"
    if (CUE in marked) != bool(row.cue):
        yield "a cue has a level and a span, or neither"
    for span in row.spans if row.messages else ():
        yield from _span_problems(row, span.label, span.message, span.start, span.end)


def _span_problems(row: Row, label: str, message: int, start: int, end: int) -> Iterator[str]:
    if message >= len(row.messages) or not 0 <= start < end <= len(row.messages[message].content):
        yield f"the span of {label} lies outside of message {message}"
    elif row.messages[message].role != (USER if label == CUE else ASSISTANT):
        yield f"the span of {label} lies in a message of the wrong side"


def _unexplained(labellers: Sequence[Labeller]) -> Iterator[str]:
    """Entries behind the first two that change what was settled before them, and do not say why."""
    for count in range(2, len(labellers)):
        entry, before = labellers[count], settled(labellers[:count])
        changed = [check for check in sorted(entry.labels) if before.get(check) not in (DOUBT, entry.labels[check])]
        if changed and not entry.why:
            yield f"{entry.by} changes what was settled about {', '.join(changed)} and does not say why"


def settled(labellers: Sequence[Labeller]) -> Labels:
    """What two labellers agree on and, where they differ about failing, what the third one says.

    Between "fine" and "does not apply" both are right in honest doubt: "fine" is kept.
    """
    first, second, *third = [labeller.labels for labeller in labellers]
    found = {check: _agreed(first.get(check), second.get(check)) for check in CHECKS}
    found.update({check: label for labels in third for check, label in labels.items()})
    return {check: label for check, label in found.items() if label in (FAIL, OK, DOUBT)}


def _agreed(one: str | None, other: str | None) -> str | None:
    if one == other:
        return one
    return OK if {one, other} <= {OK, None} else DOUBT


# All rows.


class Parts(NamedTuple):
    """Every row with its part, and what is wrong with single lines."""

    rows: list[Placed]
    problems: list[str]


def read_all(folder: Path) -> Parts:
    # Masked: texts that people wrote in distress do not belong into a terminal.
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")), mask="the value")
    rows, problems = list[Placed](), list[str]()
    for part, path in files(folder):
        wrong = [f"{path.relative_to(folder)}:{at}: {error}" for at, error in _wrong_lines(path, validator)]
        problems += wrong
        if not wrong:
            own = rows_of(path)
            rows += [(part, row) for row in own]
            problems += [f"{row.id}: {problem}" for row in own for problem in problems_of(row)]
            problems += [f"{row.id}: is open" for row in own if part == SEALED and not row.sealed]
    return Parts(rows, problems)


def _wrong_lines(path: Path, validator: jsonschema_rs.Validator) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for error in validator.iter_errors(json.loads(line)):
            yield number, f"{'/'.join(str(step) for step in error.instance_path) or 'the row'}: {error.message}"


def withdrawn_problems(rows: Sequence[Placed], folder: Path) -> Iterator[str]:
    """Rows that were withdrawn, and are there again."""
    path = folder / WITHDRAWN
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    gone = {entry["id"]: entry["why"] for entry in map(json.loads, lines)}
    yield from (f"{row.id} was withdrawn ({gone[row.id]}): take another id" for _, row in rows if row.id in gone)


def split_problems(rows: Sequence[Placed]) -> Iterator[str]:
    """Ids are unique; a writer, a situation of written rows and a group of public ones belong to one part."""
    ids = Counter(row.id for _, row in rows)
    yield from (f"{name}: the id is used {count} times" for name, count in sorted(ids.items()) if count > 1)
    homes = defaultdict[str, set[str]](set)
    for part, row in rows:
        for name in _belongs_to(row):
            homes[name].add(part)
    yield from (f"{name} is in {', '.join(sorted(at))}" for name, at in sorted(homes.items()) if len(at) > 1)


def _belongs_to(row: Row) -> tuple[str, ...]:
    if row.origin != WRITTEN:
        return (f"group {row.origin} {row.group}",)
    return f"situation {row.situation}", f"writer {row.writer}"


# Runs of characters that two texts share.


class Text(NamedTuple):
    """A message as it is compared: folded, with one space between words."""

    owner: str
    part: str
    run: int
    words: str


def texts_of(rows: Iterable[Placed], standard: Sequence[str]) -> list[Text]:
    return [
        Text(
            row.id, part, RUN_WITHOUT_SPACES if row.lang in WITHOUT_SPACES else RUN, _without(standard, message.content)
        )
        for part, row in rows
        for message in row.messages
    ]


def _without(standard: Sequence[str], text: str) -> str:
    folded = fold(text)
    for sentence in standard:
        folded = folded.replace(sentence, "\n")  # which no folded text holds
    return folded


def fold(text: str) -> str:
    return re.sub(r"\s+", " ", text.casefold()).strip()


def standard_sentences(path: Path = STANDARD) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return sorted((fold(line) for line in lines if line and not line.startswith("#")), key=len, reverse=True)


def shared_runs(texts: Sequence[Text]) -> Iterator[str]:
    """Texts of different parts with a long run in common, each pair of rows once."""
    for run in sorted({text.run for text in texts}):
        own = [text for text in texts if text.run == run]
        yield from _shared(own, run)


def _shared(texts: Sequence[Text], run: int) -> Iterator[str]:
    """A run of that many characters holds a whole block of half as many, wherever it begins: only blocks are kept."""
    size, seen = run // 2, set[tuple[str, str]]()
    blocks = defaultdict[str, list[tuple[Text, int]]](list)
    for text in texts:
        for start in range(0, len(text.words) - size + 1, size):
            blocks[text.words[start : start + size]].append((text, start))
    for text in texts:
        for start in range(len(text.words) - size + 1):
            for other, at in blocks.get(text.words[start : start + size], ()):
                pair = (min(text.owner, other.owner), max(text.owner, other.owner))
                if other.part != text.part and pair not in seen and _common(text.words, start, other.words, at) >= run:
                    seen.add(pair)
                    yield f"{pair[0]} and {pair[1]} share {run} characters and are in {text.part} and {other.part}"


def _common(one: str, at: int, other: str, where: int) -> int:
    """The length of the run that both texts have around these places, up to a standard sentence that was taken out."""
    before = 0
    while min(at, where) > before and one[at - before - 1] == other[where - before - 1] != "\n":
        before += 1
    after = 0
    while after < min(len(one) - at, len(other) - where) and one[at + after] == other[where + after] != "\n":
        after += 1
    return before + after


def measured_texts(folder: Path) -> list[Text]:
    """All strings of the JSON Lines under a folder: whatever the fields are called, a long run in one is a copy."""
    found = list[Text]()
    for path in sorted(folder.rglob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            texts = [fold(value) for value in _strings(json.loads(line))]
            found += [Text(f"{path.stem}:{number}", "measure", _run_of(text), text) for text in texts]
    return found


def _run_of(text: str) -> int:
    """Of a text whose language is not told: by its characters."""
    return RUN_WITHOUT_SPACES if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text) else RUN


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


# Balance.


def shortfalls(rows: Sequence[Placed]) -> Iterator[str]:
    """Where the corpus holds less than it promises. Sealed rows count as rows; their labels are not looked at."""
    languages = Counter(row.lang for _, row in rows)
    yield from _short("rows", len(rows), ROWS)
    for lang, count in sorted(languages.items()):
        yield from _short(f"rows in {lang}", count, ENGLISH_ROWS if lang == "en" else OTHER_ROWS)
        scored = sum(part == SCORED and row.lang == lang and row.area in ORDINARY for part, row in rows)
        yield from _short(f"everyday and desk rows to score in {lang}", scored, ORDINARY_SCORED)
    for check in CHECKS:
        failing = Counter(row.lang for _, row in rows if row.label(check) == FAIL)
        yield from _short(f"rows that fail {check}", failing.total(), FAILING)
        for lang in sorted(languages):
            least = ENGLISH_FAILING if lang == "en" else OTHER_FAILING
            yield from _short(f"rows in {lang} that fail {check}", failing[lang], least)


def _short(what: str, count: int, least: int) -> Iterator[str]:
    if count < least:
        yield f"{count} {what}, fewer than {least}"


def problems(folder: Path, texts: Path | None = None, measure: Path | None = None) -> list[str]:
    rows, found = read_all(folder)
    found += split_problems(rows)
    found += withdrawn_problems(rows, folder)
    found += shortfalls(rows)
    if texts:
        known = published(texts)
        rows = [(part, full) for part, row in rows for full in ([row] if row.messages else joined([row], known))]
    compared = texts_of(rows, standard_sentences(folder / STANDARD.name))
    found += shared_runs(compared)
    if measure:
        found += shared_runs([text._replace(part="corpus") for text in compared] + measured_texts(measure))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the corpus")
    parser.add_argument("--texts", type=Path, help="the public texts")
    parser.add_argument("--measure", type=Path, help="sets that others measure with")
    options = parser.parse_args()
    found = problems(options.folder, options.texts, options.measure)
    for name, given in (("TEXTS", options.texts), ("MEASURE", options.measure)):
        if given is None:
            print(f"{name}=DIR was not given: the rows were not compared with it.")
    for problem in found[:SHOWN]:
        print(problem)
    print(f"{len(found)} problems" if found else "The corpus is as it should be.")
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
