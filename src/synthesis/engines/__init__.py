"""Where the work runs: on this machine, on Ray, on Spark."""
