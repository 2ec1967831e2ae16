"""The blind prompt: what a judge sees of a sample, fenced so that no text can imitate another part.

Relevance scores, ids, model and prompt names are not in it: a `TestCase` context does not hold them, and
`query_log_id` and `meta` are never read here.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from synthesis.documents import complaint, read_document
from synthesis.errors import OptionError, did_you_mean
from synthesis.judge.model import Axis, Course, Rubric, TestCase
from synthesis.lazy import regex

FOLDER = Path(__file__).parent / "prompts"
FENCE_LENGTH = 12
_CLAIM_FIELDS = {
    "claim": {"type": "string"},
    "words": {"type": "string"},
    "passage": {"type": ["integer", "null"]},
    "quote": {"type": "string"},
    "verdict": {"type": "string", "enum": ["supported", "contradicted", "not found"]},
}
_CLAIM_SCHEMA = {
    "type": "object",
    "properties": _CLAIM_FIELDS,
    "required": list(_CLAIM_FIELDS),
    "additionalProperties": False,
}
_SLOT = regex(r"\{(\w+)\}")
# What a prompt must say. Without the fence, a text could pose as another part of the material.
_SLOTS = {
    "system": ("instructions", "axes", "shape"),
    "material": ("fence", "question", "context", "answer"),
    "correction": ("problem",),
}
_HINT = "A prompt has a version and three texts: system, material, correction. `synthesis judge prompt` prints one."


class Prompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version of the judge's prompt, read from a file."""

    version: str
    system: str
    material: str
    correction: str

    def identity(self) -> str:
        """The version with a hash of its text, so that an edited file is another prompt."""
        return f"{self.version}:{hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]}"


def load_prompt(name_or_path: str) -> Prompt:
    """A bundled prompt version by its name, or any prompt file by its path."""
    if name_or_path in bundled_prompts():
        return _bundled(name_or_path)
    if not re.search(r"[./\\]", name_or_path):
        known = did_you_mean(name_or_path, bundled_prompts())
        raise OptionError(
            f"there is no system prompt version '{name_or_path}'",
            hint=f"{known} A file of your own is named with its ending: --system-prompt-version mine.yaml",
        )
    path = Path(name_or_path)
    prompt = read_document(path, Prompt, _HINT)
    for field, slots in _SLOTS.items():
        for slot in slots:
            if f"{{{slot}}}" not in getattr(prompt, field):
                raise complaint(path, [field], f"has no place for {{{slot}}}", _HINT)
    return prompt


def bundled_prompts() -> tuple[str, ...]:
    """The names of the prompt versions that ship with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def prompt_source(version: str) -> str:
    """The file of a bundled prompt as it is."""
    if version not in bundled_prompts():
        hint = did_you_mean(version, bundled_prompts())
        raise OptionError(f"there is no system prompt version '{version}'", hint=hint)
    return (FOLDER / f"{version}.yaml").read_text(encoding="utf-8")


@cache
def _bundled(version: str) -> Prompt:
    return read_document(FOLDER / f"{version}.yaml", Prompt, _HINT)


def system_text(prompt: Prompt, rubric: Rubric, *, claims: bool = False) -> str:
    """The instructions, the same for every sample; with `claims` the judge gives evidence for each."""
    text = _filled(
        prompt.system,
        {
            "instructions": rubric.instructions.strip(),
            "axes": "\n\n".join(_axis_text(axis) for axis in rubric.axes),
            "shape": _shape(rubric, claims=False),
        },
    )
    return text + _filled(claims_part(), {"shape": _shape(rubric, claims=True)}) if claims else text


@cache
def claims_part() -> str:
    """What the judge is told about claims, beyond its prompt."""
    return (FOLDER / "claims.txt").read_text(encoding="utf-8")


def material_text(prompt: Prompt, case: TestCase) -> str:
    """Question, context and answer of one sample, each inside its fence."""
    context = context_text(case.context)
    return _filled(
        prompt.material,
        {
            "question": case.question,
            "context": context,
            "answer": case.answer,
            "fence": fence(case.question, context, case.answer),
        },
    )


def correction_text(prompt: Prompt, problem: str) -> str:
    """What the judge is told when its reply could not be used."""
    return _filled(prompt.correction, {"problem": problem})


def fence(*texts: str) -> str:
    """A code that occurs in none of the texts, and is the same whenever the texts are."""
    # Derived from the texts, not random: the same sample always makes the same prompt.
    digest = hashlib.sha256("\x00".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    while any(digest[:FENCE_LENGTH] in text.lower() for text in texts):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:FENCE_LENGTH]


def context_text(context: tuple[Course, ...] | tuple[str, ...]) -> str:
    """The context as the judge reads it."""
    numbered = zip(context, context_texts(context), strict=True)
    return "\n\n".join(
        text if isinstance(item, Course) else f"Passage {number}:\n{text}"
        for number, (item, text) in enumerate(numbered, start=1)
    )


def context_texts(context: tuple[Course, ...] | tuple[str, ...]) -> list[str]:
    """The entries of the context, each as the judge reads it."""
    items: Sequence[Course | str] = context
    return [_course_text(n, item) if isinstance(item, Course) else item for n, item in enumerate(items, start=1)]


def reply_schema(rubric: Rubric, *, claims: bool = False) -> dict[str, object]:
    """The JSON Schema of a reply: the claims where they are asked for, then per axis the reasoning and the score."""
    axis = {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        },
        "required": ["reasoning", "score"],
        "additionalProperties": False,
    }
    properties: dict[str, object] = {"claims": {"type": "array", "items": _CLAIM_SCHEMA}} if claims else {}
    properties |= dict.fromkeys([axis_.name for axis_ in rubric.axes], axis)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _filled(template: str, values: Mapping[str, str]) -> str:
    """In one pass, so that a slot's name inside a filled-in text stays text."""
    return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), template)


def _axis_text(axis: Axis) -> str:
    levels = sorted(axis.levels, key=lambda level: -level.score)
    lines = [f"  {level.score} {level.label}: {level.meaning}" for level in levels]
    return "\n".join([f"{axis.name}: {axis.question}", *lines])


def _shape(rubric: Rubric, *, claims: bool) -> str:
    shape: dict[str, object] = {"claims": [dict.fromkeys(_CLAIM_FIELDS, "...") | {"passage": 1}]} if claims else {}
    shape |= {axis.name: {"reasoning": "...", "score": "1 to 5"} for axis in rubric.axes}
    return json.dumps(shape).replace('"1 to 5"', "1 to 5")


def _course_text(number: int, course: Course) -> str:
    lines = [f"Course {number}: {course.code} {course.name}".rstrip()]
    if course.skills:
        lines.append("  matched skills:")
    for skill in course.skills:
        lines.append(f"  - {skill.skill}")
        lines.extend(f"      outcome: {outcome}" for outcome in skill.outcomes)
    if course.outcomes:
        lines.append("  learning outcomes of the course:")
        lines.extend(f"  - {outcome}" for outcome in course.outcomes)
    return "\n".join(lines)
