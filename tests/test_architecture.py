"""Data flows one way, and imports follow it."""

import ast
from pathlib import Path

import synthesis

PACKAGE = Path(synthesis.__file__).parent
# Each layer may import from itself and from what comes before it; rooms of one layer do not see each other.
LAYERS = [
    ["_version"],
    ["cancellation", "errors", "printable", "stats"],
    ["io", "settings"],
    ["model"],
    ["read", "rules", "report"],
    ["checks", "judge"],
    ["labels", "run"],
    ["history"],
    ["audit"],
    ["glossary"],
    ["api", "guard"],
    ["integrations", "mcp_server", "pytest_plugin", "server", "spark"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    """Rooms that a file imports from; imports for type checkers count as well."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "synthesis":
            names = [f"synthesis.{alias.name}" for alias in node.names] if node.module == "synthesis" else [node.module]
            found |= {room_of(name) for name in names}
        elif isinstance(node, ast.Import):
            found |= {room_of(alias.name) for alias in node.names if alias.name.startswith("synthesis.")}
    return found


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py")


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in files()}
    assert rooms == set(LEVEL)


def upward(path: Path) -> list[str]:
    """Rooms that a file imports from although they come later."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return sorted(room for room in imports(path) if room != own and LEVEL.get(room, -1) >= LEVEL[own])


def test_imports_point_one_way() -> None:
    assert {str(path.relative_to(PACKAGE)): rooms for path in files() if (rooms := upward(path))} == {}


def test_only_the_command_line_prints() -> None:
    for path in files():
        if path.relative_to(PACKAGE).parts[0] != "cli":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            printed = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "print"]
            assert not printed, path
