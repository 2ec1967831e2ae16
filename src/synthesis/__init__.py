"""Synthesis: does an assistant treat people well, and does it tell them the truth?"""

from synthesis._version import __version__

__all__ = ["__version__"]
