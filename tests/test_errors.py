"""One parent for all errors, one for all warnings, and the built-in kinds people already catch."""

from __future__ import annotations

import inspect

import pytest

from calibo import errors

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_has_a_parent_and_says_what_it_is(kind: type) -> None:
    parent = errors.CaliboWarning if issubclass(kind, Warning) else errors.CaliboError
    assert issubclass(kind, parent) and inspect.getdoc(kind)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.SpaceError, ValueError),
        (errors.ValueRejected, ValueError),
        (errors.DataError, ValueError),
        (errors.RecipeError, ValueError),
        (errors.MissingExtra, ImportError),
        (errors.CaliboWarning, UserWarning),
    ],
)
def test_built_in_kinds(kind: type[BaseException], builtin: type[BaseException]) -> None:
    with pytest.raises(builtin, match="what to do"):
        raise kind("what to do")


def test_the_parent_catches_nothing_else() -> None:
    assert errors.CaliboError.__bases__ == (Exception,)
