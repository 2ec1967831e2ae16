"""Stored lines become a ledger; damage is refused with its place, and nothing is changed."""

import msgspec

from synthesis.errors import Place, RunFolderError, shorten
from synthesis.judge.ledger import Ledger
from synthesis.judge.lines import FORMAT, Line, RunLine

_DECODER = msgspec.json.Decoder(Line)
Raw = bytes | memoryview


def decode(raw: Raw) -> Line:
    """One line of a journal; raises msgspec's errors."""
    line: Line = _DECODER.decode(raw)
    return line


def apply_line(ledger: Ledger, raw: Raw, number: int, journal: str) -> Line:
    """Take a stored line into account."""
    try:
        line = decode(raw)
        if ledger.run is None and not isinstance(line, RunLine):
            raise damaged(journal, number, raw, "a journal begins with its judge; this is none")
        ledger.apply(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        kind = "this is no journal of this tool" if ledger.run is None else "the journal is damaged"
        raise damaged(journal, number, raw, f"{kind}: {error}") from None
    except (KeyError, TypeError) as error:
        raise damaged(journal, number, raw, f"the journal is damaged: no call {error}") from None
    if isinstance(line, RunLine) and line.format != FORMAT:
        raise damaged(journal, number, raw, f"this journal has format {line.format}, known is {FORMAT}")
    return line


def damaged(journal: str, number: int, raw: Raw, message: str) -> RunFolderError:
    """The complaint about one line."""
    excerpt = shorten(bytes(raw[:200]).decode("utf-8", "replace"))
    return RunFolderError(
        message,
        place=Place(journal, number, excerpt=excerpt),
        hint="Nothing was changed. Restore the file from a copy, or choose another folder with --output-dir.",
    )
