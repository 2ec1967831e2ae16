"""Why a file was not evaluated, in the words of the page: no path of the server, no option of the command line."""

import re

from synthesis.errors import NO_CHECKS, RETURNS, CaseError, SynthesisError
from synthesis.server.errors import ErrorDetail

SHOWN = 10
SORT = "Tick “Sort rows by conversation”, then evaluate the file again."
CHOOSE = "Choose what a row is and which columns hold it, then evaluate the file again."
_NAMED_BY_OPTION = re.compile(r"--map \w+=(?:NAME|\S+) names it(?:; )?")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_OPTION = re.compile(r"--[a-z]|`synthesis ")


def in_page_words(error: SynthesisError, file: str) -> ErrorDetail:
    """`file` is what the server calls the file; the person who sent it knows it by another name."""
    if isinstance(error, CaseError):
        return ErrorDetail("invalid_cases", _problems(error), _cure(error))
    line = f"Line {error.place.line}: " if error.place and error.place.line else ""
    message = _plain(_without_path(error.message, file))
    hint = _plain(_without_path(error.hint or "", file))
    if not hint and _OPTION.search(error.hint or ""):
        hint = CHOOSE
    return ErrorDetail("invalid_cases", line + message[:1].upper() + message[1:], hint)


def _problems(error: CaseError) -> str:
    many = "One problem" if error.total == 1 else f"{error.total:,} problems"
    lines = [f"{many} in the file, nothing was evaluated:", *(_plain(str(one)) for one in error.problems[:SHOWN])]
    if error.total > SHOWN:
        lines.append(f"... and {error.total - SHOWN:,} more")
    return "\n".join(lines)


def _cure(error: CaseError) -> str:
    if RETURNS in error.kinds:
        return SORT
    return CHOOSE if NO_CHECKS in error.kinds else ""


def _without_path(text: str, file: str) -> str:
    return re.sub(rf"\S*{re.escape(file)}", "the file", text)


def _plain(text: str) -> str:
    """Without what only a shell understands; what is not UTF-8 is spelled out, since JSON cannot hold it."""
    told = _NAMED_BY_OPTION.sub("", text).replace(" ()", "")
    kept = [sentence for sentence in _SENTENCE.split(told) if not _OPTION.search(sentence)]
    return " ".join(kept).encode("utf-8", "backslashreplace").decode()
