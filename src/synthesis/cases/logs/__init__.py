"""Chat logs and tables as cases."""
