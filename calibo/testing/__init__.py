"""Shipped conformance suites: inherit one, say what is under test, and run pytest."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibo.testing.calibrator_laws import CalibratorLaws
    from calibo.testing.predictive_laws import PredictiveLaws
    from calibo.testing.space_laws import SpaceLaws
    from calibo.testing.surrogate_laws import SurrogateLaws

__all__ = ["CalibratorLaws", "PredictiveLaws", "SpaceLaws", "SurrogateLaws"]

_HOME = {
    "CalibratorLaws": "calibo.testing.calibrator_laws",
    "PredictiveLaws": "calibo.testing.predictive_laws",
    "SpaceLaws": "calibo.testing.space_laws",
    "SurrogateLaws": "calibo.testing.surrogate_laws",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
