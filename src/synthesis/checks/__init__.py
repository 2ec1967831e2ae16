"""The checks: findings and a case become a verdict. One file per check; the registry lists them all."""

from synthesis.checks.exchange import Exchange
from synthesis.checks.registry import Check, check, checks, get_check, rules_in_force, share_signal, signals

__all__ = ["Check", "Exchange", "check", "checks", "get_check", "rules_in_force", "share_signal", "signals"]
