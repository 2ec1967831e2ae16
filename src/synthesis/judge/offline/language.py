"""Which language or script a text is in, as far as counting tells."""

import unicodedata
from collections import Counter

from synthesis.judge.offline.tokens import normalise, tokenise
from synthesis.judge.offline.words import FUNCTION_WORDS

SAMPLE = 2000  # characters are enough
ENGLISH_SHARE = 0.15  # of function words; running English has about twice that


def language_of(text: str) -> str:
    """`english`, else the prevailing script in lower case (`thai`, `cjk`, `latin`), else `none`."""
    sample = normalise(text[:SAMPLE])
    scripts = Counter(unicodedata.name(char, "none").split()[0].lower() for char in sample if char.isalpha())
    if not scripts:
        return "none"
    script = min(scripts, key=lambda name: (-scripts[name], name))
    words = [token.text.lower() for token in tokenise(sample) if token.kind == "word"]
    english = sum(word in FUNCTION_WORDS for word in words) >= ENGLISH_SHARE * len(words)
    return "english" if script == "latin" and words and english else script
