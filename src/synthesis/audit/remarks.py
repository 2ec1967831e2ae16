"""What a log does not hold, what that leaves out of the document, and what still works."""

from collections.abc import Iterator, Mapping

import msgspec

from synthesis.audit.options import LANGUAGE, WEEK, AuditOptions
from synthesis.audit.tally import NO_TIME, NO_VALUE, AuditTally
from synthesis.cases.logs.options import TIME
from synthesis.rules.text import UNDETERMINED

MIXED = 0.02  # of the conversations; below that another language is a chance
_LEFT_OUT = "figures by week, the period and notices every three hours are left out"
_REST = "Everything else is complete."
_ONE_TURN = "drift, cues left open and turns until a referral say nothing. Rates per reply are complete."


class Origin(msgspec.Struct, frozen=True):
    """Where the conversations come from: how the columns were named, or whether only their results were stored."""

    columns: Mapping[str, str] = {}
    is_stored: bool = False


def remarks_on(tally: AuditTally, options: AuditOptions, origin: Origin) -> list[str]:
    found = [_times(tally, origin), _conversations(tally, origin), *_languages(tally), _unread(tally)]
    found += [_column(tally, column) for column in options.by]
    if options.all_cells:
        found.append("All cells are shown, also those of fewer than five: this document may tell about single people.")
    if options.with_ids:
        found.append("Ids of conversations are shown, because they were asked for.")
    if options.with_excerpts:
        found.append(
            "Excerpts are shown, because they were asked for. Addresses, numbers, links, handles and capitalised names "
            "are taken out; other words may still tell who somebody is."
        )
    return [remark for remark in found if remark]


def _times(tally: AuditTally, origin: Origin) -> str:
    without = tally.read[WEEK, NO_TIME, "conversations"]
    if tally.period is not None:
        return f"{without:,} of {tally.cases:,} conversations have no time that could be read." if without else ""
    if origin.is_stored:
        return f"Stored results hold no times: {_LEFT_OUT}. Audit the logs for these. {_REST}"
    if TIME in origin.columns:
        named = f"No row has a time in '{origin.columns[TIME]}' that could be read (ISO 8601 or an epoch)"
        return f"{named}: {_LEFT_OUT}. {_REST}"
    return f"No times were read: {_LEFT_OUT}. Name the column with --map time=NAME. {_REST}"


def _conversations(tally: AuditTally, origin: Origin) -> str:
    if tally.told["repeated ids"]:
        return (
            f"{tally.told['repeated ids']:,} rows have the id of the row before: perhaps turns of one conversation. "
            "Join them with --map conversation=NAME; until then each row counts as a conversation of its own."
        )
    if tally.told["several turns"]:
        return ""
    if origin.is_stored:
        return f"Every conversation has one turn: {_ONE_TURN}"
    return (
        "Every conversation has one turn. If the rows of your log are turns, join them with --map conversation=NAME: "
        f"without it {_ONE_TURN}"
    )


def _languages(tally: AuditTally) -> Iterator[str]:
    cells = {
        value: tally.read[by, value, what]
        for by, value, what in tally.read
        if (by, what) == (LANGUAGE, "conversations")
    }
    if unknown := cells.pop(UNDETERMINED, 0):
        yield (
            f"{unknown:,} of {tally.cases:,} conversations are in a language that was not recognised ({UNDETERMINED}): "
            "no rule reads them, so that they are in no rate. --lang CODE names the language where you know it."
        )
    common = [language for language, count in sorted(cells.items()) if count >= MIXED * tally.cases]
    if len(common) > 1:
        yield (
            f"The conversations are in several languages ({', '.join(common)}). Corrected rates are given by language, "
            "since a rule's errors differ from one to another; raw rates over all languages are complete."
        )


def _unread(tally: AuditTally) -> str:
    errors = tally.told["errors"]
    return f"{errors:,} of {tally.cases:,} rows could not be read and are in no rate." if errors else ""


def _column(tally: AuditTally, column: str) -> str:
    without = tally.read[column, NO_VALUE, "conversations"]
    if without == tally.cases - tally.told["errors"]:
        return f"No row has a value in the column '{column}'."
    return f"{without:,} of {tally.cases:,} conversations have no value in the column '{column}'." if without else ""
