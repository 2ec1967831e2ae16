"""What an audit is asked for, beside the run over the files."""

import re

import msgspec

from synthesis.errors import OptionError

MOST_VALUES = 50  # of a column
ALL, WEEK, LANGUAGE = "all", "week", "language"  # what is counted by in any case
LEAST_IN_CELL = 5


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to count by, what to show, what to draw."""

    by: tuple[str, ...] = ()  # columns of the log
    all_cells: bool = False
    with_ids: bool = False
    with_excerpts: bool = False
    notices: tuple[str, ...] = ()  # the operator's own patterns, beside the bundled ones
    sample: int | None = None
    seed: int = 0

    @property
    def keeps_text(self) -> bool:
        """Whether words leave the workers: for excerpts, and for a sample that people are to read."""
        return self.with_excerpts or self.sample is not None

    def __post_init__(self) -> None:
        for column in {*self.by} & {ALL, WEEK, LANGUAGE}:
            raise OptionError(
                f"--by {column}: figures over all, by week and by language are in every audit",
                hint="Leave it out; a column of this name that means something else needs another one.",
            )
        for pattern in self.notices:
            try:
                re.compile(pattern)
            except re.error as error:
                raise OptionError(
                    f"--notice '{pattern}' is not a regular expression: {error}", hint="Escape signs such as ( and ?."
                ) from None


def too_many_values(column: str) -> OptionError:
    return OptionError(
        f"the column '{column}' has more than {MOST_VALUES} values: so fine a table would show single people, and tell "
        "nothing about a group",
        hint="Name a column with fewer values, such as a version, a country or an age group.",
    )
