"""Conditions on parameters that are given as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibo.data import Params

#: Returns whether parameters, by name, may be tried.
Where = Callable[[Params], Any]


def name_of(predicate: Any) -> str:
    """Return what to call a predicate in a message."""
    return getattr(predicate, "__name__", type(predicate).__name__)
