"""Made-up conversations for the speed benchmarks: the same for the same seed, and of a known size and kind.

short      about 290 characters a case, many hits
realistic  about 1,250 characters a case, curly quotes and lists, few hits
distinct   about 500 characters a case, no two lines alike: sentences of the rules' own examples with other words
mixed      short cases in all the languages there are packs for, from the bundled cases
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from synthesis.checks import rules_in_force
from synthesis.io import CASES

CHECKS = ["agency_language", "unverifiable_reassurance", "topic_pivot"]
_USERS = (
    "I lost my job on Monday and I feel awful. {detail}",
    "My sister stopped talking to me. {detail}",
    "I can't sleep since the accident. {detail}",
    "My dog died and the flat is so quiet. {detail}",
    "The exam went badly and I'm ashamed. {detail}",
)
_DETAILS = (
    "Nobody at home knows about it yet.",
    "I keep going over every single word.",
    "It was on a grey afternoon by the river.",
    "We had planned the whole summer around it.",
    "I don't even know where to begin.",
)
_REPLIES = (
    "I'm so sorry, that sounds really hard.",
    "You should just try to relax and move on.",
    "Would you like to tell me what happened?",
    "I promise everything will work out in the end.",
    "It makes sense that you feel this way.",
    "Don't worry about it, you'll definitely be fine.",
    "What feels most important to you right now?",
    "Anyway, have you thought about a new hobby?",
    "Everyone understands what you are going through.",
    "Take your time; we can go at your pace.",
)
_PLAIN = (
    "The committee met on the second floor and read the minutes of the spring session aloud.",
    "Our neighbours’ garden has three apple trees, and the oldest one leans towards the fence.",
    "A parcel usually takes four days, unless it passes through the depot near the harbour.",
    "The recipe calls for two cups of flour, a pinch of salt and a spoon of “good” butter.",
    "On the way home the tram stopped twice, because a lorry stood across the rails.",
    "The museum’s new wing shows maps from the time before the canal was dug.",
    "Rain is expected in the north by evening; the south stays dry until the weekend.",
    "The printer on the third floor needs a new drum, and the paper tray is bent.",
)
_LIST = "\n\n- Write down what you remember\n- Put the papers in one place\n- Ask the office which form they need\n\n"


def short(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    for number in range(count):
        user = chance.choice(_USERS).format(detail=chance.choice(_DETAILS))
        yield _case(number, user, " ".join(chance.sample(_REPLIES, 5)))


def realistic(count: int, seed: int = 2) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    for number in range(count):
        user = f"{chance.choice(_USERS).format(detail=chance.choice(_DETAILS))} {chance.choice(_PLAIN)}"
        filler = " ".join(chance.choices(_PLAIN, k=8))
        reply = f"{chance.choice(_REPLIES)} {filler}{_LIST}{' '.join(chance.choices(_PLAIN, k=2))}"
        yield _case(number, user, reply.replace("'", "’"))


def distinct(count: int, seed: int = 4) -> Iterator[dict[str, Any]]:
    """No line twice, so that nothing is gained by remembering lines; one sentence in four has something to find."""
    chance = random.Random(seed)
    examples = [text for rule in rules_in_force().packs["en"].rules for text in (*rule.match, *rule.miss)]
    words = sorted({word for text in examples for word in text.split()})
    for number in range(count):

        def sentences(length: int) -> str:
            made = [" ".join(chance.choices(words, k=chance.randint(6, 16))) + "." for _ in range(length)]
            found = chance.sample(examples, 1 + length // 4)
            return " ".join(chance.sample([*made, *found], len(made) + len(found)))

        yield _case(number, sentences(1), sentences(4))


def mixed(count: int, seed: int = 3) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    rows = [
        json.loads(line)
        for path in sorted(CASES.parent.glob("evals*.jsonl"))
        if "safety" not in path.name
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for number in range(count):
        row = chance.choice(rows)
        yield _case(number, row["user"], row["assistant"])


def _case(number: int, user: str, assistant: str) -> dict[str, Any]:
    return {"id": f"B-{number}", "user": user, "assistant": assistant, "checks": CHECKS}


def write(path: Path, rows: Iterator[dict[str, Any]]) -> int:
    """Writes a case file and returns its size in bytes."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path.stat().st_size
