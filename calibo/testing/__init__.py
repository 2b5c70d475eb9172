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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    module = f"{name.removesuffix('Suite').lower()}_suite" if name.endswith("Suite") else "matrix"
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
