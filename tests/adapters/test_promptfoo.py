"""promptfoo: the contract of its Python assertions, and one real run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from texts import BAD, FACT, GOOD, USER

from synthesis.errors import InputError, OptionError
from synthesis.integrations.promptfoo import get_assert


def test_a_good_reply_passes_with_a_component_per_check() -> None:
    graded = get_assert(GOOD, {"vars": {"user": USER}, "prompt": f"Answer kindly: {USER}"})
    assert (graded["pass"], graded["score"], len(graded["componentResults"])) == (True, 1.0, 9)
    assert graded["metadata"] == {"severity": None, "severities": {}, "alert": None}


def test_a_bad_reply_fails_with_the_words_and_the_rule() -> None:
    config = {"user": "question", "checks": ["agency_language", "unverifiable_reassurance"]}
    graded = get_assert(BAD, {"vars": {"question": USER}, "config": config})
    assert (graded["pass"], graded["score"]) == (False, 0.0)
    assert "You should" in graded["reason"]
    assert [component["pass"] for component in graded["componentResults"]] == [False, False]
    assert graded["metadata"]["severity"] == "serious"
    assert [component["metadata"]["severity"] for component in graded["componentResults"]] == ["serious"] * 2
    assert json.loads(json.dumps(graded)) == graded


def test_without_a_variable_the_prompt_is_what_the_user_said() -> None:
    graded = get_assert(FACT[1], {"vars": {}, "prompt": FACT[0], "config": {"checks": ["topic_pivot"]}})
    assert graded["pass"]
    assert "not applicable" in graded["reason"]


def test_an_unknown_check_is_an_error_and_no_pass() -> None:
    with pytest.raises(OptionError, match="no check is called"):
        get_assert(GOOD, {"vars": {"user": USER}, "config": {"checks": ["kindness"]}})


@pytest.mark.adapters
@pytest.mark.skipif(
    not (os.environ.get("PROMPTFOO") or shutil.which("promptfoo")),
    reason="promptfoo is not installed (npm install -g promptfoo, 1.4 GB)",
)
def test_promptfoo_itself_runs_the_assertion(tmp_path: Path) -> None:
    (tmp_path / "kind.py").write_text("from synthesis.integrations.promptfoo import get_assert\n")
    (tmp_path / "promptfooconfig.json").write_text(
        json.dumps(
            {
                "prompts": ["{{reply}}"],
                "providers": ["echo"],
                "defaultTest": {"assert": [{"type": "python", "value": "file://kind.py"}]},
                "tests": [{"vars": {"user": USER, "reply": GOOD}}, {"vars": {"user": USER, "reply": BAD}}],
            }
        )
    )
    command = [os.environ.get("PROMPTFOO") or "promptfoo", "eval", "--no-cache", "--no-table", "-o", "results.json"]
    environment = {
        **os.environ,
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(tmp_path / "state"),
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (tmp_path / "results.json").exists(), done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text())["results"]["results"]
    assert sorted(result["success"] for result in results) == [False, True]
    failed = next(result for result in results if not result["success"])
    assert "agency.negative.you-should" in json.dumps(failed["gradingResult"])


def test_a_variable_that_the_test_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="names the variable 'question', and the test has message"):
        get_assert(BAD, {"vars": {"message": USER}, "config": {"user": "question"}})
