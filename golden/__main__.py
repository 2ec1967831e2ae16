"""`python -m golden`: record what the product says, compare it with the record, or show it."""

import argparse
import sys
from pathlib import Path

from golden.hashing import RECORDED, begun_with, comparable, differences, of_jobs, record, recorded, said_by


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument(
        "entry", nargs="?", default="", help="only entries that begin so, such as help/ or data/evals.fr"
    )
    parser.add_argument(
        "--check", action="store_true", help="name the entries that differ from the record; exit code 2"
    )
    parser.add_argument("--show", nargs=2, metavar=("ENTRY", "FOLDER"), help="write the texts of entries that begin so")
    options = parser.parse_args()
    if options.show:
        return _show(options.show[0], Path(options.show[1]))
    return _check(options.entry) if options.check else _record(options.entry)


def _record(entry: str) -> int:
    chosen, wanted = begun_with(entry)
    said = said_by(chosen, wanted)
    changed = differences(said, _expected(entry))
    record(said, {name: digest for name, digest in recorded().items() if not name.startswith(entry)})
    print("\n".join([*changed, f"{len(said)} entries recorded in {RECORDED}"]))
    return 0


def _check(entry: str) -> int:
    begun, wanted = begun_with(entry)
    chosen = [job for job in begun if comparable(job)]
    expected = _expected(entry)
    covered = of_jobs(chosen, expected)
    found = differences(said_by(chosen, wanted), {name: expected[name] for name in covered})
    print("\n".join([*found, f"{len(found)} of {len(covered)} entries differ"]))
    if skipped := len(expected) - len(covered):
        print(f"{skipped} entries not compared: they were recorded with other versions of Python or of packages")
    return 2 if found else 0


def _expected(entry: str) -> dict[str, str]:
    return {name: digest for name, digest in recorded().items() if name.startswith(entry)}


def _show(entry: str, folder: Path) -> int:
    chosen, wanted = begun_with(entry)
    for name, raw in sorted(said_by(chosen, wanted).items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        print(path)
    return 0


sys.exit(main())
