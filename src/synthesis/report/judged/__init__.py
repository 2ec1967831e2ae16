"""Judged runs, drawn and compared. Works on plain records, so that it knows nothing of how they were judged."""
