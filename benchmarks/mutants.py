"""Seeded faults: does a test fail if a line is wrong?

    python benchmarks/mutants.py                    all mutants, one after the other (about ten minutes)
    python benchmarks/mutants.py gp-noise-term ...  some of them

``mutants.json`` lists for each mutant a file, a fragment of its code, what replaces it, and the tests that should notice:
signs, ranks off by one, wrong branches, dropped noise, missing locks and warnings, wrong states, in the numeric code and in
the code of studies and tables. Each is applied to a copy of the tree. A mutant is killed if a test fails that passes without
it; one that survives shows something that is not tested. A fragment that is no longer there is an error: move the mutant
along with the code.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "results", ".*_cache", ".hypothesis")
TIMEOUT = 900.0


def main(ids: list[str]) -> int:
    """Run the mutants and return how many were not killed."""
    mutants = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    chosen = [mutant for mutant in mutants if not ids or mutant["id"] in ids]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        outcomes = [outcome_of(mutant, tree) for mutant in chosen]
    print(f"{outcomes.count('killed')} of {len(outcomes)} killed")
    return len(outcomes) - outcomes.count("killed")


def outcome_of(mutant: dict[str, Any], tree: Path) -> str:
    """Apply one mutant, run its tests, take it back, and say what happened."""
    file = tree / mutant["file"]
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if mutant["old"] not in text:
        outcome, by = "not found", ""
    else:
        file.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        outcome, by = tested(mutant["tests"], tree)
        file.write_text(text, encoding="utf-8")
        if outcome == "killed" and tested([by] if by else mutant["tests"], tree)[0] == "killed":
            outcome = "tests fail without it"
    print(f"{mutant['id']}: {outcome} {by}", flush=True)
    return outcome


def tested(tests: list[str], tree: Path) -> tuple[str, str]:
    """Run tests up to the first failure; return the outcome and the test that failed."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-m", "not slow and not extras"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "timed out", ""
    if done.returncode == 0:
        return "survived", ""
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return "killed", failed[0] if failed else ""


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
