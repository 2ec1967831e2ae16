"""The journal of a judged run: the only truth about what was judged and paid. docs/design/journal.md says why."""

from synthesis.judge.journal.file import read_ledger

__all__ = ["read_ledger"]
