"""Every way in which a YAML document can be wrong is an error with its file, line and column."""

from pathlib import Path
from typing import Any

import pytest

from synthesis.documents import read_document, read_yaml
from synthesis.errors import RuleError, TestSetError


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 2024-02-31", 1, 4),
        ("b: 1\na: !!int abc", 2, 4),
        ("a: !!bool abc", 1, 4),
        ("a: !!timestamp abc", 1, 4),
        ("a: !foo bar", 1, 4),
        ("a: &x [*x]", 1, 4),
        ("a:\n  b: &x\n    c: *x", 2, 6),
        ("---\n", 2, 1),
    ],
)
def test_a_wrong_value_is_told_with_its_place(tmp_path: Path, text: str, line: int, column: int) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(TestSetError) as caught:
        read_document(path, dict[str, Any], "Look again.")
    place = caught.value.place
    assert place is not None
    assert (place.file, place.line, place.column) == (str(path), line, column)


def test_a_document_of_brackets_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("a: " + "[" * 200_000)
    with pytest.raises(TestSetError, match=r":1:53: .*nested too deeply"):
        read_document(path, dict[str, Any], "Look again.")


def test_a_raised_digit_is_no_whole_number(tmp_path: Path) -> None:
    path = tmp_path / "pack.yaml"
    path.write_text("n: ²", encoding="utf-8")
    with pytest.raises(RuleError, match="not a whole number"):
        read_yaml(path).mapping()["n"].whole_number()
