"""A judge that compares words: no key, no network, the same verdict every time."""

from synthesis.judge.offline.judge import OfflineJudge

__all__ = ["OfflineJudge"]
