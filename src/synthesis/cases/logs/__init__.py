"""Chat logs and tables as cases: OpenAI chat JSONL, ShareGPT, CSV, Parquet, Inspect logs."""

from synthesis.cases.logs.formats import format_of, is_log, read_rows
from synthesis.cases.logs.options import LogOptions, parse_map

__all__ = ["LogOptions", "format_of", "is_log", "parse_map", "read_rows"]
