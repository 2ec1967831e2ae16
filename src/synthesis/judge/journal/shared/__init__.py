"""One journal for several processes or machines, in a PostgreSQL database.

The lock on the run's row puts all lines of a run into one order. Every process reads them all, so every process
knows what the others have judged and paid, and derives the same files. docs/design/leases.md says why.
"""

from synthesis.judge.journal.shared.connection import SharedPlace
from synthesis.judge.journal.shared.journal import SharedJournal, read_shared_ledger

__all__ = ["SharedJournal", "SharedPlace", "read_shared_ledger"]
