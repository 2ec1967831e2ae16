"""The progress file: its shape, and how often it is written."""

from running import config_for, judge, read, sample_cases
from server import JudgeServer, status

from synthesis.judge import journal
from synthesis.judge.journal import ProgressView
from synthesis.judge.ledger import Identity, Ledger, RunLine, SetLine, VerdictLine, sample_hash
from synthesis.judge.rubric import load_rubric


def test_its_shape_follows_the_contract(tmp_path):
    with JudgeServer({"sample-1": [status(413)]}) as server:
        judge(sample_cases(4), config_for(server, tmp_path))
    progress = read(tmp_path / "run" / "iteration-1" / ".progress.json")
    assert list(progress)[:5] == ["testSetName", "iterationNumber", "lastUpdated", "statistics", "entries"]
    assert progress["statistics"] == {
        "totalQuestions": 4,
        "completedQuestions": 3,
        "pendingQuestions": 1,
        "completionPercentage": 75.0,
        "failedQuestions": 1,
    }
    first = progress["entries"][0]
    assert list(first) == ["hash", "id", "question", "completedAt", "result"]
    assert first["hash"] == sample_hash("log-0")
    assert first["result"] == {"faithfulnessScore": 1, "completenessScore": 1, "passed": False}
    assert [error["id"] for error in progress["errors"]] == ["log-1"]


def test_it_follows_every_sample(tmp_path, monkeypatch):
    written = []
    real = journal.replace_file

    def noting(path, content, *, durable):
        real(path, content, durable=durable)
        written.append(read(path)["statistics"]["completedQuestions"])

    monkeypatch.setattr(journal, "replace_file", noting)
    with JudgeServer() as server:
        judge(sample_cases(30), config_for(server, tmp_path, concurrency=1))
    assert written == list(range(1, 31))


def big_view(count):
    """A view of an iteration with so many samples, all of them judged one after the other."""
    ledger = Ledger()
    ledger.apply(RunLine(1, "now", "big", Identity("p", "m", None, "r"), 1, None, load_rubric("rag")))
    ledger.apply(SetLine("now", tuple((str(n), "f") for n in range(count))))
    view = ProgressView(ledger, 1)
    for sample in ledger.samples:
        record = {"judgeVerdict": {}, "passed": True, "question": "q", "tokenUsage": []}
        ledger.apply(VerdictLine(1, sample.hash, "f", "now", None, record))
        view.update(sample)
        yield view


def test_bytes_per_sample_stay_flat_however_slow_the_judge(monkeypatch):
    clock = iter(range(10**9))
    monkeypatch.setattr("synthesis.judge.journal.time.monotonic", lambda: 10 * next(clock))
    per_sample = {}
    for count in (1000, 4000, 8000):
        written = sum(len(view.content()) for view in big_view(count) if view.is_due())
        per_sample[count] = written / count
    assert per_sample[8000] < 1.2 * per_sample[1000]


def test_beyond_five_hundred_entries_it_is_written_now_and_then():
    due = [view.is_due() for view in big_view(3000)]
    assert all(due[:500])
    assert sum(due[500:]) <= 5
