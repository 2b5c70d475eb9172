"""``calibo watch`` as a process of its own, stopped by Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from calibo import Float, minimize
from calibo.cli.app import FAILED, app


@pytest.mark.whole
def test_a_running_study_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    minimize(lambda p: p["x"], {"x": Float(0, 1)}, 3, "gp_ei", storage=path, study_name="s", seed=0, progress=False)
    before = path.read_bytes()
    words = [sys.executable, "-m", "calibo", "watch", str(path), "s"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", process.stdout.readline())
        assert found is not None
        with urllib.request.urlopen(found[0], timeout=30) as answer:
            assert b"3 trials" in answer.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and out.endswith("Stopped.\n") and err == ""
    assert path.read_bytes() == before


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["watch", str(tmp_path / "none.db")])
    assert done.exit_code == FAILED and "error:" in done.stderr
