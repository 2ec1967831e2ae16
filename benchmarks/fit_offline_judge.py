"""Fits the offline judge's weights on what may be read, and says how they fare on what the fit did not see.

    python benchmarks/fit_offline_judge.py DATA_FOLDER

DATA_FOLDER holds wice_dev.jsonl, begin_dev.jsonl and, only measured, qags_dev.jsonl. Of the first two the part `read`
is used. Prints the lines for src/synthesis/judge/offline/weights.yaml. Plain Python: anyone can repeat it.
"""

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from faithfulness import case_of
from labelled import chosen
from protocol import READ, group_of

from synthesis.judge.offline.judge import check_claims
from synthesis.judge.offline.scoring import Features, extract_weight, features_of, log_support, score_limit, weights
from synthesis.judge.offline.support import ContextIndex, split_claims, split_passage, support_of

FITTED, LEFT_OUT = ("wice_dev", "begin_dev"), "qags_dev"
FOLDS, SEED, RIDGE = 5, 20, 0.01
EXTRACTS_PER_CONTEXT, SHORTENED = 4, 0.5
SENTENCE = range(8, 41)  # words

Vector = list[float]


class Row(NamedTuple):
    """What the map sees of a labelled answer; `fine` is whether its claims allow 4 at all."""

    source: str
    group: str
    gold: bool
    features: Features
    fine: bool

    def terms(self) -> Vector:
        return [1.0, log_support(self.features.support), self.features.conflicts]


class Example(NamedTuple):
    """What a logistic map is fitted to."""

    terms: Vector
    gold: bool
    weight: float


def rows_of(path: Path, part: str) -> Iterator[Row]:
    """The answers of a set that claim something."""
    for row, _, _ in chosen(path, part):
        case = case_of(row)
        passages = [str(passage) for passage in case.context]
        checked = check_claims(split_claims(case.answer), case.question, ContextIndex(passages), None)
        if checked:
            supports = [support for _, support in checked]
            fine = score_limit(supports, listed=False) >= 4
            yield Row(str(row["source"]), group_of(row), bool(row["gold"]), features_of(supports), fine)


def fit(examples: Sequence[Example]) -> Vector:
    """Weighted logistic regression by Newton's steps; a slight pull towards zero keeps it finite."""
    size = len(examples[0].terms)
    weights = [0.0] * size
    for _ in range(50):
        gradient = [-RIDGE * weight if at else 0.0 for at, weight in enumerate(weights)]
        matrix = [[RIDGE if a == b and a else 0.0 for a in range(size)] for b in range(size)]
        for terms, gold, share in examples:
            chance = probability(weights, terms)
            for a in range(size):
                gradient[a] += share * (gold - chance) * terms[a]
                for b in range(size):
                    matrix[a][b] += share * chance * (1 - chance) * terms[a] * terms[b]
        step = solved(matrix, gradient)
        weights = [weight + move for weight, move in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-9:
            break
    return weights


def probability(weights: Sequence[float], terms: Sequence[float]) -> float:
    odds = sum(weight * term for weight, term in zip(weights, terms, strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


def solved(matrix: list[Vector], right: Vector) -> Vector:
    """Gauss-Jordan elimination; the matrix is positive definite."""
    lines = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for at in range(len(lines)):
        pivot = max(range(at, len(lines)), key=lambda row: abs(lines[row][at]))
        lines[at], lines[pivot] = lines[pivot], lines[at]
        lines[at] = [value / lines[at][at] for value in lines[at]]
        for other, line in enumerate(lines):
            if other != at:
                lines[other] = [value - line[at] * own for value, own in zip(line, lines[at], strict=True)]
    return [line[-1] for line in lines]


def balanced(rows: Sequence[Row]) -> list[Example]:
    """Each set weighs the same, and in it the faithful as much as the others."""
    counts: dict[tuple[str, bool], int] = {}
    for row in rows:
        counts[family(row), row.gold] = counts.get((family(row), row.gold), 0) + 1
    return [Example(row.terms(), row.gold, 200 / counts[family(row), row.gold]) for row in rows]


def family(row: Row) -> str:
    return row.source.split("-")[0]


def extracts(folder: Path) -> Iterator[tuple[float, bool]]:
    """Support of made-up extracts: sentences of the passages, shortened, and not faithful where one is joined."""
    chance = random.Random(SEED)
    contexts = {
        group_of(row): row["context"] for name in FITTED for row, _, _ in chosen(folder / f"{name}.jsonl", READ)
    }
    for _, passages in sorted(contexts.items()):
        found = [one.text for passage in passages for one in split_passage(passage) if len(one.tokens) in SENTENCE]
        sentences = [text for text in found if text[-1] in ".!?"]
        index = ContextIndex(passages)
        for number in range(EXTRACTS_PER_CONTEXT if len(sentences) > 5 else 0):
            *kept, other = chance.sample(sentences, chance.choice((3, 4, 5)))
            answer = [shortened(sentence, chance) for sentence in kept]
            if number % 2:
                answer[0] = joined(answer[0], other, chance)
            claims = split_claims(" ".join(answer))
            yield features_of([support_of(claim.tokens, index) for claim in claims]).support, not number % 2


def shortened(sentence: str, chance: random.Random) -> str:
    """The sentence, often without one of its clauses or without one word in it."""
    if chance.random() < SHORTENED:
        clauses = sentence.split(", ")
        drop = chance.randrange(len(clauses))
        rest = ", ".join(clause for at, clause in enumerate(clauses) if at != drop)
        sentence = rest if len(rest.split()) > 4 else sentence
    if chance.random() < SHORTENED:
        words = sentence.split()
        del words[chance.randrange(1, len(words) - 1)]
        sentence = " ".join(words)
    return sentence


def joined(sentence: str, other: str, chance: random.Random) -> str:
    """The beginning of one sentence with the end of another."""
    first, second = sentence.split(), other.split()
    return " ".join(first[: chance.randint(3, max(3, len(first) - 3))] + second[chance.randint(2, len(second) - 3) :])


class Map(NamedTuple):
    """Both fitted parts."""

    own: Vector
    extract: Vector

    def passes(self, row: Row) -> bool:
        share = extract_weight(row.features)
        own = sum(weight * term for weight, term in zip(self.own, row.terms(), strict=True))
        copied = max(weights().extract.floor, self.extract[0] + self.extract[1] * row.features.support)
        return row.fine and (1 - share) * own + share * copied >= 0


def accuracy(pairs: Sequence[tuple[bool, bool]]) -> str:
    """Balanced accuracy of pairs of label and verdict."""
    rates = [[said == gold for gold, said in pairs if gold == wanted] for wanted in (True, False)]
    return f"{sum(sum(rate) / len(rate) for rate in rates) / 2:.3f} (n {len(pairs)})"


def cross_validated(rows: Sequence[Row], extract: Vector) -> list[tuple[Row, bool]]:
    """Each row with the verdict of a fit that saw no row of its group."""
    groups = sorted({row.group for row in rows})
    random.Random(SEED).shuffle(groups)
    fold = {group: at % FOLDS for at, group in enumerate(groups)}
    found = []
    for held in range(FOLDS):
        fitted = Map(fit(balanced([row for row in rows if fold[row.group] != held])), extract)
        found += [(row, fitted.passes(row)) for row in rows if fold[row.group] == held]
    return found


def by_source(title: str, said: Sequence[tuple[Row, bool]], named: bool = False) -> None:
    for source in sorted({row.source if named else family(row) for row, _ in said}):
        pairs = [(row.gold, verdict) for row, verdict in said if source in (row.source, family(row))]
        print(f"{title}: {source}: balanced accuracy {accuracy(pairs)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    sets = {name: list(rows_of(folder / f"{name}.jsonl", READ)) for name in FITTED}
    rows = [row for some in sets.values() for row in some]
    made_up = list(extracts(folder))
    extract = fit([Example([1.0, support], gold, 1.0) for support, gold in made_up])
    own = fit(balanced(rows))
    fitted = Map(own, extract)
    by_source("cross-validated by group", cross_validated(rows, extract))
    for name, other in (FITTED, FITTED[::-1]):
        left = Map(fit(balanced(sets[name])), extract)
        by_source(f"fitted on {name} only", [(row, left.passes(row)) for row in sets[other]])
    left_out = list(rows_of(folder / f"{LEFT_OUT}.jsonl", "all"))
    by_source("left out", [(row, fitted.passes(row)) for row in left_out], named=True)
    bar = math.exp(-own[0] / own[1]) - math.exp(log_support(0.0))
    print(f"{len(made_up)} made-up extracts")
    print(f"own_words: {{bar: {bar:.3f}, slope: {own[1]:.2f}, conflicts: {own[2]:.2f}}}")
    print(f"extract: {{bar: {-extract[0] / extract[1]:.3f}, slope: {extract[1]:.1f}}}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
