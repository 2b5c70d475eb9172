"""Ways in which people write objectives: a function of a dict, of keywords, or of an Optuna trial."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibo.data import Outcome
from calibo.errors import ObjectiveError

#: Annotations of a single value.
_PLAIN = ("float", "int", "str", "bool")


@dataclass(frozen=True)
class ByKeyword:
    """An objective of the parameters by name: ``def f(lr, depth)``.

    Attributes:
        function: The function.
    """

    function: Callable[..., Any]

    def __call__(self, params: Mapping[str, Any]) -> Any:
        return self.function(**params)


@dataclass(frozen=True)
class ByTrial:
    """An objective as Optuna's are: ``def f(trial)``, which suggests the parameters of the space and no others.

    Attributes:
        function: The function.
    """

    function: Callable[[Any], Any]

    def __call__(self, params: Mapping[str, Any]) -> Any:
        from optuna.trial import FixedTrial

        trial = FixedTrial(dict(params))
        returned = self.function(trial)
        return Outcome(returned, constraints=dict(trial.constraints)) if trial.constraints else returned


@dataclass(frozen=True)
class ByDict:
    """An objective of a dict whose parameter has the name of the only one of the space: the value may have been meant.

    Attributes:
        function: The function.
        name: Name of the parameter.
    """

    function: Callable[[Any], Any]
    name: str

    def __call__(self, params: Mapping[str, Any]) -> Any:
        try:
            return self.function(params)
        except TypeError as error:
            raise ObjectiveError(
                f"TypeError: {error}. The objective was called with the dict {dict(params)!r}; to get the value itself, "
                f"write its type: def {getattr(self.function, '__name__', 'f')}({self.name}: float)"
            ) from error


def adapted(function: Callable[..., Any], names: Sequence[str], reference: str) -> Callable[[Any], Any]:
    """Return a function as an objective of a dict, whatever it takes.

    Args:
        function: The function.
        names: Names of the parameters of the space.
        reference: What it is called in messages.

    Raises:
        ObjectiveError: If it takes several arguments that are not the parameters of the space.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Some functions of extension modules do not say what they take.
        return function
    kinds = inspect.Parameter
    named = [one for one in parameters if one.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    places = [one for one in parameters if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    required = [one for one in parameters if one.default is kinds.empty and one in (*named, *places)]
    any_name = any(one.kind is kinds.VAR_KEYWORD for one in parameters)
    if len(required) == 1 and required[0] in places and _is_trial(required[0], names):
        return ByTrial(function)
    known = {one.name for one in named}
    fits = all(name in known or any_name for name in names) and {one.name for one in required} <= set(names)
    if fits and (len(names) > 1 or not places or _annotation(places[0]) in _PLAIN):
        return ByKeyword(function)
    takes_one = places or any(one.kind is kinds.VAR_POSITIONAL for one in parameters)
    if takes_one and len(required) <= 1 and all(one in places for one in required):
        return ByDict(function, names[0]) if fits else function
    raise ObjectiveError(
        f"{reference} takes {', '.join(one.name for one in required) or 'nothing'}, but the space has "
        f"{', '.join(names)}: an objective takes a dict of the parameters, the parameters by name, or an Optuna trial"
    )


def _is_trial(parameter: inspect.Parameter, names: Sequence[str]) -> bool:
    return _annotation(parameter) in ("Trial", "BaseTrial") or (parameter.name == "trial" and "trial" not in names)


def _annotation(parameter: inspect.Parameter) -> str:
    """Return the last part of the name of a parameter's annotation, which may be text; "" if it has none."""
    given = parameter.annotation
    if given is inspect.Parameter.empty:
        return ""
    text = given if isinstance(given, str) else getattr(given, "__name__", "")
    return text.rpartition(".")[2].strip("'\"")
