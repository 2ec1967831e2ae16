"""`python -m synthesis` is the same as `synthesis`."""

from synthesis.cli.main import run

if __name__ == "__main__":
    run()
