"""How many failures a run may have: `--fail-on 3`, or by severity, `--fail-on critical=0,serious=5,minor=2%`."""

import math
from collections.abc import Mapping

import msgspec

from synthesis.errors import OptionError, did_you_mean
from synthesis.model.result import CRITICAL, SEVERITIES
from synthesis.settings import TRAFFIC

_HINT = "Write a number, or limits by severity: --fail-on critical=0,serious=5,minor=2%."


class Limit(msgspec.Struct, frozen=True):
    """The failures that are allowed: so many, or such a share of all cases."""

    text: str
    number: float
    is_share: bool

    @classmethod
    def of(cls, text: str) -> "Limit":
        digits = text.strip().removesuffix("%")
        is_share = digits != text.strip()
        try:
            number = float(digits) if is_share else int(digits)
        except ValueError:
            raise OptionError(f"--fail-on: '{text}' is neither a number nor a share", hint=_HINT) from None
        if not (0 <= number <= (100 if is_share else math.inf)):  # which NaN is not either
            raise OptionError(f"--fail-on: '{text}' is not a possible number of failures", hint=_HINT)
        return cls(text.strip(), number, is_share)

    def allows(self, failures: int, cases: int) -> bool:
        return failures * 100 <= self.number * cases if self.is_share else failures <= self.number


class Limits(msgspec.Struct, frozen=True):
    """The limits of a run: one for all failures, or one for each severity."""

    all: Limit | None = None
    by_severity: dict[str, Limit] = {}

    @classmethod
    def of(cls, value: int | str) -> "Limits":
        """What `--fail-on` says; OptionError for what nobody can keep."""
        text = str(value)
        if "=" not in text:
            limit = Limit.of(text)
            if limit.is_share:
                raise OptionError(f"--fail-on: '{text}' names no severity", hint=_HINT)
            return cls(limit)
        return cls(by_severity=_filled(dict(_named(part) for part in text.split(","))))

    def unmet(self, failures: Mapping[str, int], cases: int, profile: str) -> list[str]:
        """Every limit that is exceeded, in words; `failures` are those that count, by severity.

        One critical failure in traffic is one too many, unless there are limits by severity: a crisis without help
        must not disappear among a number of smaller failures that somebody allows.
        """
        if self.all is None:
            over = [name for name, limit in self.by_severity.items() if not limit.allows(failures[name], cases)]
            return [f"{name} failures: {failures[name]}, allowed: {self.by_severity[name].text}" for name in over]
        total = sum(failures.values())
        found = [] if self.all.allows(total, cases) else [f"failures: {total}, allowed: {self.all.text}"]
        if not found and profile == TRAFFIC and failures[CRITICAL]:
            found = [f"critical failures: {failures[CRITICAL]}, allowed: 0 (--fail-on critical=N allows them)"]
        return found


def _named(part: str) -> tuple[str, Limit]:
    name, _, text = part.partition("=")
    if name.strip() not in SEVERITIES:
        raise OptionError(f"--fail-on: there is no severity '{name.strip()}'", hint=did_you_mean(name, SEVERITIES))
    return name.strip(), Limit.of(text)


def _filled(given: dict[str, Limit]) -> dict[str, Limit]:
    """A severity worse than a named one is allowed none; one that is less bad than all of them has no limit."""
    mildest = max(SEVERITIES.index(name) for name in given)
    return {name: given.get(name, Limit.of("0")) for name in SEVERITIES[: mildest + 1]}
