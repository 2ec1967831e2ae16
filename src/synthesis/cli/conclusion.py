"""What follows a run: further documents drawn from the stored report, and the verdict on its conditions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from synthesis.checks.registry import checks, rules_in_force
from synthesis.cli.exits import exit_code
from synthesis.cli.gates import Gates
from synthesis.cli.report import Output, Taken, parse_outputs, write_outputs
from synthesis.cli.terminal import warn
from synthesis.errors import OptionError
from synthesis.glossary import glossary_of
from synthesis.report.stored import open_report
from synthesis.run.spec import RunSpec

# Options that need what only a report with results holds.
_NEED_RESULTS = {"formats": "--format", "baseline": "--baseline", "strict": "--strict"}


class Conclusion(msgspec.Struct, frozen=True):
    """The documents and conditions that were asked for; made before the run, so that a mistake stops it."""

    report: Path
    outputs: tuple[Output, ...]
    gates: Gates

    @classmethod
    def of(cls, options: Mapping[str, Any], spec: RunSpec) -> "Conclusion":
        for name, option in _NEED_RESULTS.items():
            if spec.table and options[name]:
                raise OptionError(f"{option} does not go with --out-table", hint="Leave out one of the two.")
        out = spec.out or Path()
        baseline = {"--baseline": Path(options["baseline"])} if options["baseline"] else {}
        taken: Taken = {"--cases": [file.path for file in spec.inputs], **baseline}
        return cls(out, parse_outputs(options["formats"], out, taken), Gates.of(options, spec, out))

    @property
    def is_asked_for(self) -> bool:
        return bool(self.outputs) or self.gates != Gates(self.gates.allowed)

    def draw(self, spec: RunSpec, *, quiet: bool, as_artifact: bool) -> int:
        """Write the documents, name the conditions that do not hold; the exit code of the run."""
        report = open_report(self.report)
        if self.outputs:
            rules = rules_in_force(spec.rules, spec.disabled)
            write_outputs(self.outputs, report, glossary_of(rules), to_stderr=as_artifact)
        unmet = self.gates.unmet(report, {check.tag: check.name for check in checks().values()})
        undecided = list(self.gates.undecided(report.summary))
        if not quiet:
            for message in self.gates.doubts(report):
                warn(f"warning: {message}")
            for message in unmet:
                warn(f"not met: {message}", colour="red")
            for message in undecided:
                warn(f"too few to tell: {message}")
        return exit_code(report.summary, unmet=bool(unmet), undecided=bool(undecided))
