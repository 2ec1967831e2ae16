"""Documents that a command writes beside or instead of the JSON report: `--format F[=PATH]`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from synthesis.errors import OptionError
from synthesis.report.formats import STDOUT, get_format, write_pieces
from synthesis.report.glossary import Glossary
from synthesis.report.reading import StoredReport

Taken = Mapping[str, Path | Sequence[Path]]  # what a file is -> its path


class Output(msgspec.Struct, frozen=True):
    """One document: its format, and where it goes."""

    format: str
    path: str

    @classmethod
    def parse(cls, text: str, report: Path) -> "Output":
        """`html` or `html=PATH`; without a path the document lies beside the report."""
        name, _, path = text.partition("=")
        if name == "json":
            raise OptionError("--format json is always written", hint="Say where with --out.")
        return cls(name, path or get_format(name).beside(report))

    @property
    def is_printed(self) -> bool:
        return self.path == STDOUT

    def require_apart_from(self, taken: Taken) -> None:
        """A document never takes the place of a folder, of something that is read, or of another document."""
        if not self.is_printed and Path(self.path).is_dir():
            raise OptionError(f"the {self.format} document cannot be written: {self.path} is a folder")
        for what, paths in taken.items():
            for path in [paths] if isinstance(paths, Path) else paths:
                if not self.is_printed and _same(Path(self.path), path):
                    raise OptionError(
                        f"the {self.format} document and {what} are the same file ({self.path})",
                        hint="Choose another path.",
                    )


def parse_outputs(texts: Iterable[str], report: Path, taken: Taken) -> tuple[Output, ...]:
    """All documents that were asked for; OptionError before anything is run if one is in the way of another."""
    outputs: list[Output] = []
    for text in texts:
        output = Output.parse(text, report)
        earlier = {f"the {other.format} document": Path(other.path) for other in outputs if not other.is_printed}
        output.require_apart_from({**taken, "the JSON report": report, **earlier})
        outputs.append(output)
    return tuple(outputs)


def write_outputs(
    outputs: Iterable[Output], report: StoredReport, glossary: Glossary, *, to_stderr: bool = False
) -> None:
    """Draw and write each document; printed ones go to standard output, or to standard error where that is taken."""
    for output in outputs:
        pieces = get_format(output.format).render(report, glossary)
        if output.is_printed:
            for piece in pieces:
                click.echo(piece, nl=False, file=sys.stderr if to_stderr else sys.stdout)
        else:
            write_pieces(pieces, Path(output.path))


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()
