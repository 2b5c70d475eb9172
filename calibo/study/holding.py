"""What is held for a trial of a study: fixed values, contexts, and the values of a trial that was enqueued."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from optuna.trial import FrozenTrial

from calibo.errors import RecipeError, SpaceError
from calibo.spaces import checked_context
from calibo.study.distributions import OptunaSpace

#: Values of contexts by name, or a function that returns them, called for every trial.
ContextSource = Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None

#: System attribute in which Optuna keeps the parameters that a trial was enqueued with.
ENQUEUED = "fixed_params"


def checked_fixed(space: OptunaSpace | None, fixed: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return values that all suggestions must have, after a check that the space has points with them.

    Raises:
        SpaceError: If it has none, if a value is not one of its parameter's, or a context is fixed.
    """
    if fixed is None:
        return {}
    if not isinstance(fixed, Mapping):
        raise SpaceError(f'fixed values are a dict by name, such as {{"material": "steel"}}, got {fixed!r}')
    if space is not None:
        both = [name for name in fixed if name in space.space.contexts]
        if both:
            raise SpaceError(f"{', '.join(map(repr, both))} is a context: give it by context={{...}}, not by fixed")
        space.space.holding(fixed)
    return dict(fixed)


def held_in(space: OptunaSpace, trial: FrozenTrial, fixed: Mapping[str, Any], context: ContextSource) -> dict[str, Any]:
    """Return the values of columns that a trial's suggestion must have, by name.

    Args:
        space: The space to be searched, which may have some of the columns only.
        trial: The trial; what it was enqueued with comes before all else, since it will be used.
        fixed: Values that all suggestions must have.
        context: Where contexts come from.

    Raises:
        SpaceError: If a context is missing.
    """
    queued: Mapping[str, Any] = trial.system_attrs.get(ENQUEUED) or {}
    own = space.restored({name: value for name, value in queued.items() if name in space.names})
    own = {name: value for name, value in own.items() if _is_value(space, name, value)}
    observed = {name: value for name, value in _given(context).items() if name not in own}
    observed |= {name: value for name, value in own.items() if name in space.space.contexts}
    held = {name: value for name, value in fixed.items() if name in space.names}
    return {**held, **checked_context(space.space, observed), **own}


def _given(context: ContextSource) -> Mapping[str, Any]:
    found = context() if callable(context) else context
    if found is None and not callable(context):
        return {}
    if not isinstance(found, Mapping):
        raise RecipeError(f'context() must return a dict by name, such as {{"temperature": 21.5}}, got {found!r}')
    return found


def _is_value(space: OptunaSpace, name: str, value: Any) -> bool:
    """Whether a value is one of its column's; Optuna lets enqueued ones be others, and warns itself."""
    try:
        space.space.columns[space.names.index(name)].encode(value)
    except SpaceError:
        return False
    return True
