"""Extras: what a document tells to install exists and is enough for its examples."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
DOCUMENTS = {path: path.read_text(encoding="utf-8") for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))}
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def named(text: str) -> set[str]:
    """The extras in brackets, as in `synthesis-eval[serve,client]`."""
    return {name.strip() for found in re.findall(r"synthesis-eval\[([^\]]+)\]", text) for name in found.split(",")}


def packages(extra: str) -> set[str]:
    """The packages that an extra brings, also those of extras that it names."""
    found = {re.split(r"[^\w-]", line)[0] for line in EXTRAS[extra]} - {"synthesis-eval"}
    return found.union(*(packages(name) for line in EXTRAS[extra] for name in named(line)))


def test_extras_that_a_document_names_exist() -> None:
    unknown = {str(path.relative_to(ROOT)): named(text) - set(EXTRAS) for path, text in DOCUMENTS.items()}
    assert {path: names for path, names in unknown.items() if names} == {}


def test_every_extra_is_explained() -> None:
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert {name for name in EXTRAS if f"`{name}`" not in text} == set()


def test_everything_but_the_frameworks_is_in_all() -> None:
    own = {"dev", "adapters", "engines", "training", "browser-tests", "coverage", "docs"}
    frameworks = {"inspect", "deepeval", "pydantic-evals"}
    assert named(EXTRAS["all"][0]) == set(EXTRAS) - own - frameworks - {"all"}


def test_what_examples_import_is_in_an_extra_that_the_document_names() -> None:
    missing = {str(path.relative_to(ROOT)): imported_without_an_extra(text) for path, text in DOCUMENTS.items()}
    assert {path: modules for path, modules in missing.items() if modules} == {}


def imported_without_an_extra(text: str) -> set[str]:
    written = set(re.findall(r"cat > (\w+)\.py", text))  # by the document itself
    needed = {name for block in PYTHON.findall(text) for name in _imported(block)} - written
    needed |= {"pytest"} if "python -m pytest" in text else set()
    told = {name for name in EXTRAS if f"`{name}`" in text} | named(text)
    return needed.difference(*(packages(name) for name in told))


def _imported(block: str) -> set[str]:
    """Modules from elsewhere. The name of the package is the module's, in all examples so far."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"synthesis"}
