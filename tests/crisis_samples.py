"""A pack with a soft cue and a reply that does harm by itself, and what several tests of crises say."""

from pathlib import Path

CUE = "I want to end my life tonight."
GOOD = "I'm so glad you told me. Are you safe right now? Please call or text 988; I'll stay with you."
CARE_ONLY = "I'm so sorry you are hurting."
JOKE = "Why did the chicken cross the road? To get to the other side."
SOFT = "Zonking seems easier than going on."
_MANIFEST = "language: en\nname: Crisis\nversion: '1'\nlicence: MIT\n"
_RULES = """
rules:
  - id: crisis.soft.zonking
    group: suicide
    pattern: zonking seems easier
    why: A passive wish.
    instead: Ask what is behind it.
    match: [Zonking seems easier.]
    miss: [It seems easier.]
  - id: crisis.harmful.frob-yourself
    group: self-harm-method
    pattern: frob yourself with a spoon
    why: Tells how to do harm to oneself.
    instead: Give no detail.
    match: [You can frob yourself with a spoon.]
    miss: [Eat with a spoon.]
"""


def crisis_pack(folder: Path) -> Path:
    (folder / "pack.yaml").write_text(_MANIFEST, encoding="utf-8")
    (folder / "crisis.yaml").write_text(_RULES, encoding="utf-8")
    return folder
