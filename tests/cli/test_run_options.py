from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from calibo.cli.run_options import RunOptions


def test_the_line_to_resume_with() -> None:
    options = RunOptions(
        objective=None,
        command="python 'my train.py' {x}",
        space="s.toml",
        method="ocbo",
        storage="calibo.db",
        study="a study",
        seed=3,
        directions=("maximize",),
        reference=None,
        composite=None,
        timeout=60.0,
        report=Path("r.html"),
        progress=True,
    )
    words = shlex.split(options.line(7))
    assert words[:4] == ["calibo", "run", "--command", "python 'my train.py' {x}"]
    assert "--trials 7 --method ocbo --storage calibo.db --study 'a study' --seed 3 --maximize" in options.line(7)
    assert words[-4:] == ["--timeout", "60", "--report", "r.html"]
    assert "--composite" not in words
    known = replace(options, composite="my model.py:g")
    assert shlex.split(known.line(7))[-6:-4] == ["--composite", "my model.py:g"]
    both = replace(options, directions=("minimize", "maximize"), reference=(1.5, 0.0))
    assert "--directions minimize,maximize --reference 1.5,0.0" in both.line(7)
