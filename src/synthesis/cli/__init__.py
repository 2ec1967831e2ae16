"""The command line: the only part that prints and exits. Each command is thin over a library function."""
