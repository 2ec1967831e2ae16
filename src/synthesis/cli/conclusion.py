"""What follows a run: further documents drawn from the stored report, and the conditions that it is held to."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from synthesis.checks.registry import checks, rules_in_force
from synthesis.cli.gates import Gates, exit_code
from synthesis.cli.outputs import Output, parse_outputs, write_outputs
from synthesis.cli.terminal import safe
from synthesis.glossary import glossary_of
from synthesis.report.reading import open_report


class Conclusion(msgspec.Struct, frozen=True):
    """The documents and conditions that were asked for; made before the run, so that a mistake stops it."""

    outputs: tuple[Output, ...] = ()
    gates: Gates = Gates()

    @classmethod
    def of(cls, options: Mapping[str, Any], allowed: int, out: Path, cases: Sequence[Path]) -> "Conclusion":
        baseline = {"--baseline": Path(options["baseline"])} if options["baseline"] else {}
        outputs = parse_outputs(options["formats"], out, {"--cases": cases, **baseline})
        return cls(outputs, Gates.of(options, allowed, out))

    @property
    def is_asked_for(self) -> bool:
        return self != Conclusion(gates=Gates(self.gates.allowed))

    def draw(self, path: Path, rules: tuple[Iterable[str], Iterable[str]], *, quiet: bool, as_artifact: bool) -> int:
        """Write the documents, say which conditions do not hold; the exit code of the run.

        `rules` are the folders on top and the rules that were switched off.
        """
        report = open_report(path)
        if self.outputs:
            write_outputs(self.outputs, report, glossary_of(rules_in_force(*rules)), to_stderr=as_artifact)
        unmet = self.gates.unmet(report, {check.tag: check.name for check in checks().values()})
        if not quiet:
            for message in unmet:
                click.echo(click.style(f"not met: {safe(message)}", fg="red"), file=sys.stderr)
        return exit_code(report.summary, unmet)
