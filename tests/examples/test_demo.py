"""The demo as a user runs it: in a process of its own, in an empty folder, twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo.py"


def _run(folder: Path, trials: int) -> str:
    command = [sys.executable, str(DEMO), "--trials", str(trials), "--folder", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_demo_starts_and_resumes(tmp_path: Path) -> None:
    first = _run(tmp_path, 4)
    assert "Starting a study" in first
    assert "Best of 4 trials" in first
    assert "learning_rate" in first
    assert "intervals" in first
    assert (tmp_path / "report.html").stat().st_size > 100_000
    second = _run(tmp_path, 2)
    assert "which has 4 trials: adding 2" in second
    assert "Best of 6 trials" in second
