"""Which scripts a sample is written in, and whether its words can be compared at all."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

from synthesis.errors import LanguageError
from synthesis.judge.model import TestCase
from synthesis.judge.offline.courses import evidence_text
from synthesis.judge.offline.segmentation import can_segment

SAMPLE = 20_000  # characters are enough
STRAY = 0.1  # of the letters: a name or a term in another script, rather than the text's own
SEGMENTED = {"thai": "Thai", "lao": "Lao", "khmer": "Khmer", "myanmar": "Burmese"}
_ONE_FAMILY = {"hiragana": "cjk", "katakana": "cjk", "bopomofo": "cjk"}  # Japanese and Chinese mix these
_CURE = "Install it with: pip install 'synthesis-eval[segmentation]'"


def refuse_incomparable(case: TestCase) -> None:
    """Raise for a sample on which a comparison of words would say the same whatever the answer is."""
    answer = scripts_of([case.answer])
    context = scripts_of(item if isinstance(item, str) else evidence_text(item) for item in case.context)
    for script, name in SEGMENTED.items():
        if _share(answer, script) >= STRAY and not can_segment():
            raise LanguageError(
                f"{name} is written without spaces, and dividing it into words needs the extra 'segmentation'. {_CURE}"
            )
    if answer and context:
        script = _main(answer)
        if _share(context, script) < STRAY and _share(answer, _main(context)) < STRAY:
            raise LanguageError(
                f"the answer is in {_named(script)} letters and the context in {_named(_main(context))} ones: "
                "the offline judge compares words and cannot translate. Choose another judge with --judge-provider"
            )


def scripts_of(texts: Iterable[str]) -> Counter[str]:
    """How many letters of each script the texts have."""
    found: Counter[str] = Counter()
    left = SAMPLE
    for text in texts:
        for char, count in Counter(text[:left]).items():  # far fewer characters than letters
            if char.isalpha():
                found[_script(char)] += count
        left -= len(text)
        if left <= 0:
            break
    return found


@cache
def _script(char: str) -> str:
    name = unicodedata.name(char, "none").split()[0].lower()
    return _ONE_FAMILY.get(name, name)


def _main(scripts: Counter[str]) -> str:
    return min(scripts, key=lambda script: (-scripts[script], script))


def _share(scripts: Counter[str], script: str) -> float:
    return scripts[script] / (scripts.total() or 1)


def _named(script: str) -> str:
    return {"cjk": "Chinese or Japanese", "myanmar": "Burmese"}.get(script, script.capitalize())
