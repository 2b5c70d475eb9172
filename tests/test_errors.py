"""Errors and warnings share base classes, and are of the built-in kinds that people catch."""

from __future__ import annotations

import inspect

from calibo import errors


def test_errors_and_warnings_share_base_classes() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert len(kinds) > 10
    for kind in kinds:
        assert issubclass(kind, errors.CaliboWarning if issubclass(kind, Warning) else errors.CaliboError)
    for kind in (errors.SpaceError, errors.ValueRejected, errors.DataError, errors.RecipeError):
        assert issubclass(kind, ValueError)
    assert issubclass(errors.MissingExtra, ImportError) and issubclass(errors.CaliboWarning, UserWarning)
