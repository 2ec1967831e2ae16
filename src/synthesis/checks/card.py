"""The card of the learned reader, which training writes: its sources, what each head means, how often it errs."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import Place, WeightsError
from synthesis.reader.weights import BUNDLED

CARD = BUNDLED.with_name("card.json")


class TrainingSource(msgspec.Struct, frozen=True):
    """Texts that the weights were trained on."""

    source: str
    licence: str = ""
    rows: int = 0


class HeadFigures(msgspec.Struct, frozen=True):
    """How often a head is right in one language of one part of the corpus, beside rules alone; None: not measured."""

    language: str
    part: str
    positives: int = 0
    precision: float | None = None
    recall: float | None = None
    rules_precision: float | None = None
    rules_recall: float | None = None


class HeadCard(msgspec.Struct, frozen=True):
    """One head: what it means, words that weigh most, figures, limits."""

    means: str = ""
    words_for: list[str] = []
    words_against: list[str] = []
    figures: list[HeadFigures] = []
    limits: str = ""


class ReaderCard(msgspec.Struct, frozen=True):
    """The whole card. Fields of later versions are for them."""

    name: str
    trained_on: list[TrainingSource] = []
    heads: dict[str, HeadCard] = {}
    seeds: Any = None
    sizes: Any = None
    intended_use: str = ""
    limits: str = ""


@cache
def reader_card(path: Path) -> ReaderCard | None:
    """The card beside the weights; None where there is none."""
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReaderCard)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        hint = "The file is damaged, or for another version of Synthesis: install the package again."
        message = f"the card of the learned reader cannot be read: {error}"
        raise WeightsError(message, place=Place(str(path)), hint=hint) from None
