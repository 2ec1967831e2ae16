"""The journal of a judged run: the only truth about what was judged and paid. docs/design/journal.md says why.

A run folder's journal is a file (`file`); several processes or machines share one in PostgreSQL (`shared`).
"""

from synthesis.judge.journal.file import read_ledger
from synthesis.judge.journal.shared import SharedPlace, read_shared_ledger

__all__ = ["SharedPlace", "read_ledger", "read_shared_ledger"]
