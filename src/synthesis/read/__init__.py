"""Untrusted files become valid cases here and nowhere else: JSON Lines, chat logs, tables."""
