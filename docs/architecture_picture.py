"""The rooms of the package, drawn and counted from the code: a picture and the figures beside their descriptions.

Layers come from `[tool.importlinter]` in pyproject.toml, modules and lines from the folders. What lives in a room is
written by people, in the table of architecture.md; a room without a row there is an error.
"""

import re
import tomllib
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "synthesis"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
TABLE = re.compile(r"(<!-- rooms -->\n(?:\|[^\n]*\n){2}).*?(<!-- end -->)", re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| +[\d,]+ \| +([\d,]+) \| (.*) \|$", re.MULTILINE)
DRIFT, LEAST = 0.1, 10  # a shown number of lines stays until it is wrong by more: not every change is one of documents


class Room(NamedTuple):
    name: str
    modules: int
    lines: int
    is_folder: bool

    @property
    def size(self) -> str:
        return f"{self.modules} · {self.lines:,}" if self.is_folder else f"{self.lines:,}"


Layers = list[list[Room]]  # from the top; a room imports from layers below its own


def layers(page: str) -> Layers:
    """The rooms in force, with the lines that the page shows where they are about right."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    shown = {name: int(lines.replace(",", "")) for name, lines, _ in ROW.findall(page)}
    return [[_room(name.strip(), shown) for name in layer.split("|")] for layer in contract["layers"]]


def _room(name: str, shown: dict[str, int]) -> Room:
    folder = PACKAGE / name
    modules = sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{name}.py"]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
    known = shown.get(name, 0)
    is_near = abs(lines - known) <= max(DRIFT * lines, LEAST)
    return Room(name, len(modules), known if is_near else _rounded(lines), folder.is_dir())


def _rounded(number: int) -> int:
    """To two digits."""
    return round(number, 2 - len(str(number))) if number > 99 else number


def with_rooms(page: str) -> str:
    """The page of the architecture with the rooms of today, from top to bottom, each with its description."""
    said = {name: text for name, _, text in ROW.findall(page)}
    rooms = [room for layer in layers(page) for room in layer]
    if silent := [room.name for room in rooms if room.name not in said]:
        raise ValueError(f"{PAGE}: no row says what lives in {', '.join(silent)}: add `| \\`NAME\\` | 0 | 0 | ... |`")
    rows = "".join(f"| `{room.name}` | {room.modules} | {room.lines:,} | {said[room.name]} |\n" for room in rooms)
    return TABLE.sub(lambda match: match[1] + rows + match[2], page)


# The picture: as wide as a phone, with a background of its own, so that it can be read on a page of any colour.

WIDTH, EDGE, GAP = 380, 12, 6
BOX, PAD = 28, 5  # the height of a box, and around the boxes of a layer
HALF = (WIDTH - 2 * EDGE - PAD) // 2  # the width of a box beside another; its bar is that long in the largest room
HEAD = 66
STYLE = """\
svg { --page: #fff; --layer: #eef0fa; --box: #fff; --line: #9fa8da; --name: #1a237e;
  --text: #454b66; --bar: #d9def7; }
@media (prefers-color-scheme: dark) {
  svg { --page: #1e2129; --layer: #2a2e3a; --box: #363b4a; --line: #5c6bc0; --name: #dfe3ff;
    --text: #c3c8da; --bar: #46507c; }
}
text { font: 11px system-ui, sans-serif; fill: var(--text); }
.name { font: 600 13px ui-monospace, Menlo, Consolas, monospace; fill: var(--name); }
.title { font-weight: 600; font-size: 14px; fill: var(--name); }
.page { fill: var(--page); } .layer { fill: var(--layer); }
.box { fill: var(--box); } .bar { fill: var(--bar); } .edge { fill: none; stroke: var(--line); }
.size { text-anchor: end; }"""


def picture(rooms: Layers) -> str:
    parts, top = list[str](), HEAD
    total = [room for layer in rooms for room in layer]
    most = max(room.lines for room in total)
    for layer in rooms:
        drawn, height = _layer(layer, top, most)
        parts += drawn
        top += height + GAP
    lines = round(sum(room.lines for room in total), -3)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + GAP}" '
            f'viewBox="0 0 {WIDTH} {top + GAP}" role="img" aria-label="{escape(_told(rooms))}">',
            f"<style>\n{STYLE}\n</style>",
            f'<rect class="page" width="{WIDTH}" height="{top + GAP}" rx="8"/>',
            f'<text class="title" x="{EDGE}" y="22">src/synthesis</text>',
            f'<text x="{EDGE}" y="39">{sum(room.modules for room in total)} modules, about {lines:,} lines; '
            "in each box: modules · lines</text>",
            f'<text x="{EDGE}" y="55">A room imports only from rows below its own ↓</text>',
            *parts,
            "</svg>\n",
        ]
    )


def _layer(layer: list[Room], top: int, most: int) -> tuple[list[str], int]:
    """The boxes of a layer, two in a row, and their height."""
    rows = [layer[at : at + 2] for at in range(0, len(layer), 2)]
    height = len(rows) * (BOX + PAD) + PAD
    parts = [_rect("layer", EDGE - PAD, top, WIDTH - 2 * (EDGE - PAD), height)]
    for number, row in enumerate(rows):
        width = HALF if len(row) > 1 else WIDTH - 2 * EDGE
        for place, room in enumerate(row):
            at = EDGE + place * (HALF + PAD), top + PAD + number * (BOX + PAD)
            parts += _box(room, *at, width, HALF * room.lines // most)
    return parts, height


def _box(room: Room, left: int, top: int, width: int, bar: int) -> list[str]:
    name, line = f"{room.name}/" if room.is_folder else f"{room.name}.py", top + 19
    return [
        _rect("box", left, top, width, BOX),
        _rect("bar", left, top, bar, BOX),
        _rect("edge", left, top, width, BOX),
        f'<text class="name" x="{left + 8}" y="{line}">{escape(name)}</text>',
        f'<text class="size" x="{left + width - 8}" y="{line}">{escape(room.size)}</text>',
    ]


def _rect(kind: str, left: int, top: int, width: int, height: int) -> str:
    return f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="5"/>'


def _told(rooms: Layers) -> str:
    return "Layers from top to bottom: " + "; ".join(", ".join(room.name for room in layer) for layer in rooms)
