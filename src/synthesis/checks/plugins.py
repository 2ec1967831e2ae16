"""Packages that announce checks of their own, with the entry point group `synthesis.checks`.

Most installations have none. To see that, it is enough to look for the name of the group in what packages announce;
`importlib.metadata` takes longer to be imported than all of them to be looked at. Wherever something is not as pip
leaves it, and wherever the name is found, `importlib.metadata` decides.
"""

import os
import sys
from importlib.machinery import PathFinder

GROUP = "synthesis.checks"


def load_plugins() -> None:
    """Import what packages announce, in the order of the names; their checks register themselves."""
    if not _may_be_announced():
        return
    from importlib.metadata import entry_points

    for plugin in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        plugin.load()


def _may_be_announced() -> bool:
    others = (finder for finder in sys.meta_path if finder is not PathFinder)
    return any(hasattr(finder, "find_distributions") for finder in others) or any(map(_may_announce, sys.path))


def _may_announce(place: str) -> bool:
    """Whether a package in a folder of `sys.path` may announce checks; what is no folder may, if it is there."""
    try:
        with os.scandir(place or ".") as entries:
            packages = [entry.path for entry in entries if entry.name.lower().endswith((".dist-info", ".egg-info"))]
        return str(place).lower().endswith(".egg") or any(map(_names_group, packages))
    except FileNotFoundError:
        return False
    except OSError:  # an archive, or a folder that cannot be read
        return True


def _names_group(package: str) -> bool:
    try:
        with open(os.path.join(package, "entry_points.txt"), "rb") as file:
            return GROUP.encode() in file.read()
    except (FileNotFoundError, NotADirectoryError):  # it announces nothing
        return False
