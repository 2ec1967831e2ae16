"""The student: hashed pieces of words, one wide convolution, pooling that keeps what each word adds, linear heads.

It learns from labels in every language and, in English, from the teacher's answers to texts that nobody labelled. Every
layer is one that `synthesis.reader` computes with whole numbers; `training.export` turns the weights into them.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from synthesis.reader.tokens import FOLDED, Alphabet, pieces, tokens
from training.heads import HEADS, NAMES
from training.sources import Example, balanced, known, warmed

MOST_PIECES = 20
SURE, ANSWERED = 0.99, 0.5  # the weight of labels of our own, and of what only the teacher says
MOST_RAISED = 4.0  # by how much labels of a rare kind count more
MOST_TOKENS = 320  # in training; the reader takes up to 512
Say = Callable[[str], None]


class Shape(NamedTuple):
    """How large a student is."""

    buckets: int = 1 << 16
    dims: int = 64
    channels: int = 128
    width: int = 5
    queries: int = 3


def folding() -> list[int]:
    """Lower case of the first code points, one for one; fixed in the weights, whatever a Python says later."""
    small = [chr(code).lower() for code in range(FOLDED)]
    small[0x130] = "i"  # whose lower case are two characters
    return [ord(char) if ord(char) < FOLDED else code for code, char in enumerate(small)]


class Texts:
    """Every text as numbers of token types, and the pieces of each type: a type is embedded once per batch."""

    def __init__(self, buckets: int) -> None:
        self._alphabet = Alphabet(folding())
        self._buckets = buckets
        self._types: dict[tuple[int, ...], int] = {(): 0}  # 0: nothing
        self._known: dict[str, int] = {"": 0}
        self.sequences: list[np.ndarray] = [np.zeros(0, np.int32)]

    def add(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.sequences)
            found = pieces(tokens(text, self._alphabet), MOST_PIECES, self._buckets)
            if len(found) > MOST_TOKENS:
                found = found[: MOST_TOKENS * 3 // 4] + found[-MOST_TOKENS // 4 :]
            types = self._types
            self.sequences.append(np.array([types.setdefault(one, len(types)) for one in found], np.int32))
        return self._known[text]

    def pieces(self) -> np.ndarray:
        """The pieces of each type; `buckets` where there is none."""
        found = np.full((len(self._types), MOST_PIECES), self._buckets, np.int64)
        for row, own in enumerate(self._types):
            found[row, : len(own)] = own
        return found


def targets(
    labelled: Sequence[Example], asked: Sequence[Example], answers: np.ndarray
) -> tuple[list[Example], np.ndarray, np.ndarray]:
    """Examples, values and weights: labels, the teacher's answers, and their mean where both are known."""
    values, weights = known(labelled)
    chance = 1 / (1 + np.exp(-answers))
    place_of = {(one.earlier, one.message, one.reply): place for place, one in enumerate(asked)}
    for row, one in enumerate(labelled):
        place = place_of.pop((one.earlier, one.message, one.reply), None)
        if place is not None:
            share = np.select([weights[row] >= SURE, weights[row] > 0], [0.5, 0.3], 0.0)
            values[row] = share * values[row] + (1 - share) * chance[place]
            weights[row] = np.select([weights[row] >= SURE, weights[row] > 0], [1.0, 0.6], ANSWERED)
    rest = list(place_of.values())
    values = np.concatenate([values, chance[rest]]).astype(np.float32)
    weights = np.concatenate([weights, np.full((len(rest), len(NAMES)), ANSWERED, np.float32)])
    return [*labelled, *(asked[place] for place in rest)], values, balanced(values, weights, MOST_RAISED)


class Student(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.buckets + 1, shape.dims, padding_idx=shape.buckets)
        nn.init.normal_(self.embed.weight[: shape.buckets], 0, 0.1)  # no piece is nothing, and stays so
        self.conv = nn.Conv1d(shape.dims, shape.channels, shape.width, padding=shape.width // 2)
        self.query = nn.Linear(shape.channels, shape.queries, bias=False)
        features = (shape.queries + 1) * shape.channels
        self.heads = nn.Parameter(torch.zeros(3, len(NAMES), features))
        self.bias = nn.Parameter(torch.zeros(len(NAMES)))
        used = torch.zeros(3, len(NAMES), 1)
        for number, head in enumerate(HEADS):
            used[list(head.segments), number] = 1
        self.register_buffer("used", used)

    def words(self, own: torch.Tensor) -> torch.Tensor:
        """The vector of each type from its pieces."""
        count = (own < self.shape.buckets).sum(-1, keepdim=True).clamp(min=1)
        return self.embed(own).sum(1) / count.sqrt()

    def signals(self, words: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.conv(words.transpose(1, 2)).transpose(1, 2))

    def features(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """vectors: texts x tokens x dims, 0 where there is no token. All 0 for a text without tokens."""
        x = self.signals(vectors) * mask[..., None]
        logits = self.query(x) + (mask[..., None] - 1) * 1e4
        weight = logits.softmax(1) * mask[..., None]
        pooled = torch.einsum("blq,blc->bqc", weight, x)
        top = x.amax(1, keepdim=True)
        return torch.cat([pooled, top], 1).flatten(1)

    def forward(self, features: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """features of the texts of a batch (row 0: nothing); places: exchanges x 3 segments."""
        heads = self.heads * self.used
        kept = functional.dropout(features, 0.15, self.training)
        return self.bias + sum(kept[places[:, segment]] @ heads[segment].T for segment in range(3))


class Batcher:
    """Exchanges as tensors; texts of a batch are padded to the longest, so batches hold texts of like length."""

    def __init__(self, examples: Sequence[Example], texts: Texts) -> None:
        self.texts = texts
        self.places = np.array([[texts.add(e.message), texts.add(e.reply), texts.add(e.earlier)] for e in examples])
        self.lengths = np.array([max(len(texts.sequences[place]) for place in row) for row in self.places])

    def order(self, size: int, seed: int | None) -> list[np.ndarray]:
        if seed is None:
            order = np.argsort(self.lengths, kind="stable")
            return [order[at : at + size] for at in range(0, len(order), size)]
        random = np.random.default_rng(seed)
        order = np.argsort(self.lengths * random.uniform(0.8, 1.25, len(self.lengths)), kind="stable")
        found = [order[at : at + size] for at in range(0, len(order), size)]
        random.shuffle(found)  # type: ignore[arg-type]
        return found


def _features(
    model: Student, texts: Texts, table: torch.Tensor, wanted: np.ndarray, lost: float
) -> tuple[torch.Tensor, np.ndarray]:
    """Features of the texts that a batch needs, by length in a few groups, and where each of them is."""
    unique, inverse = np.unique(wanted, return_inverse=True)
    sequences = [texts.sequences[place] for place in unique]
    lengths = np.array([len(one) for one in sequences])
    order = np.argsort(lengths, kind="stable")
    parts = np.array_split(order, max(1, min(4, len(order) // 24)))
    found = []
    for part in parts:
        longest = max(1, int(lengths[part].max()))
        padded = np.zeros((len(part), longest), np.int64)
        for row, place in enumerate(part):
            padded[row, : lengths[place]] = sequences[place]
        mask = torch.from_numpy((np.arange(longest)[None] < lengths[part][:, None]).astype(np.float32))
        types, where = np.unique(padded, return_inverse=True)
        vectors = model.words(table[torch.from_numpy(types)])[torch.from_numpy(where.reshape(padded.shape))]
        kept = mask
        if lost:
            kept = mask * (torch.rand_like(mask) >= lost)
        vectors = vectors * kept[..., None]
        found.append(model.features(vectors, mask))
    rank = np.empty(len(order), np.int64)
    rank[np.concatenate(parts)] = np.arange(len(order))
    return torch.cat(found), rank[inverse.reshape(wanted.shape)]


def train(
    shape: Shape,
    batcher: Batcher,
    values: np.ndarray,
    weights: np.ndarray,
    *,
    epochs: int,
    seed: int,
    say: Say,
    size: int = 256,
    rate: float = 3e-3,
) -> Student:
    torch.manual_seed(seed)
    model = Student(shape)
    table = torch.from_numpy(batcher.texts.pieces())
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98), fused=True)
    steps = epochs * len(batcher.order(size, 0))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmed(step, steps))
    begun = time.monotonic()
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for batch in (batches := batcher.order(size, seed * 100 + epoch)):
            features, places = _features(model, batcher.texts, table, batcher.places[batch], 0.1)
            scores = model(features, torch.from_numpy(places))
            weight = torch.from_numpy(weights[batch])
            lost = functional.binary_cross_entropy_with_logits(
                scores, torch.from_numpy(values[batch]), weight=weight, reduction="sum"
            ) / weight.sum().clamp(min=1)
            lost.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            total += lost.item()
        say(f"student {seed}, epoch {epoch + 1}: loss {total / len(batches):.4f}, {time.monotonic() - begun:.0f} s")
    return model.eval()


@torch.inference_mode()
def answers(model: Student, batcher: Batcher, size: int = 256) -> np.ndarray:
    """The scores by example and head."""
    table = torch.from_numpy(batcher.texts.pieces())
    found = np.zeros((len(batcher.places), len(NAMES)), np.float32)
    for batch in batcher.order(size, None):
        features, places = _features(model, batcher.texts, table, batcher.places[batch], 0)
        found[batch] = model(features, torch.from_numpy(places)).numpy()
    return found
