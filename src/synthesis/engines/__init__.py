"""Where the work runs is a choice: the processes of this machine, Ray, or Spark. What comes of it is the same."""
