"""Parameters and spaces as other packages write them: accepted, or refused with the line to write instead.

Objects of Optuna, SciPy and ConfigSpace are recognized by the modules of their classes, so that none of these packages is
imported. Where there are several readings, such as (0, 1), none is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibo.checks import is_text, read_items, read_mapping, shown
from calibo.errors import SpaceError
from calibo.spaces.contexts import Context
from calibo.spaces.parameters import Categorical, Float, Int, Ordinal, Parameter, plain

#: Types of Ax's parameters, as its dicts name them.
_AX = ("range", "choice", "fixed")
#: Levels of the quantiles between which most of an unbounded distribution lies.
_MOST = (0.005, 0.995)


def parameters_of(space: Any) -> Mapping[str, Any] | None:
    """Return what a mapping, a list of Ax's dicts or a space of ConfigSpace has as parameters; ``None`` for anything else.

        >>> from calibo.spaces.foreign import parameters_of
        >>> parameters_of([{"name": "lr", "type": "range", "bounds": [1e-4, 0.1], "log_scale": True}])
        {'lr': Float(0.0001, 0.1, log=True)}

    Raises:
        SpaceError: If it is such a space and has what calibo's products do not have.
    """
    if "ConfigurationSpace" in _names(space, "ConfigSpace"):
        return _from_configspace(space)
    if isinstance(space, Mapping):
        return space
    named = read_items(space) if isinstance(space, list | tuple) else None
    if named and all(map(_is_ax, named)):
        return {str(one["name"]): _from_ax(str(one["name"]), one) for one in map(dict, named)}
    return None


def as_parameter(name: str, given: Any) -> Parameter:
    """Return a parameter, given as one or as another package writes it.

        >>> import scipy.stats
        >>> from calibo.spaces.foreign import as_parameter
        >>> as_parameter("lr", scipy.stats.loguniform(1e-4, 0.1))
        Float(0.0001, 0.1, log=True)
        >>> as_parameter("solvent", ["water", "ethanol", "toluene"])
        Categorical(('water', 'ethanol', 'toluene'))

    Args:
        name: Name of the parameter, for messages.
        given: A parameter, a distribution of Optuna, a frozen distribution of ``scipy.stats``, a hyperparameter of
            ConfigSpace, a dict of Ax, a pair (low, high) of which one is a float, a range, or a list of choices.

    Raises:
        SpaceError: If it is none of these, or could mean several things; the message has the line to write.
    """
    if isinstance(given, Parameter):
        return given
    if isinstance(given, Context):
        raise SpaceError(f"parameter {name!r}: write Context once, around the parameter")
    for module, convert in _PACKAGES.items():
        if names := _names(given, module):
            return convert(name, given, names)
    if isinstance(given, Mapping):
        named = read_mapping(given)
        if named is not None and _is_ax_type(named.get("type")):
            return _from_ax(name, named)
        raise _refused(name, given, "Float(0, 1); a table of specifications is read by space_from_dict(table)")
    if isinstance(given, range):
        return _from_range(name, given)
    if isinstance(given, tuple):
        return _from_tuple(name, given)
    if isinstance(given, list) and (items := read_items(given)) is not None:
        return _from_list(name, items)
    if isinstance(given, np.ndarray):
        raise _refused(name, f"an array of {given.size} values", f"Ordinal({given.ravel()[:3].tolist()!r:.40} ...)")
    raise _refused(name, given, "Float(0, 1), Int(1, 8) or Categorical([...])")


def _names(given: Any, package: str) -> tuple[str, ...]:
    """Return the names of the classes of an object that a package defines, the most special first."""
    own = (one for one in type(given).__mro__ if one.__module__.split(".")[0] == package.split(".")[0])
    return tuple(one.__name__ for one in own if f"{one.__module__}.".startswith(f"{package}."))


def _refused(name: str, given: Any, line: str) -> SpaceError:
    return SpaceError(
        f"parameter {shown(name)} must be a Float, Int, Categorical or Ordinal, got {shown(given, 120)}; write {line}"
    )


def _from_optuna(name: str, given: Any, names: Sequence[str]) -> Parameter:
    if "CategoricalDistribution" in names:
        return Categorical(given.choices)
    kind = next((one for text, one in (("Float", Float), ("Int", Int)) if f"{text}Distribution" in names), None)
    if kind is None:
        raise _refused(name, given, "Float(low, high), Int(low, high) or Categorical([...])")
    if given.low == given.high:
        return Categorical([given.low])
    return kind(given.low, given.high, log=given.log, step=given.step)


def _from_scipy(name: str, given: Any, names: Sequence[str]) -> Parameter:
    if not any(one.endswith("_frozen") for one in names):
        raise _refused(
            name, given, f"{name!r}: Float(low, high), or freeze the distribution: scipy.stats.uniform(0, 1)"
        )
    kind = given.dist.name
    low, high = (float(end) for end in given.support())
    if kind == "uniform":
        return Float(low, high)
    if kind in ("loguniform", "reciprocal"):
        return Float(low, high, log=True)
    if kind == "randint":
        return Int(int(low), int(high))
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = (float(given.ppf(level)) for level in _MOST)
    log = ", log=True" if low > 0.0 and high > 100.0 * low else ""
    line = f"Int({low:.0f}, {high:.0f})" if "rv_discrete_frozen" in names else f"Float({low:.4g}, {high:.4g}{log})"
    raise SpaceError(
        f"parameter {name!r}: calibo searches between bounds and has no use for the distribution {kind!r}; write {line}, or "
        "bounds of your own"
    )


def _from_configspace(space: Any) -> dict[str, Parameter]:
    if forbidden := list(space.forbidden_clauses):
        raise SpaceError(
            f"the ConfigurationSpace forbids values ({len(forbidden)} times, first {forbidden[0]}): leave "
            "that out, and write ProductSpace(space, where=lambda p: ...) with a function that is False for what is forbidden"
        )
    parameters = {str(name): as_parameter(str(name), space[name]) for name in space}
    for condition in space.conditions:
        child = str(condition.child.name)
        ways = _ways(child, condition)
        parameters[child] = replace(parameters[child], when=ways[0] if len(ways) == 1 else ways)
    return parameters


def _ways(child: str, condition: Any) -> list[dict[str, list[Any]]]:
    """Return with which values of others a condition of ConfigSpace holds: one of the dicts, with all that it names."""
    names = _names(condition, "ConfigSpace")
    if "OrConjunction" in names:
        return [way for part in condition.components for way in _ways(child, part)]
    if "AndConjunction" in names:
        found: list[dict[str, list[Any]]] = [{}]
        for part in condition.components:
            found = [_both(child, condition, one, other) for one in found for other in _ways(child, part)]
        return found
    parent = str(condition.parent.name)
    if "EqualsCondition" in names:
        return [{parent: [plain(condition.value)]}]
    if "InCondition" in names:
        return [{parent: [plain(value) for value in condition.values]}]
    raise SpaceError(
        f"parameter {child!r}: the condition {condition} of ConfigSpace has no counterpart; list the values with which it "
        f"holds: InCondition(..., [...]), or when={{{parent!r}: [...]}} in calibo"
    )


def _both(child: str, condition: Any, one: dict[str, list[Any]], other: dict[str, list[Any]]) -> dict[str, list[Any]]:
    both = {**one, **{name: [v for v in values if v in one.get(name, values)] for name, values in other.items()}}
    if empty := [name for name, values in both.items() if not values]:
        raise SpaceError(f"parameter {child!r}: no value of {empty[0]!r} meets the condition {condition}; change it")
    return both


def _from_hyperparameter(name: str, given: Any, names: Sequence[str]) -> Parameter:
    if "Constant" in names:
        return Categorical([given.value])
    default = plain(given.default_value)
    if "CategoricalHyperparameter" in names:
        return Categorical(list(given.choices), default=default)
    if "OrdinalHyperparameter" in names:
        return Ordinal(list(given.sequence), default=default)
    if "UniformFloatHyperparameter" in names:
        return Float(given.lower, given.upper, log=given.log, default=float(default))
    if "UniformIntegerHyperparameter" in names:
        return Int(int(given.lower), int(given.upper), log=given.log, default=int(default))
    kind = "Int" if "IntegerHyperparameter" in names else "Float"
    log = ", log=True" if given.log else ""
    raise SpaceError(
        f"parameter {name!r}: calibo searches between bounds and has no use for the distribution of a {names[0]}; write "
        f"{kind}({given.lower}, {given.upper}{log})"
    )


def _is_ax(given: Any) -> bool:
    named = read_mapping(given)
    return named is not None and "name" in named and _is_ax_type(named.get("type"))


def _is_ax_type(given: Any) -> bool:
    return is_text(given) and given in _AX


def _from_ax(name: str, given: Mapping[str, Any]) -> Parameter:
    """Return the parameter of a dict of Ax: type range, choice or fixed."""
    needs = {"range": "bounds", "choice": "values", "fixed": "value"}[given["type"]]
    if needs not in given:
        raise _refused(name, dict(given), f"a dict with {needs!r}, or Float(0, 1) or Categorical([...])")
    if given.get("dependents"):
        raise SpaceError(
            f"parameter {name!r}: dependents are written at the parameters that depend on it, as when={{{name!r}: ...}}"
        )
    if given["type"] == "fixed":
        return Categorical([given["value"]])
    if given["type"] == "choice":
        choices = read_items(given["values"])
        if choices is None:
            raise _refused(name, dict(given), "a list of values, such as Categorical([...])")
        return (Ordinal if given.get("is_ordered") else Categorical)(choices)
    bounds = read_items(given["bounds"])
    if bounds is None or len(bounds) != 2:
        raise _refused(name, dict(given), "two bounds, such as Float(0, 1)")
    low, high = bounds
    kind = given.get("value_type", given.get("parameter_type"))
    whole = kind == "int" if kind is not None else isinstance(low, int) and isinstance(high, int)
    log = bool(given.get("log_scale", False) or given.get("scaling") == "log")
    step = given.get("step_size")
    if whole:
        return Int(low, high, log=log, step=1 if step is None else step)
    return Float(low, high, log=log, step=step)


def _from_range(name: str, given: range) -> Parameter:
    if len(given) < 2 or given.step < 0:
        raise _refused(name, given, "Int(low, high) with low below high, both included")
    return Int(given[0], given[-1], step=given.step)


def _from_tuple(name: str, given: tuple[Any, ...]) -> Parameter:
    """Return the range of a pair of numbers, if it is clear that it is one, and of which kind."""
    scale = given[2] if len(given) == 3 else None
    numbers = [plain(number) for number in given[:2]]
    if len(numbers) == 2 and all(map(_is_number, numbers)) and (len(given) == 2 or scale in ("log-uniform", "uniform")):
        if any(isinstance(number, float) for number in numbers):
            return Float(*numbers, log=scale == "log-uniform")
        log = ", log=True" if scale == "log-uniform" else ""
        low, high = numbers
        raise SpaceError(
            f"parameter {name!r}: {given!r} could be whole numbers or any between; write Int({low}, {high}{log}) or "
            f"Float({low}, {high}{log})"
        )
    raise _refused(name, given, f"Categorical({list(given)!r:.80}) for choices, Float(low, high) for a range")


def _from_list(name: str, given: list[Any]) -> Parameter:
    numbers = [plain(one) for one in given]
    if len(numbers) == 2 and all(map(_is_number, numbers)):
        raise SpaceError(
            f"parameter {name!r}: {given!r} could be a range or two choices; write Float({numbers[0]}, {numbers[1]}) or "
            f"Categorical({given!r})"
        )
    try:
        return Categorical(given)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PACKAGES: dict[str, Callable[[str, Any, Sequence[str]], Parameter]] = {
    "optuna.distributions": _from_optuna,
    "scipy.stats": _from_scipy,
    "ConfigSpace": _from_hyperparameter,
}
