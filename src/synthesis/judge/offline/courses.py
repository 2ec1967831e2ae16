"""Claims about courses: is the aspect listed for that course, and do its outcomes support it?"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from synthesis.judge.model import Course
from synthesis.judge.offline.context import ContextIndex
from synthesis.judge.offline.text import (
    FRAME_WORDS,
    NEGATIONS,
    NOT_DENYING,
    SAME_WORD_PREFIX,
    TURNS,
    Token,
    joined,
    normalise,
    stem,
    tokenise,
)
from synthesis.lazy import regex

_SEVERAL = regex(r"^(?:both|all|together|these|those|overall|combined)\b", re.I)
_LOOSE = regex(
    r"\b(?:only )?(?:loosely|partially|partly|tangentially|indirectly)\b"
    r"|\bnot (?:a )?(?:direct|perfect|exact|ideal)"
    r"|\bnot (?:fully|exactly) \w+|\b(?:limited|weak|partial) (?:fit|match|connection|relevance)",
    re.I,
)
FRAME_STEMS = frozenset(stem(word) for word in FRAME_WORDS) | FRAME_WORDS


def evidence_text(course: Course) -> str:
    """Everything that the context says of a course, one entry per line."""
    skills = (line for skill in course.skills for line in (skill.skill, *skill.outcomes))
    return "\n".join((course.code, course.name, *skills, *course.outcomes))


_READER = regex(r"\b(?:you|your|yours|yourself)\b|คุณ|あなた|您|你", re.IGNORECASE)


def speaks_to_reader(text: str) -> bool:
    return bool(_READER.search(text)) or admits_loose_fit(text)


def admits_loose_fit(text: str) -> bool:
    """The answer itself says that a course fits only in part."""
    return bool(_LOOSE.search(text))


class Credit(NamedTuple):
    """What a claim credits to a course; `lacking` is not listed for it, `wrong` is what the evidence has against it."""

    course: int | None
    line: str  # the skill or outcome that is nearest
    lacking: list[str]
    wrong: str


class CourseEvidence:
    """The evidence of all courses, together and each for itself."""

    def __init__(self, courses: Sequence[Course]) -> None:
        self.courses = courses
        self.together = ContextIndex([evidence_text(course) for course in courses])
        self._single = [ContextIndex([evidence_text(course)]) for course in courses]
        self._names = [[_stems(course.code), _stems(course.name)] for course in courses]

    def mentioned(self, tokens: Sequence[Token]) -> list[int]:
        """The courses that a claim names by code or by full name."""
        stems = [token.stem for token in tokens]
        return [at for at, names in enumerate(self._names) if any(_contains(stems, name) for name in names)]

    def subject(self, text: str, tokens: Sequence[Token], before: list[int]) -> list[int]:
        """The courses a claim is about: those it names, else those named before, else all."""
        named = self.mentioned(tokens)
        return named if named or _SEVERAL.search(text) else before

    def terms(self, tokens: Sequence[Token], subject: list[int], given: frozenset[str]) -> list[Token]:
        """The words of a claim that credit something to a course, its own name apart."""
        names = {stem for course in subject for name in self._names[course] for stem in name}
        return [token for token in tokens if token.is_content and token.stem not in FRAME_STEMS | given | names]

    def is_frame(self, tokens: Sequence[Token], given: frozenset[str]) -> bool:
        """The claim names no course and credits nothing to one."""
        return not self.mentioned(tokens) and not self.terms(tokens, [], given)

    def credit(self, tokens: Sequence[Token], subject: list[int], given: frozenset[str]) -> Credit:
        """What a claim credits to its courses, compared with what is listed for them."""
        own = [self._single[at] for at in subject] or [self.together]
        terms = self.terms(tokens, subject, given)
        denied = _denied(tokens)
        lacking = [token for token in terms if any(index.knows(token) for index in own) == (token.stem in denied)]
        course = self._best(terms, subject)
        return Credit(
            course=course,
            line="" if course is None else self.nearest_line(course, tokens),
            lacking=joined(lacking),
            wrong=self._wrong(lacking, denied, subject),
        )

    def nearest_line(self, course: int, tokens: Sequence[Token]) -> str:
        """The skill or outcome of a course that shares most with a claim; its name where none shares anything."""
        wanted = {token.stem[:SAME_WORD_PREFIX] for token in self.terms(tokens, [course], frozenset())}
        code, name, *lines = evidence_text(self.courses[course]).split("\n")
        shared = [len(wanted & {stem[:SAME_WORD_PREFIX] for stem in _stems(line)}) for line in lines]
        most = max(shared, default=0)
        return lines[shared.index(most)] if most else f"{code} {name}".strip()

    def _wrong(self, lacking: list[Token], denied: set[str], subject: list[int]) -> str:
        """What the evidence says against it: listed although denied, or listed for another course."""
        if turned := joined(token for token in lacking if token.stem in denied):
            return f"denies what the course has: {', '.join(turned)}"
        elsewhere = joined(token for token in lacking if subject and self.together.knows(token))
        return f"credited to the wrong course: {', '.join(elsewhere)}" if elsewhere else ""

    def _best(self, terms: list[Token], subject: list[int]) -> int | None:
        candidates = subject or range(len(self.courses))
        scored = [(sum(self._single[at].knows(token) for token in terms), -at) for at in candidates]
        best = max(scored, default=(0, 0))
        return -best[1] if best[0] or subject else None


def _denied(tokens: Sequence[Token]) -> set[str]:
    """What is said to be missing from a course: everything after a negation, up to a "but" or the end of the clause."""
    found: set[str] = set()
    denying, end = False, 0
    for token, following in zip_longest(tokens, tokens[1:]):
        word = token.text.lower()
        denying = denying and token.start - end < 2  # nothing but a space lies between two words of a clause
        end = token.start + len(token.text)
        if word in NEGATIONS:
            denying = following is not None and following.stem not in NOT_DENYING
        elif word in TURNS:
            denying = False
        elif denying:
            found.add(token.stem)
    return found


def _stems(text: str) -> list[str]:
    return [token.stem for token in tokenise(normalise(text))]


def _contains(stems: list[str], name: list[str]) -> bool:
    width = len(name)
    return width > 0 and any(stems[at : at + width] == name for at in range(len(stems) - width + 1))
