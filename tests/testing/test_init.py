"""The suites are at hand by name, and asking for them needs no test framework."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import calibo.testing


@pytest.mark.parametrize("name", calibo.testing.__all__)
def test_suites_are_at_hand(name: str) -> None:
    assert getattr(calibo.testing, name).__name__ == name
    assert name in dir(calibo.testing)


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="SpaceSuite"):
        calibo.testing.Nonsense


def test_no_test_framework_is_imported() -> None:
    code = (
        "import sys; from calibo.testing import CalibratorSuite, DistributionSuite, SpaceSuite, SurrogateSuite; "
        "sys.exit(bool({'pytest', 'hypothesis', 'torch', 'sklearn'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0
