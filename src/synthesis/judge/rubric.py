"""Rubrics are data: the axes, what each score means, where a pass begins, and how the judge is to think."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from synthesis.documents import Steps, complaint, read_document
from synthesis.errors import OptionError, did_you_mean
from synthesis.judge.model import Axis, Rubric, TestCase, have_courses
from synthesis.judge.records import SCORES
from synthesis.lazy import regex
from synthesis.report.judged.layout import COURSE_RUBRIC

FOLDER = Path(__file__).parent / "rubrics"

_NAME = regex(r"[a-z][A-Za-z0-9]*")
_HINT = f"The bundled rubrics show the shape: {FOLDER.name}/rag.yaml beside the module judge/rubric.py."


def load_rubric(name_or_path: str | Path) -> Rubric:
    """A bundled rubric by its name, or any rubric file by its path."""
    path = _find(name_or_path)
    rubric = read_document(path, Rubric, _HINT)
    for steps, message in _problems(rubric):
        raise complaint(path, steps, message, _HINT)
    return rubric


def default_rubric(cases: Sequence[TestCase]) -> Rubric:
    """The course rubric where a context holds courses, the general one for plain passages."""
    return load_rubric(COURSE_RUBRIC if have_courses(cases) else "rag")


def rubric_hash(rubric: Rubric) -> str:
    """Changes when anything in the rubric changes that a judge or a figure depends on."""
    return hashlib.sha256(msgspec.json.encode(rubric)).hexdigest()


def bundled_rubrics() -> tuple[str, ...]:
    """The names of the rubrics that ship with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def _find(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if text in bundled_rubrics():
        return FOLDER / f"{text}.yaml"
    if isinstance(name_or_path, str) and not re.search(r"[./\\]", text):
        raise OptionError(f"there is no rubric '{text}'", hint=did_you_mean(text, bundled_rubrics()))
    return Path(name_or_path)


def _problems(rubric: Rubric) -> Iterator[tuple[Steps, str]]:
    """What the types cannot express, with the path to the place in the document."""
    if not rubric.axes:
        yield ["axes"], "a rubric needs at least one axis"
    names = [axis.name for axis in rubric.axes]
    for index, axis in enumerate(rubric.axes):
        if axis.name in names[:index]:
            yield ["axes", index, "name"], f"the axis '{axis.name}' appears twice"
        yield from (([*("axes", index), *steps], message) for steps, message in _axis_problems(axis))


def _axis_problems(axis: Axis) -> Iterator[tuple[Steps, str]]:
    if not _NAME.fullmatch(axis.name):
        yield ["name"], f"'{axis.name}' is not an axis name: use a lower-case letter, then letters and digits"
    if axis.pass_at not in SCORES:
        yield ["passAt"], f"must be a score from 1 to 5, not {axis.pass_at}"
    scores = [level.score for level in axis.levels]
    if sorted(scores) != list(SCORES):
        yield ["levels"], f"each score from 1 to 5 needs one level; found {scores}"
    keys = [level.key for level in axis.levels if level.key is not None]
    if len(set(keys)) != len(keys):
        yield ["levels"], "two levels have the same key"
