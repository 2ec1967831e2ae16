"""A few lines for each evaluation framework, so that the checks run where people already evaluate.

Each module imports its framework, so import the one that you use:
`inspect_scorer`, `deepeval_metric`, `promptfoo`, `pydantic_evaluator`.
"""
