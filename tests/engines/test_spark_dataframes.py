"""Verdicts on a Spark DataFrame of one's own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from table_samples import rows, write_lake

from synthesis.errors import OptionError

pytest.importorskip("pyspark", reason="Spark is not installed (make test-engines installs it)")
pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def test_a_frame_of_verdicts_holds_what_the_arrow_door_gives(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    import synthesis.spark

    write_lake(tmp_path)
    frame = spark.read.parquet(str(tmp_path / "logs"))
    options = {"user": "prompt", "assistant": "reply", "id": "conversation", "keep": ["model"]}
    verdicts = synthesis.spark.evaluate(frame, **options)
    found = sorted((row.asDict(recursive=True) for row in verdicts.collect()), key=lambda row: row["id"])
    expected = synthesis.evaluate_table(pa.Table.from_pylist(rows(90, bad=(7, 61))), **options)
    assert verdicts.columns == expected.schema.names
    assert found == expected.to_pylist()


def test_partitions_can_be_kept_and_the_answer_written_by_spark(spark: Any, tmp_path: Path) -> None:
    import synthesis.spark

    write_lake(tmp_path)
    frame = spark.read.parquet(str(tmp_path / "logs"))
    verdicts = synthesis.spark.evaluate(frame, user="prompt", assistant="reply", keep=["date"])
    verdicts.write.partitionBy("date").parquet(str(tmp_path / "verdicts"))
    written = spark.read.parquet(str(tmp_path / "verdicts"))
    counts = {str(row["date"]): row["count"] for row in written.groupBy("date").count().collect()}
    assert counts == {"2026-01-01": 30, "2026-01-02": 60}


def test_a_column_that_is_not_there_is_told_before_anything_runs(spark: Any) -> None:
    import synthesis.spark

    frame = spark.createDataFrame([("a", "b")], "q string, a string")
    with pytest.raises(OptionError, match="no column 'prompt'"):
        synthesis.spark.evaluate(frame, user="prompt", assistant="a")
