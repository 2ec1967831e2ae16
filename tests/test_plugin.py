"""A stranger's package adds a check, and everything picks it up: schema, statistics, labels, reports, rules."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import row, write_jsonl

PLUGIN = Path(__file__).parent / "plugin"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin, installed by pip into a folder of its own."""
    target = tmp_path_factory.mktemp("site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(PLUGIN)]
    subprocess.run(install, check=True, capture_output=True)
    return target


def synthesis(site: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(site), "PATH": ""}
    command = [sys.executable, "-m", "synthesis", *args]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_an_installed_check_is_known_everywhere(site: Path, tmp_path: Path) -> None:
    labelled = row(checks=["reply_length", "agency_language"], expected={"reply_length": True})
    padded = row(id="T-2", assistant="Needless to say, talk to me.", checks=["reply_length"], tags=["length-fail"])
    write_jsonl(tmp_path / "cases.jsonl", [labelled, padded])
    done = synthesis(site, tmp_path, "--cases", "cases.jsonl")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["summary"]["by_check"]["reply_length"] == {"passed": 1, "failed": 1, "not_applicable": 0}
    assert report["summary"]["label_accuracy_by_check"]["reply_length"]["accuracy"] == 100
    assert report["failures"] == [
        {
            "id": "T-2",
            "failed": ["reply_length"],
            "evidence": {"words": 6},
            "expected_failure": True,
            "severity": "minor",
        }
    ]
    assert report["results"][1]["findings"][0]["rule"] == "length.filler.needless-to-say"
    assert "reply_length" in done.stdout
    assert "reply_length" in synthesis(site, tmp_path, "schema", "case").stdout
    assert "needless to say" in synthesis(site, tmp_path, "rules", "show", "length.filler.needless-to-say").stdout


def test_without_the_package_the_check_is_unknown(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "cases.jsonl", [row(checks=["reply_length"])])
    done = synthesis(tmp_path, tmp_path, "--cases", "cases.jsonl")
    assert done.returncode == 1
    assert "no check is called 'reply_length'" in done.stderr
