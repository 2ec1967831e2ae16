"""Texts for the teacher to answer: what nobody labelled, single sentences of long replies, replies to other messages.

The more the texts resemble what will be read, the more the student learns. A reply behind a message that it does not
answer is what leaving a topic looks like; a sentence alone shows which part of a long reply an answer rests on.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence

from training.sources import Example, shuffled

MOST = {
    "goemotions": 14000,
    "advice": 5000,
    "xed": 3000,
    "robot": 600,
    "shift": 4000,
    "persona": 1200,
    "smalltalk": 2000,
}
MOVED, SENTENCES = 10000, 36000
OWN = frozenset({"written", "pairs"})
LONG = 400  # characters of a reply from which on its sentences are taken apart
_SENTENCE = re.compile(r"[^.!?\n]{12,}[.!?]?")


def pool(examples: Sequence[Example], seed: int, languages: Sequence[str] = ("en",)) -> list[Example]:
    """What the teacher is asked about, each text once."""
    taken: Counter[str] = Counter()
    found: list[Example] = []
    for example in shuffled(examples, seed):
        if example.lang in languages and taken[example.source] < MOST.get(example.source, len(examples)):
            taken[example.source] += 1
            found.append(example)
    found += _sentences(found, seed) + _moved(found, seed)
    unique = {(one.earlier, one.message, one.reply): one for one in found}
    return list(unique.values())


def _sentences(examples: Sequence[Example], seed: int) -> list[Example]:
    """Sentences alone, of the public sets, and behind their message where the exchange asks our own questions."""
    found: list[Example] = []
    for one in shuffled(examples, seed):
        told = [sentence.strip() for sentence in _SENTENCE.findall(one.reply)[:6]]
        if one.source in OWN and len(told) > 1:
            found += [one._replace(reply=sentence, labels={}) for sentence in told]
        elif one.source not in OWN and len(one.reply) > LONG:
            found += [one._replace(message="", earlier="", reply=sentence, labels={}) for sentence in told]
    return found[:SENTENCES]


def _moved(examples: Sequence[Example], seed: int) -> list[Example]:
    whole = [one for one in examples if one.message and one.reply]
    messages = [one for one in examples if one.message]
    chosen = random.Random(seed)
    return [
        one._replace(message=chosen.choice(messages).message, earlier="", labels={})
        for one in shuffled(whole, seed + 1)[:MOVED]
    ]
