"""The tables as they are today; `migrations.py` says how they came to be."""

from sqlalchemy import BigInteger, Boolean, Column, Double, ForeignKey, MetaData, Table, Text

metadata = MetaData()
_text, _number = Text(), BigInteger()


def _of_a_run(name: str, *columns: "Column[object]") -> Table:
    """A table whose rows go when their run goes."""
    owner = Column("run_id", _text, ForeignKey("synthesis_runs.id", ondelete="CASCADE"), primary_key=True)
    return Table(f"synthesis_{name}", metadata, owner, *columns)


runs = Table(
    "synthesis_runs",
    metadata,
    Column("id", _text, primary_key=True),
    Column("kind", _text),
    Column("name", _text),
    Column("started", _text),
    Column("tool_version", _text),
    Column("rules_hash", _text),
    Column("input_hash", _text),
    Column("revision", _text),
    Column("with_text", Boolean()),
    Column("conditions", _text),
    Column("summary", _text),
    Column("origin", _text),
)
cases = _of_a_run(
    "cases",
    Column("position", _number, primary_key=True),
    Column("case_id", _text),
    Column("outcome", _text),
    Column("kind", _text),
    Column("language", _text),
    Column("words", _text),
    Column("record", _text),
)
outcomes = _of_a_run(
    "outcomes",
    Column("position", _number, primary_key=True),
    Column("check_name", _text, primary_key=True),
    Column("outcome", _text),
    Column("expected", Boolean()),
    Column("matched", Boolean()),
)
findings = _of_a_run(
    "findings",
    Column("position", _number, primary_key=True),
    Column("number", _number, primary_key=True),
    Column("rule", _text),
    Column("signal", _text),
    Column("side", _text),
    Column("turn", _number),
    Column("start_at", _number),
    Column("end_at", _number),
)
samples = _of_a_run(
    "samples",
    Column("iteration", _number, primary_key=True),
    Column("position", _number, primary_key=True),
    Column("query_log_id", _text),
    Column("faithfulness", _number),
    Column("completeness", _number),
    Column("overall", Double()),
    Column("passed", Boolean()),
    Column("error", _text),
    Column("words", _text),
    Column("record", _text),
)
tags = _of_a_run("tags", Column("tag", _text, primary_key=True))
versions = Table("synthesis_schema_version", metadata, Column("version", _number, primary_key=True))
