"""Test sets: the questions, answers and contexts that a judge is asked about."""

from synthesis.judge.testset.cases import Loaded, load_test_set, parse_test_cases, read_test_set
from synthesis.judge.testset.fields import parse_mapping
from synthesis.judge.testset.files import Problems, check_target, write_test_set
from synthesis.judge.testset.joining import Joined, join, join_files

__all__ = [
    "Joined",
    "Loaded",
    "Problems",
    "check_target",
    "join",
    "join_files",
    "load_test_set",
    "parse_mapping",
    "parse_test_cases",
    "read_test_set",
    "write_test_set",
]
