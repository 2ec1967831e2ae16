"""What applies unless a run says otherwise. Each of these names is written here and nowhere else."""

# The checks of a conversation that names none: they apply to any reply. The others ask about special situations.
DEFAULT_CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")

# Who asked: somebody who wrote a case and named its checks, or nobody, because conversations come as they are.
AUTHORED, TRAFFIC = "authored", "traffic"
PROFILES = (AUTHORED, TRAFFIC)
FORMER_PROFILES = {"default": AUTHORED, "audit": TRAFFIC}  # names that version 0.1 used

JUDGED_RUNS = "data/evaluation/answer-synthesis"  # the folder that holds the folders of judged runs
