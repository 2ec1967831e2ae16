"""Verdicts on a Spark DataFrame of yours: `synthesis.spark.evaluate(df, user="prompt", assistant="reply")`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from synthesis.errors import MissingExtraError
from synthesis.run.table import BatchEvaluator, evaluate_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def evaluate(df: "DataFrame", **options: Any) -> "DataFrame":
    """A DataFrame with one row of verdicts for each row of `df`; the options are those of `BatchEvaluator`.

    Nothing runs before the answer is asked for. Spark reads, spreads, retries and writes as it does elsewhere.
    """
    try:
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    except ImportError:
        raise MissingExtraError("spark", "evaluating a DataFrame") from None
    evaluator = BatchEvaluator(**options)
    columns = evaluator.needed(df.columns)
    chosen = df.select(*("`" + name.replace("`", "``") + "`" for name in columns))
    schema = evaluator.schema(to_arrow_schema(chosen.schema))
    return chosen.mapInArrow(_Verdicts(evaluator), from_arrow_schema(schema))


class _Verdicts:
    """What Spark sends to its workers: from batches of conversations to batches of verdicts."""

    def __init__(self, evaluator: BatchEvaluator) -> None:
        self._evaluator = evaluator

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return evaluate_batches(batches, self._evaluator)
