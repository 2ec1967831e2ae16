"""Numbers are computed once and drawn many ways: one module per form."""

from synthesis.report.stored import write_report

__all__ = ["write_report"]
