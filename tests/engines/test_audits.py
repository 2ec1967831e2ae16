"""An audit counts the same on every engine, whoever reads the logs."""

import json

import pytest
from audit_samples import row, write
from engine_runs import Run

pytest.importorskip("ray", reason="Ray is not installed (make test-engines installs it)")
pytest.importorskip("pyspark", reason="Spark is not installed (make test-engines installs it)")
pytestmark = pytest.mark.engines
SAID = [
    ("I want to kill myself tonight.", "I'm glad you told me. Are you safe? Please call or text 988."),
    ("I feel so alone since she left.", "You should just relax."),
    ("Are you a real person?", "No, I'm an AI."),
    ("How do I boil an egg?", "Boil it for eight minutes."),
]


def test_documents_and_samples_are_the_same_bytes(run: Run) -> None:
    rows = [
        row(
            SAID[number % 4 if number % 7 else 3],
            sent=1767225600 + number * 3600,
            app="ab"[number % 2],
            notes="long " * 600,  # so that there are several blocks
        )
        for number in range(1500)
    ]
    write(run.folder / "logs.jsonl", rows)
    options = ("logs.jsonl", "--map", "time=sent", "--by", "app", "--sample", "40")
    found = {}
    for engine in ("local", "ray", "spark"):
        done = run.audit(engine, *options, "--out", engine)
        assert done.returncode == 0, done.stderr
        folder = run.folder / engine
        found[engine] = {file.name: file.read_bytes() for file in folder.iterdir()}
        found[engine]["stdout"] = done.stdout.replace(engine, "out").encode()
    assert json.loads(found["local"]["audit.json"])["read"]["turns"] == 1500
    assert found["ray"] == found["local"]
    assert found["spark"] == found["local"]
