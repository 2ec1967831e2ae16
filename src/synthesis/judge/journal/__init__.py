"""The journal of a judged run: the only truth about what was judged and paid. docs/design/journal.md says why.

A run folder's journal is a file (`file`); several processes or machines share one in PostgreSQL (`shared`).
"""

from synthesis.judge.journal.base import Journal, LeaseLostError, Work
from synthesis.judge.journal.file import FileJournal, read_ledger
from synthesis.judge.journal.ledger import Ledger, State
from synthesis.judge.journal.opening import OnChange, missing_lines, open_journal
from synthesis.judge.journal.shared import SharedJournal, SharedPlace, read_shared_ledger

__all__ = [
    "FileJournal",
    "Journal",
    "LeaseLostError",
    "Ledger",
    "OnChange",
    "SharedJournal",
    "SharedPlace",
    "State",
    "Work",
    "missing_lines",
    "open_journal",
    "read_ledger",
    "read_shared_ledger",
]
