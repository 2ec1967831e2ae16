"""The public names are curated, sorted, and lead somewhere."""

import subprocess
import sys

import pytest

import synthesis
from synthesis import errors
from synthesis.checks.registry import checks


def test_names_are_sorted_and_unique() -> None:
    assert synthesis.__all__ == sorted(set(synthesis.__all__))


def test_every_name_exists() -> None:
    assert [name for name in synthesis.__all__ if getattr(synthesis, name, None) is None] == []


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert dir(synthesis) == synthesis.__all__


def test_every_error_and_a_function_for_every_check_are_public() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert kinds <= set(synthesis.__all__)
    functions = {f"check_{check.tag}" for check in checks().values() if check.table}
    assert functions <= set(synthesis.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        synthesis.nonsense  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, synthesis; print([m for m in ('msgspec', 'yaml', 'jsonschema_rs', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
