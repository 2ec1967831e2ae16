"""Turns a trained student into whole numbers: one file that every engine of `synthesis.reader` reads alike.

A channel may be made larger by any factor if what reads it makes it smaller again, since ReLU keeps factors. So every
channel uses the full range of its 8-bit weights, and the factors go into attention and heads.
"""

import math
from pathlib import Path

import numpy as np
import torch

from synthesis.reader.weights import STEPS, write
from training.heads import NAMES
from training.student import MOST_PIECES, Batcher, Student, folding

LARGEST_WORD, LARGEST_SIGNAL = 1023, 4095
HALVES = 64  # steps of attention's table in which its weight halves


@torch.inference_mode()
def _ranges(model: Student, batcher: Batcher, most: int = 3000) -> tuple[float, np.ndarray]:
    """How large word vectors and channels get on real texts: nearly all of them."""
    table = torch.from_numpy(batcher.texts.pieces())
    random = np.random.default_rng(1)
    chosen = random.choice(len(batcher.texts.sequences), min(most, len(batcher.texts.sequences)), replace=False)
    largest_word, channels = 0.0, []
    for place in chosen:
        sequence = batcher.texts.sequences[place]
        if len(sequence):
            words = model.words(table[torch.from_numpy(sequence.astype(np.int64))])
            largest_word = max(largest_word, float(words.abs().max()))
            channels.append(model.signals(words[None])[0].amax(0).numpy())
    return largest_word, np.quantile(np.array(channels), 0.9995, axis=0)


def export(model: Student, batcher: Batcher, path: Path, name: str) -> None:
    shape = model.shape
    embedding = model.embed.weight.detach().numpy()[: shape.buckets]
    conv = model.conv.weight.detach().numpy().transpose(0, 2, 1)  # channels x width x dims
    largest_word, tops = _ranges(model, batcher)
    unit_of_row = float(np.quantile(np.abs(embedding), 0.9999)) / 127
    unit_of_word = largest_word / LARGEST_WORD
    root = [0, *(round(4096 * unit_of_row / unit_of_word / math.sqrt(count)) for count in range(1, MOST_PIECES + 1))]
    unit_of_conv = np.maximum(np.abs(conv).max((1, 2)), 1e-9) / 127
    # So many bits are cut off that the largest channel just fits.
    unit_of_sum = unit_of_word * unit_of_conv
    shift = max(0, math.ceil(math.log2(float((tops / unit_of_sum).max()) / LARGEST_SIGNAL)))
    unit_of_signal = unit_of_sum * 2.0**shift
    query = model.query.weight.detach().numpy() * unit_of_signal * HALVES / math.log(2)
    attention = max(0, math.floor(math.log2(127 / np.abs(query).max())))
    heads = (model.heads * model.used).detach().numpy() * np.tile(unit_of_signal, shape.queries + 1) / 2**15
    unit = math.floor(math.log2(32767 / np.abs(heads).max()))
    header = {
        "name": name,
        "heads": list(NAMES),
        "bias": [round(float(bias) * 2**unit) for bias in model.bias.detach().numpy()],
        "unit": unit,
        "shift": {"word": 12, "conv": shift, "attention": attention},
        "buckets": shape.buckets,
        "dims": shape.dims,
        "channels": shape.channels,
        "width": shape.width,
        "queries": shape.queries,
        "most_pieces": MOST_PIECES,
    }
    arrays = {
        "fold": np.array(folding(), np.uint16),
        "embedding": _whole(embedding / unit_of_row, 127, np.int8),
        "root": np.array(root, np.int32),
        "conv": _whole(conv / unit_of_conv[:, None, None], 127, np.int8),
        "conv_bias": np.rint(model.conv.bias.detach().numpy() / unit_of_sum).astype(np.int32),
        "query": _whole(query * 2**attention, 127, np.int8),
        "exp2": np.array([round(2**15 * 2 ** (-step / HALVES)) for step in range(STEPS)], np.uint16),
        "heads": _whole(heads * 2.0**unit, 32767, np.int16),
    }
    write(path, header, {key: value.astype(value.dtype.newbyteorder("<")).tobytes() for key, value in arrays.items()})


def _whole(values: np.ndarray, most: int, kind: type) -> np.ndarray:
    return np.clip(np.rint(values), -most, most).astype(kind)
