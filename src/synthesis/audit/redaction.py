"""Words around a finding, without what names a person as far as signs tell: addresses, numbers, handles, links."""

import re

AROUND = 60  # characters on each side
_SIGNS = (
    (re.compile(r"https?://\S+|www\.\S+"), "[link]"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"), "[address]"),
    (re.compile(r"(?<!\w)@\w+"), "[handle]"),
    (re.compile(r"\+?\d(?:[\d ().-]*\d){2,}"), "[number]"),
)
# A capital letter inside a sentence; the first word of one is left alone, and so is "I".
_NAME = re.compile(r"(?<=[a-zà-ÿ,;:] )(?!I\b)[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)*")


def excerpt(text: str, start: int, end: int) -> str:
    """The words of a finding and some around it, redacted. A name without a capital stays: read before you share."""
    cut = text[max(0, start - AROUND) : end + AROUND]
    shown = f"{'…' if start > AROUND else ''}{cut}{'…' if end + AROUND < len(text) else ''}"
    return redacted(" ".join(shown.split()))


def redacted(text: str) -> str:
    for sign, word in _SIGNS:
        text = sign.sub(word, text)
    return _NAME.sub("[name]", text)
