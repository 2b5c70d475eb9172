"""Shipped conformance suites: inherit one, say what is under test, and run pytest."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibo.testing.calibrator_suite import CalibratorSuite
    from calibo.testing.distribution_suite import DistributionSuite
    from calibo.testing.matrix import check_model, examine
    from calibo.testing.space_suite import SpaceSuite
    from calibo.testing.surrogate_suite import SurrogateSuite

__all__ = ["CalibratorSuite", "DistributionSuite", "SpaceSuite", "SurrogateSuite", "check_model", "examine"]

_HOME = {
    "CalibratorSuite": "calibo.testing.calibrator_suite",
    "DistributionSuite": "calibo.testing.distribution_suite",
    "SpaceSuite": "calibo.testing.space_suite",
    "SurrogateSuite": "calibo.testing.surrogate_suite",
    "check_model": "calibo.testing.matrix",
    "examine": "calibo.testing.matrix",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
