"""A missing extra is named."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("missing", ["torch", "botorch"])
def test_a_missing_extra_is_named(missing: str) -> None:
    # An empty module stands for torch, which takes long to import, until botorch is looked for.
    code = (
        "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); "
        f"sys.modules[{missing!r}] = None; import calibo.botorch"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment)
    assert result.returncode != 0
    assert f'MissingExtra: calibo.botorch needs {missing}, which is not installed: pip install "calibo[botorch]"' in (
        result.stderr
    )
