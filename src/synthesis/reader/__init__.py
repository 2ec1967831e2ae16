"""The learned reader: scores of a text by a small model in integer arithmetic, the same integers in every engine."""
