"""Trains the learned reader: texts and labels in, one weights file with its card out. Not part of the package."""
