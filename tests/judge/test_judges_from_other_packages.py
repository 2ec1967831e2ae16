"""A judge of another package registers like the built-in ones and is used like them."""

import subprocess
import sys

from running import environment, read, sample_cases, synthesis, write_set

MODULE = '''
from synthesis.judge.model import AxisVerdict, TokenUsage, Verdict

class Coin:
    """Always three; one that fails on demand."""
    model, prompt = "coin-1", None
    def __init__(self, rubric):
        self.rubric = rubric
    async def judge(self, case, calls):
        if case.query_log_id == "log-1":
            raise ZeroDivisionError("the coin stands on its edge")
        if case.query_log_id == "log-3":
            return Verdict({axis.name: AxisVerdict(6, "tails") for axis in self.rubric.axes})
        axes = {axis.name: AxisVerdict(3, "heads") for axis in self.rubric.axes}
        return Verdict(axes, token_usage=(TokenUsage("coin-1", 5, 1),))
    def worst_case(self, case):
        return TokenUsage("coin-1", 5, 1)
    async def close(self):
        pass

def create(settings):
    return Coin(settings.rubric)
'''


def install(folder):
    """What pip leaves behind: a module and its metadata."""
    (folder / "coin_judge.py").write_text(MODULE)
    info = folder / "coin_judge-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-judge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[synthesis.judges]\ncoin = coin_judge:create\n")


def test_it_judges_and_its_failure_is_an_error_of_one_sample(tmp_path):
    install(tmp_path)
    cases = write_set(tmp_path / "set.json", sample_cases(4))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "synthesis",
            "judge",
            "run",
            cases,
            "--judge-provider",
            "coin",
            "--root",
            "runs",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(tmp_path)),
    )
    assert done.returncode == 3, done.stderr
    records = read(tmp_path / "runs" / "set" / "records" / "records-iteration-1.json")
    cost = read(tmp_path / "runs" / "set" / "cost" / "cost-iteration-1.json")
    assert [record["overallScore"] for record in records] == [3, 3]
    assert "ZeroDivisionError: the coin stands on its edge" in done.stdout
    assert "no whole score from 1 to 5 on 'faithfulness'" in done.stdout
    assert cost["totalTokens"]["input"] == 10
    assert cost["totalCost"] is None


def test_without_it_the_name_is_unknown(tmp_path):
    cases = write_set(tmp_path / "set.json", sample_cases(3))
    done = synthesis("judge", "run", cases, "--judge-provider", "coin", cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no judge provider 'coin'" in done.stderr
    assert "replay" in done.stderr
