"""Query logs: where test sets come from. Rows of files and tables, chosen, become cases."""

from synthesis.judge.logs.building import Built, build_test_set, read_log
from synthesis.judge.logs.rows import LogRow, parse_mapping
from synthesis.judge.logs.selection import Selection, newest_first, period, pick

__all__ = [
    "Built",
    "LogRow",
    "Selection",
    "build_test_set",
    "newest_first",
    "parse_mapping",
    "period",
    "pick",
    "read_log",
]
