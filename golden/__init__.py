"""What the product says, as hashes: a change that should change nothing can show that it did not.

`python -m golden` writes `golden/hashes.json`, `--check` names the entries that differ from it, and
`--show ENTRY FOLDER` writes the texts behind an entry (or behind all that begin so), to compare two working trees.
`python -m golden ENTRY`, with or without `--check`, takes only entries that begin so, such as `help/`.

Only public doors are used (`python -m synthesis`, the names in `synthesis.__all__`, HTTP) and the examples in the rule
packs, so that internal modules can move without a change here.
"""
