"""Quality against size and time: the same training with students of other shapes, on the part `read`.

    python -m training.frontier --texts DIR [--measure DIR] [--work DIR] [--epochs 3]

Uses the teacher's answers of an earlier call of `python -m training` with the same work folder. Quality is the mean
over the checks of the area under the curve (how often a failing row scores above one that does not fail).
"""

import argparse
import time
from pathlib import Path

import numpy as np

from corpus.rows import DOUBT, FAIL, READ, rows_in
from synthesis.reader.engines import engine
from synthesis.reader.weights import Weights, load
from training.__main__ import Plan, Training, say
from training.decide import scores_of
from training.export import export
from training.heads import CHECKS
from training.student import Shape

SHAPES = (
    Shape(1 << 16, 32, 64, 5, 3),
    Shape(1 << 16, 32, 96, 5, 3),
    Shape(1 << 17, 32, 96, 5, 3),
    Shape(1 << 17, 32, 96, 3, 3),
    Shape(1 << 16, 64, 128, 5, 4),
)
TEXT = "I keep telling my sister that it is fine, but since the move nothing is, and I do not know whom to ask. " * 2


def quality(weights: Weights, texts: Path | None) -> tuple[float, float]:
    """The mean area for English rows and for those of the other languages."""
    rows = rows_in(READ, texts=texts)
    scores, english = scores_of(rows, weights), np.array([row.lang == "en" for row in rows])
    areas: tuple[list[float], list[float]] = [], []
    for check in CHECKS:
        truth = np.array([row.label(check) == FAIL for row in rows])
        clear = np.array([row.label(check) != DOUBT for row in rows])
        for group, own in enumerate((english & clear, ~english & clear)):
            areas[group].append(area(scores[own, weights.heads.index(check)], truth[own]))
    return float(np.mean(areas[0])), float(np.mean(areas[1]))


def area(scores: np.ndarray, truth: np.ndarray) -> float:
    """How often a true one scores above one that is not."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    right = truth.sum()
    return float((ranks[truth].sum() - right * (right - 1) / 2) / max(1, right * (len(truth) - right)))


def microseconds(weights: Weights, count: int = 2000) -> float:
    """For a message of 40 words, the best of five."""
    reader, best = engine(weights), float("inf")
    texts = [f"{TEXT}{number}" for number in range(count)]
    for _ in range(5):
        begun = time.perf_counter()
        reader.scores(texts, ["user"] * count)
        best = min(best, time.perf_counter() - begun)
    return best / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--work", type=Path, default=Path("out/training"))
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for shape in SHAPES:
        training = Training(
            options.texts, options.measure, options.work, Plan(student_epochs=options.epochs, shape=shape)
        )
        path = options.work / "frontier.bin"
        export(*training.student(), path, "frontier")
        weights = load(path)
        english, others = quality(weights, options.texts)
        told = f"{len(weights.content) / 1e6:.1f} MB", f"{microseconds(weights):.1f}", f"{english:.3f}", f"{others:.3f}"
        rows.append(("/".join(map(str, shape)), *told))
    say(
        "| buckets/dims/channels/width/queries | size | us, 40 words | area, English | area, others |\n"
        "| - | - | - | - | - |"
    )
    for row in rows:
        say(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
