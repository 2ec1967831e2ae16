import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from engine_runs import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)
