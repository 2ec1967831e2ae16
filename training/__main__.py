"""Trains the learned reader: python -m training --texts DIR [--measure DIR] [--work DIR] [--small].

    examples -> teacher -> its answers -> student -> weights.bin -> decisions.yaml -> card.json

`--texts` holds the published sets, `--measure` sets that others measure with: what shares a long run with one of them
is left out. Each step leaves its result in the work folder, and a second call goes on behind the last one. `--small`
runs every step on a few rows, for the test; its results stay in the work folder.
"""

import argparse
import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.rows import READ, TRAIN, rows_in
from synthesis.reader.weights import BUNDLED, load
from training import card, decide, sources, student, teacher
from training.export import export
from training.heads import NAMES
from training.pool import pool
from training.sources import Example

ENGLISH = "en"


class Plan(NamedTuple):
    """How much of everything."""

    seed: int = 1
    first_epochs: int = 3  # of the teacher, on English with the published labels
    more_epochs: int = 2  # and then mostly on our own
    student_epochs: int = 9
    shape: student.Shape = student.Shape()
    most: int | None = None  # examples of each kind


SMALL = Plan(first_epochs=1, more_epochs=1, student_epochs=2, shape=student.Shape(1 << 10, 8, 16, 5, 2), most=60)
# Of these published sets a part is enough for the teacher: they ask a neighbouring question.
MOST_FIRST = {
    "goemotions": 2000,
    "advice": 1200,
    "robot": 500,
    "persona": 900,
    "cue_emoji": 900,
    "xed": 300,
    "cue_moderation": 600,
}
MOST_MORE = {
    "goemotions": 200,
    "advice": 150,
    "robot": 100,
    "persona": 150,
    "cue_emoji": 200,
    "xed": 50,
    "cue_moderation": 100,
    "cssrs": 200,
    "everyday": 500,
}
MOST_STUDENT = {"goemotions": 6000, "advice": 4000, "robot": 1500, "persona": 2000, "cue_emoji": 2500, "xed": 9000}


def say(text: str) -> None:
    print(text, flush=True)


class Training:
    """The steps, each with its result in a folder."""

    def __init__(self, texts: Path | None, measure: Path | None, work: Path, plan: Plan) -> None:
        self.texts, self.work, self.plan = texts, work, plan
        own, self.public = sources.own(texts), sources.public(texts, measure) if texts else []
        self.own = own if plan.most is None else sources.shuffled(own, plan.seed)[: plan.most]
        self.public = sources.shuffled(self.public, plan.seed)[: plan.most]
        work.mkdir(parents=True, exist_ok=True)

    def teacher(self) -> teacher.Teacher:
        path = self.work / "teacher.pt"
        if path.is_file():
            return teacher.load(path)
        plan, labelled = self.plan, [one for one in self.public if one.labels]
        first = [one for one in (*self.own, *some(labelled, MOST_FIRST)) if one.lang == ENGLISH]
        more = [one for one in (*self.own, *some(labelled, MOST_MORE)) if one.lang == ENGLISH]
        found = teacher.train(first, epochs=plan.first_epochs, seed=plan.seed, say=say)
        found = teacher.train(more, epochs=plan.more_epochs, seed=plan.seed + 1, say=say, rate=7e-5, model=found)
        teacher.save(found, path)
        return found

    def answers(self) -> tuple[list[Example], np.ndarray]:
        path = self.work / "answers.pickle"
        if not path.is_file():
            asked = pool([*self.own, *self.public], self.plan.seed)
            say(f"the teacher answers {len(asked)} texts")
            path.write_bytes(pickle.dumps((asked, teacher.answers(self.teacher(), asked, say))))
        found: tuple[list[Example], np.ndarray] = pickle.loads(path.read_bytes())
        return found

    def examples(self) -> tuple[list[Example], np.ndarray, np.ndarray]:
        """Labels where they are our own, the teacher's answers elsewhere, both together where both are known."""
        labelled = [*self.own, *some([one for one in self.public if one.labels], MOST_STUDENT)]
        return student.targets(labelled, *self.answers())

    def student(self) -> tuple[student.Student, student.Batcher]:
        """Our own rows twice in each epoch."""
        examples, values, weights = self.examples()
        twice = [*range(len(examples)), *range(len(self.own))]
        batcher = student.Batcher([examples[place] for place in twice], student.Texts(self.plan.shape.buckets))
        found = student.train(
            self.plan.shape, batcher, values[twice], weights[twice],
            epochs=self.plan.student_epochs, seed=self.plan.seed, say=say,
        )  # fmt: skip
        return found, batcher

    def run(self, into: Path) -> None:
        """Train, and write what the package ships into a folder."""
        into.mkdir(parents=True, exist_ok=True)
        export(*self.student(), into / BUNDLED.name, name="learned-1")
        weights = load(into / BUNDLED.name)
        rows = [*rows_in(READ, texts=self.texts), *decide.ordinary_rows()]
        facts = decide.known(rows[:: len(rows) // (self.plan.most or len(rows))], weights)
        decide.write(decide.decided(facts, weights), into / "decisions.yaml")
        trained, *_ = self.examples()
        card.write(into / "card.json", weights, trained, rows_in(TRAIN)[: self.plan.most or 400], self.plan._asdict())
        say(f"wrote {into / BUNDLED.name}, {weights.hash}: {len(NAMES)} heads")


def some(examples: list[Example], most: dict[str, int]) -> list[Example]:
    """At most so many of each source."""
    taken: dict[str, int] = {}
    found = []
    for example in examples:
        taken[example.source] = taken.get(example.source, 0) + 1
        if taken[example.source] <= most.get(example.source, len(examples)):
            found.append(example)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="the published sets")
    parser.add_argument("--measure", type=Path, help="sets that measure: what they share is left out")
    parser.add_argument("--work", type=Path, default=Path("out/training"))
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    training = Training(options.texts, options.measure, options.work, SMALL if options.small else Plan())
    training.run(options.work / "small" if options.small else BUNDLED.parent)


if __name__ == "__main__":
    main()
