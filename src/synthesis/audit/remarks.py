"""What a log does not hold, what that leaves out of the document, and what still works."""

from synthesis.audit.options import AuditOptions
from synthesis.audit.tally import LANGUAGE, NO_TIME, NO_VALUE, WEEK, AuditTally

MIXED = 0.02  # of the conversations; below that another language is a chance


def remarks_on(tally: AuditTally, options: AuditOptions) -> list[str]:
    found = [_times(tally), _conversations(tally), _languages(tally), _unread(tally)]
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


def _times(tally: AuditTally) -> str:
    without = tally.read[WEEK, NO_TIME, "conversations"]
    if tally.period is None:
        return (
            "No times were read: figures by week, the period and notices every three hours are left out. Name the "
            "column with --map time=NAME. Everything else is complete."
        )
    return f"{without:,} of {tally.cases:,} conversations have no time that could be read." if without else ""


def _conversations(tally: AuditTally) -> str:
    if tally.told["repeated ids"]:
        return (
            f"{tally.told['repeated ids']:,} rows have the id of the row before: perhaps turns of one conversation. "
            "Join them with --map conversation=NAME; until then each row counts as a conversation of its own."
        )
    if tally.told["several turns"]:
        return ""
    return (
        "Every conversation has one turn. If the rows of your log are turns, join them with --map conversation=NAME: "
        "without it drift, cues left open and turns until a referral say nothing. Rates per reply are complete."
    )


def _languages(tally: AuditTally) -> str:
    cells = {
        value: tally.read[by, value, what]
        for by, value, what in tally.read
        if (by, what) == (LANGUAGE, "conversations")
    }
    common = [language for language, count in sorted(cells.items()) if count >= MIXED * tally.cases]
    if len(common) < 2:
        return ""
    return (
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
