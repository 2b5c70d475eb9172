"""The bridge without BoTorch, and the house without the bridge."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.extras


def python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("missing", ["torch", "botorch"])
def test_a_missing_extra_is_named(missing: str) -> None:
    # A hollow torch will do until botorch is looked for, and is there at once.
    result = python(
        "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); "
        f"sys.modules[{missing!r}] = None; import calibo.botorch"
    )
    assert result.returncode != 0
    assert f'MissingExtra: calibo.botorch needs {missing}, which is not installed: pip install "calibo[botorch]"' in (
        result.stderr
    )
