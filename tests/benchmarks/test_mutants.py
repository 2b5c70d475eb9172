"""Seeded faults: each is of code that is still there, and names tests that are."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_faults_are_of_code_and_tests_that_are_there() -> None:
    mutants = json.loads((ROOT / "benchmarks" / "mutants.json").read_text(encoding="utf-8"))
    moved = [one["id"] for one in mutants if one["old"] not in (ROOT / one["file"]).read_text(encoding="utf-8")]
    missing = [name for one in mutants for name in one["tests"] if not (ROOT / name.split("::")[0]).exists()]
    assert len(mutants) > 50 and not moved and not missing
