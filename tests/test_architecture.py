"""Only the command line prints. Which room may import from which is in pyproject.toml, and `make lint` holds it.

That the picture of the rooms is current is a test of documents: `docs/generate.py` draws it.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

import synthesis
from synthesis.lazy import regex

PACKAGE = Path(synthesis.__file__).parent
ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

import architecture_picture as drawn  # noqa: E402


def prints(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))


def test_only_the_command_line_prints() -> None:
    rooms = {path: path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    assert not [str(path) for path, room in rooms.items() if room != "cli" and prints(path)]


def compiled_at_import(node: ast.AST) -> list[int]:
    """The lines of a module on which an expression is compiled whether anybody uses it or not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    own = [node.lineno] if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile" else []
    return own + [line for child in ast.iter_child_nodes(node) for line in compiled_at_import(child)]


def test_no_expression_is_compiled_before_it_is_used() -> None:
    """`lazy.regex` does it when it is needed; all of them at every start would take a tenth of its time."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert not {str(path): lines for path, tree in trees.items() if (lines := compiled_at_import(tree))}


def test_a_lazy_expression_is_compiled_once_and_does_what_a_compiled_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compile_ = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: made.append(given[0]) or compile_(*given))
    word = regex(r"(\w)\w*", re.ASCII)
    assert made == []
    assert (word.findall("one two"), word.sub("-", "été"), word.pattern) == (["o", "t"], "é-é", r"(\w)\w*")
    assert word.match("!") is None
    assert word.fullmatch("whole") is not None
    assert len(made) == 1


# Who opens files for writing without `io.replaced`, and why nothing of a user's can be lost there.
OWN_WRITERS = {
    "cli/main.py": "standard output after its reader has closed it",
    "cli/options.py": "the copy of standard input, in a private folder that is removed at the end",
    "history/database.py": "a new database and its .gitignore; anything but a regular file is refused before",
    "io.py": "the one place",
    "judge/journal.py": "a journal is appended to under a lock, line by line",
    "read/conversations.py": "sorted runs in a temporary folder",
    "report/stored.py": "parts of a run in its work folder, joined by `replaced`",
    "rules/cache.py": "the time of a cached pack",
    "run/spark.py": "the null device, for the output of a process that Spark starts",
    "run/table.py": "parts of a table under names of our own, moved into place when whole",
    "server/api/jobs.py": "a bundled set in the folder of a job",
    "server/http.py": "an upload in the folder of a job",
    "server/jobs.py": "the mark of a cancelled job in its folder",
    "server/security.py": "a line is added to the file of people; anything but a regular file is refused before",
}
_WRITING_METHODS = {"write_text", "write_bytes", "touch", "rename", "ParquetWriter", "mknod", "copyfile", "move"}
_WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}


def writes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in {"open", "open_binary", "fdopen", "GzipFile"}:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        words = [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        flags = {getattr(part, "attr", "") for argument in given for part in ast.walk(argument)}
        return any(set(word) <= set("rwxabt+") and set(word) & set("wxa+") for word in words) or bool(
            flags & _WRITING_FLAGS
        )
    moves = name == "replace" and len(node.args) == 1 and not node.keywords and isinstance(node.func, ast.Attribute)
    return name in _WRITING_METHODS or moves


def test_only_one_place_writes_files_that_users_name() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(writes(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == set(OWN_WRITERS)


# The picture of the rooms and their table.

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_picture_has_every_room() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if (path.suffix == ".py" or (path / "__init__.py").exists())}
    shown = {room.name for layer in drawn.layers(PAGE) for room in layer}
    assert shown == rooms - {"__init__"}
    assert all(
        f">{name}/<" in drawn.PICTURE.read_text() or f">{name}.py<" in drawn.PICTURE.read_text() for name in shown
    )


def test_lines_are_written_again_when_they_are_wrong_and_not_at_every_change() -> None:
    lines = drawn._room("rules", {}).lines
    near, far = lines + lines // 50, 2 * lines
    assert drawn._room("rules", {"rules": near}).lines == near
    assert drawn._room("rules", {"rules": far}).lines == lines


def test_a_room_that_nobody_describes_is_an_error() -> None:
    with pytest.raises(ValueError, match="no row says what lives in guard"):
        drawn.with_rooms(re.sub(r"\| `guard`.*\n", "", PAGE))


def test_a_room_that_is_gone_leaves_the_table() -> None:
    assert drawn.with_rooms(PAGE.replace("<!-- end -->", "| `gone` | 1 | 10 | nothing |\n<!-- end -->")) == PAGE
