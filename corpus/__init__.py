"""Exchanges labelled by the questions that Synthesis asks: plain files, and what reads, joins and validates them."""
