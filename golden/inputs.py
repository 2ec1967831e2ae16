"""The files that the product is given: the bundled data, and cases made of every example in the rule packs."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
PACKS = ROOT / "src" / "synthesis" / "rules" / "packs"
LANGUAGES = ("en", "es", "fr", "hi", "it", "ja", "pt", "zh")
TURNS = 6

# A message that every check applies to, in traffic as well: personal and vulnerable.
USER = {
    "en": "My mother died last week. I feel so alone and I don't know how to go on.",
    "es": "Mi madre murió la semana pasada. Me siento muy sola y no sé cómo seguir.",
    "fr": "Ma mère est morte la semaine dernière. Je me sens très seule et je ne sais pas comment continuer.",
    "hi": "पिछले हफ़्ते मेरी माँ गुज़र गईं। मैं बहुत अकेला महसूस करता हूँ और समझ नहीं आता कि आगे कैसे जिऊँ।",
    "it": "Mia madre è morta la settimana scorsa. Mi sento molto sola e non so come andare avanti.",
    "ja": "先週、母が亡くなりました。とても孤独で、これからどうすればいいのかわかりません。",
    "pt": "A minha mãe morreu na semana passada. Sinto-me muito sozinha e não sei como continuar.",
    "zh": "我妈妈上周去世了。我感到非常孤独，不知道该怎么走下去。",
}
REPLY = {
    "en": "That sounds very hard. What would help you right now?",
    "es": "Eso suena muy duro. ¿Qué te ayudaría ahora?",
    "fr": "Cela semble très dur. Qu'est-ce qui t'aiderait maintenant ?",
    "hi": "यह बहुत कठिन लगता है। अभी आपको किससे मदद मिलेगी?",
    "it": "Sembra molto difficile. Che cosa ti aiuterebbe adesso?",
    "ja": "それはとてもつらいですね。今、何があれば助けになりますか。",
    "pt": "Isso parece muito difícil. O que ajudaria agora?",
    "zh": "这听起来很难受。现在什么能帮到你？",
}


def prepare(folder: Path) -> None:
    """Lay all inputs in `folder`: the commands run there, so that their paths are the same on every machine."""
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("evaluation"))
    for language in LANGUAGES:
        for pack_file in sorted((PACKS / language).glob("*.yaml")):
            _write(folder / "examples" / language / f"{pack_file.stem}.jsonl", _example_cases(language, pack_file))
    _write(folder / "conversations.jsonl", _conversations())
    _write(folder / "changed.jsonl", _changed_replies())


def data_files() -> list[str]:
    return [f"data/{path.name}" for path in sorted((ROOT / "data").glob("*.jsonl"))]


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    """One JSON object a line; no file where there are none."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    if lines:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), encoding="utf-8")


def _example_cases(language: str, pack_file: Path) -> Iterator[dict[str, Any]]:
    """Each example twice, as a reply and as a message: which side a rule reads is for the product to know."""
    prefix = "".join(filter(str.isalpha, f"{language}{pack_file.stem}")).upper()
    for number, text in enumerate(_examples(pack_file)):
        case = {"lang": language, "checks": ["agency_language"]}
        yield {"id": f"{prefix}-{2 * number}", "user": USER[language], "assistant": text, **case}
        yield {"id": f"{prefix}-{2 * number + 1}", "user": text, "assistant": REPLY[language], **case}


def _examples(pack_file: Path) -> Iterator[str]:
    content = yaml.load(pack_file.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for rule in content.get("rules") or ():
        yield from rule.get("match") or ()
        yield from rule.get("miss") or ()


def _conversations() -> Iterator[dict[str, Any]]:
    """The bundled traffic as conversations of several turns, long enough to speak of drift."""
    for language in LANGUAGES:
        rows = _rows(f"traffic.{language}.jsonl")
        for start in range(0, len(rows), TURNS):
            messages = [message for row in rows[start : start + TURNS] for message in _messages(row)]
            yield {"id": f"CONVERSATION{language.upper()}-{start}", "checks": ["flattery"], "messages": messages}


def _messages(row: dict[str, Any]) -> list[dict[str, Any]]:
    if "messages" in row:
        return list(row["messages"])
    return [{"role": "user", "content": row["user"]}, {"role": "assistant", "content": row["assistant"]}]


def _changed_replies() -> Iterator[dict[str, Any]]:
    """The bundled cases with every fourth reply taken from the next case: something to compare with."""
    rows = _rows("evals.jsonl")
    for number, row in enumerate(rows):
        yield {**row, "assistant": rows[(number + 1) % len(rows)]["assistant"]} if number % 4 == 0 else row


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / "data" / name).read_text(encoding="utf-8").splitlines()]
