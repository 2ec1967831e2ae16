"""Where the files that travel with the package are: in a wheel beside the code, in a checkout at its top."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_INSTALLED = _PACKAGE / "_bundled"
ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent.parent

CASES = ROOT / "data" / "evals.jsonl"
CASE_SCHEMA = ROOT / "schemas" / "eval_case.schema.json"
AUDIT_SCHEMA = ROOT / "schemas" / "audit.schema.json"
REPORT_SCHEMA = ROOT / "schemas" / "report.schema.json"
PACKS = _PACKAGE / "rules" / "packs"
TEST_SETS = ROOT / "data" / "test-sets"
