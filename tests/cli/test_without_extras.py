"""Every command in an installation without extras: it works, or names the extra that it needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import row, write_jsonl

# What the extras bring, as an interpreter sees it that never had them installed.
NOT_INSTALLED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""
OF_EXTRAS = (
    *("sqlalchemy", "psycopg", "pyarrow", "zstandard", "icu4py", "mcp", "httpx", "pydantic_ai", "pydantic", "openai"),
    *("anthropic", "starlette", "sse_starlette", "uvicorn", "prometheus_client", "granian", "ray", "pyspark", "numpy"),
)


@pytest.fixture
def bare(tmp_path: Path) -> "Bare":
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(NOT_INSTALLED.format(names=set(OF_EXTRAS)))
    return Bare(tmp_path)


class Bare:
    """`synthesis` in a folder with one case file, where no extra can be imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_jsonl(folder / "cases.jsonl", [row(), row(id="T-2", assistant="You should just leave him.")])
        sample = {"id": "1", "question": "Who left?", "context": ["Ann left."], "answer": "Ann left."}
        (folder / "set.jsonl").write_text(json.dumps(sample) + "\n")

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "site")}
        command = [sys.executable, "-m", "synthesis", *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "command",
    [
        "eval --cases cases.jsonl --out report.json --fail-on 9",
        "audit cases.jsonl --out audit",
        "judge run set.jsonl --judge-provider offline",
        "rules lint",
        "schema audit",
        "completion bash",
        "testset --help",
    ],
)
def test_what_needs_no_extra_works(bare: Bare, command: str) -> None:
    done = bare(*command.split())
    assert done.returncode == 0, done.stderr


def test_an_audit_is_verified_and_reports_are_compared(bare: Bare) -> None:
    assert bare("audit", "cases.jsonl", "--out", "audit").returncode == 0
    assert bare("audit", "verify", "audit/audit.json", "cases.jsonl").returncode == 0
    assert bare("--cases", "cases.jsonl", "--out", "report.json", "--fail-on", "9").returncode == 0
    assert bare("compare", "report.json", "report.json").returncode == 0
    assert bare("report", "convert", "report.json", "--format", "html").returncode == 0


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("serve", "serve"),
        ("mcp", "mcp"),
        ("history list", "sql"),
        ("--cases cases.jsonl --save", "sql"),
        ("audit cases.jsonl --labels latest --out audit", "sql"),
        ("--cases cases.jsonl --out-table verdicts", "parquet"),
        ("judge run set.jsonl --judge-provider openai --judge-model m", "judge"),
    ],
)
def test_what_needs_an_extra_names_it(bare: Bare, command: str, extra: str) -> None:
    done = bare(*command.split())
    assert done.returncode == 1, done.stdout
    assert f"pip install 'synthesis-eval[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
