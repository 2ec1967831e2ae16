"""The table of verdicts that `synthesis eval` is asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synthesis.errors import OptionError

# Options that need what only a report with results holds.
_NEEDS_RESULTS = {"results": "--results", "formats": "--format", "baseline": "--baseline", "strict": "--strict"}


class TableOptions(msgspec.Struct, frozen=True):
    """Where the table goes, what it keeps of the input, and whether an earlier one is taken away."""

    folder: Path | None = None
    keep: tuple[str, ...] = ()
    fresh: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "TableOptions":
        if options["out_table"] is None:
            _require_table(options)
            return cls()
        for name, option in _NEEDS_RESULTS.items():
            if options[name]:
                raise OptionError(f"{option} does not go with --out-table", hint="Leave out one of the two.")
        folder = Path(options["out_table"])
        if not options["out_table"] or (folder.exists() and not folder.is_dir()):
            raise OptionError("--out-table is no folder", hint="Give the path of a folder, which will be made.")
        return cls(folder, _names(options["keep"]), options["fresh"])

    def require_apart_from(self, cases: Sequence[Path]) -> None:
        """A table is never its own input, and a file that is read twice would be counted twice and stand there once."""
        if self.folder is None:
            return
        for path in cases:
            if self.folder.resolve() in path.resolve().parents:
                raise OptionError(f"{path} lies in the folder of --out-table", hint="Choose another --out-table.")
            if cases.count(path) > 1:
                raise OptionError(f"--cases names {path} twice", hint="Name it once.")


def _require_table(options: Mapping[str, Any]) -> None:
    for name in ("keep", "fresh"):
        if options[name]:
            raise OptionError(f"--{name} goes with --out-table", hint="Give --out-table as well.")


def _names(text: str | None) -> tuple[str, ...]:
    names = [name.strip() for name in (text or "").split(",")]
    return tuple(dict.fromkeys(name for name in names if name))
