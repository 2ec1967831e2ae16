"""Regular expressions that are compiled when they are first used: together they would take longer than a start may."""

import re
from typing import Any, AnyStr, cast


def regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile` for the constants of a module."""
    return cast("re.Pattern[AnyStr]", _Regex(source, flags))


class _Regex:
    def __init__(self, source: Any, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Asked for what is not there, which is so once: from then on all that the expression has is here, too."""
        compiled = re.compile(self._source, self._flags)
        for each in dir(compiled):
            if not each.startswith("_"):
                setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)
