"""Only the command line prints. Which room may import from which is in pyproject.toml, and `make lint` holds it."""

import ast
from pathlib import Path

import synthesis

PACKAGE = Path(synthesis.__file__).parent


def prints(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))


def test_only_the_command_line_prints() -> None:
    rooms = {path: path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    assert not [str(path) for path, room in rooms.items() if room != "cli" and prints(path)]
