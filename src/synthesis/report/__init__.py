"""Reports: figures are computed once and written in many formats, one module each."""

from synthesis.report.stored import write_report

__all__ = ["write_report"]
