"""Examples with labels: the corpus's train part, pairs written for training, and public sets with permissive licences.

What measures never trains: public texts that stand in another part of the corpus are left out with their whole group,
and so is every text that shares a long run of characters with a measuring set (`measure`).
"""

import hashlib
import json
import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.rows import ASSISTANT, FAIL, OK, READ, SCORED, SEALED, TRAIN, USER, Row, hash_of, rows_in, rows_of
from corpus.rows import FOLDER as CORPUS
from corpus.validate import fold, measured_texts
from training.heads import CHECKS, NAMES

FOLDER = Path(__file__).parent
PAIRS = FOLDER / "pairs"
WEAK, WEAKER = 0.3, 0.15  # of labels that ask a neighbouring question
# Situations of the corpus whose danger is somebody else's, or comes from somebody else.
NOT_OWN = frozenset({"partner-violence", "worried-relative", "danger-at-home-now", "stalking", "threat-to-someone"})
OWN_KINDS = frozenset({"suicide", "self_harm", "overdose"})  # of written messages
Labels = dict[str, tuple[float, float]]  # by head: value from 0 to 1, and weight


class Example(NamedTuple):
    """An exchange or a part of one, with what is known of it."""

    source: str
    group: str
    lang: str
    earlier: str
    message: str
    reply: str
    labels: Labels


# Our own rows.


def corpus_examples(part: str, texts: Path | None) -> list[Example]:
    """The exchanges of a part of the corpus; a row with several replies gives several."""
    return [example for row in rows_in(part, texts=texts) for example in exchanges_of(row)]


def exchanges_of(row: Row) -> Iterator[Example]:
    earlier = message = ""
    for number, said in enumerate(row.messages):
        if said.role == USER:
            earlier, message = message, said.content
        elif said.role == ASSISTANT:
            labels = _verdicts(row, number) | _of_person(row, number - 1) | _signals(row)
            yield Example(row.origin, row.group or row.id, row.lang, earlier, message, said.content, labels)


def _verdicts(row: Row, number: int) -> Labels:
    """One failing reply fails a row: spans tell which. What follows the first one is not known."""
    found: Labels = {}
    for check in CHECKS:
        label = row.label(check)
        failing = [span.message for span in row.spans if span.label == check]
        if label == FAIL and failing:
            if number in failing:
                found[check] = (1.0, 1.0)
            elif number < min(failing):
                found[check] = (0.0, 1.0)
        elif label in (OK, "na"):
            found[check] = (0.0, 1.0)
    return found


def _of_person(row: Row, number: int) -> Labels:
    found: Labels = {}
    cued = [span.message for span in row.spans if span.label == "cue"]
    if row.cue and number in cued:
        found |= {"cue": (float(row.cue == "explicit"), 1.0), "cue_any": (1.0, 1.0)}
        found["cue_self"] = (float(row.situation not in NOT_OWN), 1.0)
        if row.label("crisis_response") in (OK, FAIL):
            found["helps"] = (float(row.label("crisis_response") == OK), 1.0)
    elif not row.cue or (cued and number < min(cued)):
        found |= _no_cue(1.0)
    is_single = len(row.messages) <= 2
    for head, check in (
        ("personal", "agency_language"),
        ("vulnerability", "topic_pivot"),
        ("asks_human", "disclosure"),
    ):
        if row.label(check) == "na":
            found[head] = (0.0, 1.0)
        elif is_single or head == "personal":
            found[head] = (1.0, 1.0)
    return found


def _no_cue(weight: float) -> Labels:
    return dict.fromkeys(("cue", "cue_any", "cue_self"), (0.0, weight))


def _signals(row: Row) -> Labels:
    """Signals hold for a row: they say something of an exchange where it is the only one."""
    if not row.signals or len(row.messages) > 2:
        return {}
    told = row.signals
    return {
        "acknowledgment": (float(told.get("acknowledgment", "none") != "none"), 1.0),
        "exploration": (float(told.get("exploration") == "yes"), 1.0),
        "direction": (float(told.get("direction") == "directive"), 1.0),
        "advice_asked": (float(told.get("advice_asked") == "yes"), 1.0),
    }


def pair_examples(folder: Path = PAIRS) -> list[Example]:
    """What was written for training alone: contrast pairs, messages, sentences of replies."""
    found: list[Example] = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            found += _of_pair(json.loads(line), path.stem[:2], f"{path.stem}-{number}")
    return found


def _of_pair(row: dict[str, str], lang: str, group: str) -> Iterator[Example]:
    if "check" in row:
        check, person = row["check"], _person_of_check(row["check"])
        bad: Labels = {check: (1.0, 1.0)}
        good: Labels = dict.fromkeys(CHECKS, (0.0, 1.0))
        if check == "crisis_response":
            bad["helps"], good["helps"] = (0.0, 1.0), (1.0, 1.0)
        yield Example("pairs", group, lang, "", row["user"], row["fail"], bad | person)
        yield Example("pairs", group, lang, "", row["user"], row["ok"], good | person)
    elif "cue" in row:
        explicit, hinted = row["cue"] == "explicit", row["cue"] != "none"
        labels = {"cue": (float(explicit), 1.0), "cue_any": (1.0, 1.0)} if hinted else _no_cue(1.0)
        if hinted and "kind" in row:
            labels["cue_self"] = (float(row["kind"] in OWN_KINDS), 1.0)
        yield Example("pairs", group, lang, "", row["user"], "", labels)
    elif "good" in row:
        good = dict.fromkeys(CHECKS, (0.0, 1.0))
        yield Example("pairs", group, lang, "", row["user"], row["assistant"], good)
    elif "signal" in row:
        labels = {row["signal"]: (float(row["value"] == "yes"), 1.0)}
        yield Example("pairs", group, lang, "", "", row["assistant"], labels)


def _person_of_check(check: str) -> Labels:
    if check == "crisis_response":
        return {"cue_any": (1.0, 1.0)}
    known: Labels = _no_cue(0.5) | {"asks_human": (float(check == "disclosure"), 1.0)}
    return known | ({"vulnerability": (1.0, 1.0), "personal": (1.0, 1.0)} if check == "topic_pivot" else {})


# Published sets.


PAIN = {"sadness", "grief", "fear", "nervousness", "remorse", "disappointment", "embarrassment"}
NO_PAIN = {
    "neutral",
    "joy",
    "amusement",
    "admiration",
    "excitement",
    "gratitude",
    "curiosity",
    "approval",
    "anticipation",
}
EXPLICIT_LEVEL = 2  # of the scale in `cssrs`: 1 is a passive wish


def _public_labels(name: str, row: dict[str, Any]) -> tuple[str, Labels]:
    """On which side a text stands, and what its label says of our questions."""
    label = row["label"]
    match name:
        case "cssrs" if label is not None:
            plain = float(row["human"] >= EXPLICIT_LEVEL) if label else 0.0
            return "message", {"cue": (plain, WEAK), "cue_any": (float(label), 0.6), "cue_self": (float(label), 0.6)}
        case "cue_emoji":
            return "message", dict.fromkeys(("cue_any", "cue_self"), (1.0, WEAKER)) if label else _no_cue(WEAK)
        case "cue_life" | "cue_moderation" if label == 0:
            return "message", _no_cue(WEAK)
        case "cue_prompts" if label is not None:
            return "message", dict.fromkeys(("cue", "cue_any", "cue_self"), (float(label), WEAK))
        case "figurative":
            return "message", _no_cue(1.0)
        case "goemotions" | "xed":
            named = set(label or ())
            if named & PAIN and not named & NO_PAIN:
                return "message", {"vulnerability": (1.0, WEAKER)}
            return "message", {"vulnerability": (0.0, WEAKER)} if named and named <= NO_PAIN else {}
        case "advice":
            return "reply", {"direction": (float(label), WEAKER)}
        case "robot" if label in ("pos", "neg"):
            return "message", {"asks_human": (float(label == "pos"), WEAK)}
        case "persona":
            return "reply", {"identity_claim": (float(label), WEAKER)}
        case "everyday":
            quiet: Labels = _no_cue(0.6) | {"personal": (0.0, WEAK), "asks_human": (0.0, 0.6)}
            return "exchange", quiet | dict.fromkeys(CHECKS, (0.0, 0.6))
        case "identity_honest":
            return "exchange", {"identity_claim": (0.0, 0.6), "disclosure": (0.0, 0.6)}
    return ("exchange" if "assistant" in row else "reply" if name == "support_bolt" else "message"), {}


def public_examples(texts: Path, held: set[tuple[str, str]], measured: "Runs") -> Iterator[Example]:
    """The published sets, less what stands in other parts of the corpus or shares a run with a measuring set."""
    for path in sorted(texts.glob("*.jsonl.xz")):
        name = path.name.split(".")[0]
        for row in _rows(path):
            if (name, row["group"]) in held or measured.shared_by(_texts_of(row)):
                continue
            side, labels = _public_labels(name, row)
            message, reply = row.get("user", ""), row.get("assistant", "")
            if "text" in row:
                message, reply = (row["text"], "") if side == "message" else ("", row["text"])
            yield Example(name, f"{name}/{row['group']}", row["lang"], "", message, reply, labels)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _texts_of(row: dict[str, Any]) -> list[str]:
    return [row[key] for key in ("text", USER, ASSISTANT) if key in row]


def held_groups(texts: Path, parts: Sequence[str] = (READ, SCORED, SEALED)) -> set[tuple[str, str]]:
    """Every group of a published set one of whose rows stands in a part that measures."""
    kept = {row.hash for part in parts for row in rows_of(CORPUS / "public" / f"{part}.jsonl")}
    held: set[tuple[str, str]] = set()
    for path in sorted(texts.glob("*.jsonl.xz")):
        for row in _rows(path):
            if USER in row and ASSISTANT in row and hash_of((row[USER], row[ASSISTANT])) in kept:
                held.add((path.name.split(".")[0], row["group"]))
    return held


class Runs:
    """Long runs of characters of texts that measure; whoever shares one is left out."""

    def __init__(self, folder: Path | None) -> None:
        self._runs: dict[int, set[int]] = {}
        for text in measured_texts(folder) if folder else ():
            runs = self._runs.setdefault(text.run, set())
            folded = text.words
            runs.update(hash(folded[at : at + text.run]) for at in range(0, len(folded) - text.run + 1, 8))

    def shared_by(self, texts: Iterable[str]) -> bool:
        """Every place of a text is looked at, and every eighth of the measuring sets is known."""
        return any(self._shares(fold(text)) for text in texts)

    def _shares(self, text: str) -> bool:
        return any(
            hash(text[at : at + run]) in runs for run, runs in self._runs.items() for at in range(len(text) - run + 1)
        )


# All of them.


def own(texts: Path | None) -> list[Example]:
    """What asks our own questions: the corpus's train part, and what was written for training."""
    return corpus_examples(TRAIN, texts) + pair_examples()


def public(texts: Path, measure: Path | None) -> list[Example]:
    """The published sets, with labels and without."""
    return list(public_examples(texts, held_groups(texts), Runs(measure)))


def shuffled(examples: Iterable[Example], seed: int) -> list[Example]:
    """In an order that depends on the seed alone."""
    ordered = list(examples)
    random.Random(seed).shuffle(ordered)
    return ordered


def fingerprint(examples: Iterable[Example]) -> str:
    """A hash of everything that trains, for the card."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()[:16]


# As numbers.


def known(examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    """Values and weights by example and head; weight 0: not known."""
    values = np.zeros((len(examples), len(NAMES)), np.float32)
    weights = np.zeros_like(values)
    for row, example in enumerate(examples):
        for name, (value, weight) in example.labels.items():
            values[row, NAMES.index(name)] = value
            weights[row, NAMES.index(name)] = weight
    return values, weights


def balanced(values: np.ndarray, weights: np.ndarray, most: float = 6.0) -> np.ndarray:
    """The weights, those of positive labels raised where they are rare: by the root, so that scores keep a meaning."""
    positive = (values * weights).sum(0)
    negative = ((1 - values) * weights).sum(0)
    ratio = np.sqrt(np.clip(negative / np.maximum(positive, 1), 1, most * most))
    return weights * (1 + values * (ratio - 1))


def warmed(step: int, steps: int, warm: int = 60) -> float:
    """The rate of learning by step: up quickly, then down in a line."""
    return min((step + 1) / warm, max(0.02, 1 - step / steps))
