"""What applies unless a run says otherwise. Each of these names is written here and nowhere else."""

# The checks of a conversation that names none: they apply to any reply. The others ask about special situations.
DEFAULT_CHECKS = ("agency_language", "unverifiable_reassurance", "topic_pivot")

DEFAULT_PROFILE, AUDIT_PROFILE = "default", "audit"
PROFILES = (DEFAULT_PROFILE, AUDIT_PROFILE)
