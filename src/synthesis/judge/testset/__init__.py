"""Test sets: the questions, answers and contexts that a judge is asked about."""

from synthesis.judge.testset.cases import load_test_set, parse_test_cases
from synthesis.judge.testset.files import check_target, write_test_set
from synthesis.judge.testset.joining import Joined, join, join_files

__all__ = [
    "Joined",
    "check_target",
    "join",
    "join_files",
    "load_test_set",
    "parse_test_cases",
    "write_test_set",
]
