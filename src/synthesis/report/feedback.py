"""Feedback for the writer of a reply, in the language of the person who reads it: what to mend, in short sentences.

A rule's own advice comes first. Where that is in other words than the user's (a Spanish message, an English reply), the
sentence that the pack has for its check stands in.
"""

from collections.abc import Iterable

import msgspec

from synthesis.report.findings import Glossary, Remark


def feedback(remarks: Iterable[Remark], lead: str) -> str:
    """What to tell the writer of a reply, after `lead`; empty where nothing speaks against it."""
    lines = list(dict.fromkeys(f"- {remark}" for remark in remarks))
    return "\n".join([lead, *lines]) if lines else ""


def in_language(remark: Remark, words_in: str, glossary: Glossary, language: str) -> Remark:
    """A remark in one language throughout; `words_in` is the language of the words that it is about."""
    known = glossary.rules.get((words_in, remark.rule), {}) if remark.rule else {}
    mend = glossary.texts(language).mend.get(remark.check)
    if not remark.rule or language in known or mend is None:
        return remark
    return msgspec.structs.replace(remark, why=mend, instead="")
