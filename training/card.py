"""The card of the weights: what trained them, what each head rests on, what it is for and where it ends."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus.rows import Row
from synthesis.reader.engines import engine
from synthesis.reader.weights import Weights
from training.heads import HEADS, MESSAGE
from training.sources import Example, fingerprint

# By source: the repository and its licence. Those under CC BY are named wherever the weights ship.
LICENCES = {
    "written": ("the corpus of this project, written rows", "MIT"),
    "pairs": ("contrast pairs written for training, in this project", "MIT"),
    "advice": ("venkatasg/Advice-EMNLP2020", "MIT"),
    "cssrs": ("av9ash/llm_cssrs_code", "CC BY 4.0"),
    "cue_emoji": ("TianlinZhang668/SuicidEmoji", "MIT"),
    "cue_life": ("PlataformaLifeUA/corpus", "MIT"),
    "cue_moderation": ("openai/moderation-api-release", "MIT"),
    "cue_prompts": ("DAMO-NLP-SG/multilingual-safety-for-LLMs; bertiev/SimpleSafetyTests", "MIT; CC BY 4.0"),
    "dark": ("lennart-finke/darkbench_hackathon", "MIT"),
    "diasafety": ("thu-coai/DiaSafety", "Apache-2.0"),
    "everyday": (
        "artidoro/qlora; lightblue-tech/multilingual-mt-bench; Stability-AI/FastChat; yuzu-ai/japanese-llm-ranking; "
        "allenai/WildBench",
        "MIT; Apache-2.0",
    ),
    "figurative": ("paul-rottger/exaggerated-safety (prompts)", "CC BY 4.0"),
    "goemotions": ("monologg/GoEmotions-pytorch", "Apache-2.0"),
    "identity_honest": ("hiyouga/LLaMA-Factory", "Apache-2.0"),
    "ieval": ("Sea94/ieval", "CC BY 4.0"),
    "persona": ("anthropics/evals", "CC BY 4.0"),
    "robot": ("DNGros/R-U-A-Robot", "MIT"),
    "shift": ("HuiyuanXie/tiage", "MIT"),
    "smalltalk": ("HLTCHKUST/Xpersona", "MIT"),
    "support_bolt": ("behavioral-data/BOLT", "BSD-3-Clause"),
    "support_counsel": ("nbertagnolli/counsel-chat", "MIT"),
    "support_cpsycoun": ("CAS-SIAT-XinHai/CPsyCoun", "CC BY 4.0"),
    "support_emollm": ("SmartFlowAI/EmoLLM", "MIT"),
    "support_sage": ("Tencent/digitalhuman", "MIT"),
    "support_smile": ("qiuhuachuan/smile", "CC0"),
    "support_vera": ("SpringCare/VERA-MH", "MIT with a disclaimer"),
    "syco": ("timfduffy/syco-bench", "MIT-0"),
    "xed": ("Helsinki-NLP/XED", "CC BY 4.0"),
}
INTENDED = (
    "To find, beside rules, messages and replies that somebody should read. Not for triage, diagnosis, or any decision "
    "about a person without a person."
)
LIMITS = (
    "It has learned from texts and labels that language models wrote and from public labels of neighbouring questions; "
    "no clinician has checked them. It sees five words at a time and adds up what they say: it does not follow an "
    "argument, irony or who speaks to whom. Outside English it has learned from far fewer rows. A high score is a "
    "reason to read, a low one is no evidence of safety."
)
MOST_WORDS, LEAST_SEEN = 14, 4
SIZES = ("buckets", "dims", "channels", "width", "queries")


def write(path: Path, weights: Weights, trained: Sequence[Example], rows: Sequence[Row], plan: dict[str, Any]) -> None:
    counted = Counter(one.source if one.source in LICENCES else "public" for one in trained)
    words = weighing_words(weights, rows)
    card = {
        "name": weights.name,
        "hash": weights.hash,
        "trained_on": [
            {"source": LICENCES[source][0], "licence": LICENCES[source][1], "rows": count}
            for source, count in sorted(counted.items())
            if source in LICENCES
        ],
        "labelled_by_us": counted["public"],
        "examples": fingerprint(trained),
        "encoder_of_the_teacher": "all-MiniLM-L6-v2 (Apache-2.0)",
        "seeds": [plan["seed"], plan["seed"] + 1],
        "sizes": {"bytes": len(weights.content), **dict(zip(SIZES, plan["shape"], strict=True))},
        "plan": {key: value for key, value in plan.items() if key.endswith("epochs")},
        "heads": {head.name: {"means": head.means, **words[head.name], "limits": _limits(head.name)} for head in HEADS},
        "intended_use": INTENDED,
        "limits": LIMITS,
    }
    path.write_text(json.dumps(card, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _limits(name: str) -> str:
    if name in ("topic_pivot", "crisis_response"):
        return "Whether a reply answers its message is more than a sum of words: rules decide beside it."
    return "What is meant by what is left out, it does not see."


def weighing_words(weights: Weights, rows: Sequence[Row]) -> dict[str, dict[str, list[str]]]:
    """English words that add most to each head, and that take most from it, on average over written rows."""
    reader, found = engine(weights), {}
    texts = [(said.role, said.content) for row in rows if row.lang == "en" for said in row.messages]
    for number, head in enumerate(HEADS):
        side = "user" if head.segments[0] == MESSAGE and len(head.segments) < 3 else "assistant"
        sums: defaultdict[str, list[int]] = defaultdict(list)
        for role, text in texts:
            if role == side:
                for start, end, amount in reader.contributions(text, 0 if side == "user" else 1, number):
                    sums[text[start:end].lower()].append(amount)
        means = {
            word: sum(own) / len(own)
            for word, own in sums.items()
            if len(own) >= LEAST_SEEN and word.isalpha() and len(word) > 2
        }
        ordered = sorted(means, key=lambda word: (-means[word], word))
        found[head.name] = {"words_for": ordered[:MOST_WORDS], "words_against": ordered[::-1][:MOST_WORDS]}
    return found
