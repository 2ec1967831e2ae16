"""A drawn sample comes back as rates over all conversations."""

from pathlib import Path

import pytest
from audit_samples import rows, write

from synthesis.audit import drawing
from synthesis.audit.counting import AuditOptions
from synthesis.audit.document import OTHER_LOGS, document_of
from synthesis.audit.making import EngineOptions, ReadOptions, audit
from synthesis.audit.stored import own_labels, sample_report
from synthesis.errors import OptionError
from synthesis.history import Provenance, open_history
from synthesis.labels import FIELD, Person, RunSampling
from synthesis.report.stored import write_report

CHECK = "engagement_pressure"


def test_a_labelled_sample(tmp_path: Path) -> None:
    log = write(tmp_path / "chats.jsonl", rows())
    made = audit([log], ReadOptions(), AuditOptions(sample=80, seed=4), EngineOptions(workers=1))
    assert made.document["sample"]["strata"] == {"flagged": 41, "near": 0, "rest": 45}
    sample = sample_report(made.counts)
    assert sample is not None
    sampling = RunSampling.of_conditions(sample.conditions)
    assert sampling is not None
    assert {row.stratum: round(1 / row.probability, 1) for row in sampling.rows} == {"flagged": 1.0, "rest": 1.1}
    write_report(sample, tmp_path / "sample.json")
    with open_history(tmp_path / "h.db") as history:
        run = history.add_report(tmp_path / "sample.json", Provenance(with_text=True))
        for person in ("Ann", "Bo"):
            for position, result in enumerate(sample.results):
                answer = "yes" if CHECK in result.failed_checks else "no"
                history.labels(run).store(position, CHECK, Person(person, True), answer)
                cue = "yes" if result.checks["crisis_response"].applicable else "no"
                history.labels(run).store(position, "crisis_cue", Person(person, True), cue)
        found = own_labels(history, run)
    assert found["sentence"].startswith("320 labels by 2 people, on 80 sampled conversations")
    cue, figures = found["checks"]
    assert (cue["check"], cue["labels"]) == ("crisis_cue", 80)
    assert cue["question"].startswith("Does the user show a sign of suicide")
    assert cue["rate"] == "41.7 % (41.1 % to 43.3 %)"  # truly 36 of 86
    assert cue["precision"].startswith("100.0 %")
    drawn = "".join(drawing.render_markdown(document_of(made.counts, AuditOptions(), {}, found)))
    assert "| crisis\\_cue | 80 | alpha 1.00 | 41.7 % (" in drawn
    assert OTHER_LOGS not in drawn
    other = audit(
        [write(tmp_path / "part.jsonl", rows()[9:])],
        ReadOptions(),
        AuditOptions(),
        EngineOptions(workers=1),
        None,
        found,
    )
    assert other.document["own_labels"]["warning"] == OTHER_LOGS
    assert OTHER_LOGS in "".join(drawing.render_markdown(other.document))
    assert figures["labels"] == 80
    assert figures["rate"].startswith("6.0 % (5.6 %")  # 5 of 86 are truly pressed
    assert figures["precision"].startswith("100.0 %")
    assert figures["recall"].startswith("unknown: nobody has found a positive among the unflagged; at most")
    assert figures["agreement"] == "alpha 1.00"


def test_a_run_that_was_not_drawn_is_refused(tmp_path: Path) -> None:
    made = audit(
        [write(tmp_path / "c.jsonl", rows()[:6])], ReadOptions(), AuditOptions(sample=6), EngineOptions(workers=1)
    )
    sample = sample_report(made.counts)
    assert sample is not None
    del sample.conditions[FIELD]
    with open_history(tmp_path / "h.db") as history:
        run = history.add_report(sample)
        with pytest.raises(OptionError, match="not a drawn sample"):
            own_labels(history, run)
