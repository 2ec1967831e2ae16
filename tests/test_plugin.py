"""A stranger's package adds a check, and everything picks it up: schema, statistics, labels, reports, rules."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import row, write_jsonl

from synthesis.checks import plugins

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


ANNOUNCED = "[synthesis.checks]\nmine = my_checks\n"


@pytest.mark.parametrize(
    ("files", "may_be"),
    [
        ({}, False),
        ({"other-1.0.dist-info/entry_points.txt": "[console_scripts]\nother = other:main\n"}, False),
        ({"other-1.0.dist-info/METADATA": "Name: other\n"}, False),
        ({"old-1.0.egg-info": "Name: old\n"}, False),
        ({"mine-1.0.dist-info/entry_points.txt": ANNOUNCED}, True),
        ({"mine.egg-info/entry_points.txt": ANNOUNCED}, True),
    ],
)
def test_only_where_a_package_names_the_group_is_its_announcement_read(
    tmp_path: Path, files: dict[str, str], may_be: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    assert plugins._may_be_announced() is may_be
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [""])
    assert plugins._may_be_announced() is may_be
    announced = [point.name for point in entry_points(group=plugins.GROUP)]  # which finds no more than that
    assert announced == (["mine"] if may_be else [])


def test_what_is_not_as_pip_leaves_it_is_looked_at_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "packages.zip").write_bytes(b"PK")
    (tmp_path / "old.egg").mkdir()
    for name in ("packages.zip", "old.egg"):
        monkeypatch.setattr(sys, "path", [str(tmp_path / name)])
        assert plugins._may_be_announced()
    monkeypatch.setattr(sys, "path", [])
    assert not plugins._may_be_announced()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, SimpleNamespace(find_distributions=lambda *_: [])])
    assert plugins._may_be_announced()
