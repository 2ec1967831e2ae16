"""One journal for several processes or machines, in a PostgreSQL database.

All lines of a run stand in one order, which the lock on the run's row gives them; every process reads them all, so
every process knows what every other has judged and paid, and derives the same files.
"""

from synthesis.judge.journal.shared.connection import SharedPlace
from synthesis.judge.journal.shared.journal import SharedJournal, read_shared_ledger

__all__ = ["SharedJournal", "SharedPlace", "read_shared_ledger"]
