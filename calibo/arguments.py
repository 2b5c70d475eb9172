"""Arguments and settings of the public interface, checked against their annotations.

``checked`` wraps a public function and ``check_fields`` is called by a recipe or record when it is made: a value of a wrong
type is refused where it is given, with a message that says what was expected, instead of failing somewhere inside. Only
types are checked; whether a number lies in its range is checked where its meaning is known.

Numbers may be of any kind that converts to a float without an error (Python's and NumPy's; no booleans, no text), sequences
may be lists, tuples, arrays or series, which become tuples if that is their type, and an array is whatever becomes a float64
array, and is made one. An annotation whose
name is known to type checkers only is not checked.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NoReturn, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from calibo.checks import is_array, is_text, is_whole, read_items, read_mapping, shown
from calibo.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D", bound=Any)
Fits = Callable[[object], bool]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a public function so that arguments of a wrong type raise an ``ArgumentError`` that names the argument.

    An argument that is any iterable is read once, and given to the function as a list; so is a sequence that is no list or
    tuple, such as an array, which has no truth value.
    """
    parameters = inspect.signature(function).parameters.values()
    places = tuple(one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        expected = _expected(function)

        def fitting(name: str, value: object) -> object:
            one = expected.get(name)
            if one is None:
                return value
            value = _read(value) if one.listed else value
            if not one.fits(value):
                _refuse(f"{function.__name__}: {name}", value, one)
            return one.converted(value)

        given = [fitting(name, value) for name, value in zip(places, args, strict=False)]
        # Whether there are too few or too many is said by Python itself, in its own words.
        rest = {name: fitting(name, value) for name, value in kwargs.items()}
        return function(*given, *args[len(places) :], **rest)  # pyright: ignore[reportCallIssue]

    return wrapped


def check_fields(record: Any) -> None:
    """Check the fields of a dataclass against their annotations; what can be made an array becomes one.

    Args:
        record: Instance of a dataclass.

    Raises:
        ArgumentError: If a field is of a wrong type; the message names the class and the field.
    """
    expected = _expected(type(record))
    for name, one in expected.items():
        value = getattr(record, name)
        if not one.fits(value):
            _refuse(f"{type(record).__name__}: {name}", value, one)
        converted = one.converted(value)
        if converted is not value:
            object.__setattr__(record, name, converted)


def rearranged(record: D, **arrays: Any) -> D:
    """Return a copy of a dataclass of which some fields are the same numbers in another shape, so that no check is repeated.

    Args:
        record: Instance of a dataclass.
        arrays: The fields in their new shapes, by name.
    """
    copy: Any = object.__new__(type(record))
    # Whatever else a record remembers was computed from the fields as they were.
    copy.__dict__.update({name: arrays.get(name, getattr(record, name)) for name in record.__dataclass_fields__})
    return copy


class _Expected:
    """What an argument may be.

    Attributes:
        fits: Says whether a value is of the right type.
        words: The type in words.
        listed: Whether it is an iterable or a sequence.
        tupled: Whether it is a tuple of any length.
        array: Whether it is an array of floats; ``alone`` if it is nothing else.
    """

    def __init__(self, annotation: Any, *, any_size: bool) -> None:
        fits = _fits(annotation)
        self.fits: Fits = (lambda value: is_whole(value) or fits(value)) if any_size else fits
        self.words: str = _words(annotation)
        kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
        self.listed: bool = any(get_origin(one) in (Iterable, Sequence) for one in kinds)
        self.tupled: bool = any(get_origin(one) is tuple and get_args(one)[-1:] == (Ellipsis,) for one in kinds)
        self.array: bool = any(one == npt.NDArray[np.float64] for one in kinds)
        self.alone: bool = len(kinds) == 1

    def converted(self, value: object) -> object:
        """Return a value that fits, as a tuple or an array if that is what it should be and can become."""
        if self.tupled and not isinstance(value, tuple):
            items = read_items(value)
            return value if items is None else tuple(items)
        if not self.array or (isinstance(value, np.ndarray) and value.dtype == np.float64):
            return value
        if not self.alone and (value is None or _number(value) or not is_array(value)):
            return value
        return np.asarray(value, dtype=np.float64)


def _refuse(what: str, value: object, expected: _Expected) -> NoReturn:
    given = f"the class {value.__name__}, which needs ()" if isinstance(value, type) else shown(value)
    hint = f"; write [{shown(value)}]" if is_text(value) and expected.words.startswith("a sequence") else ""
    if (is_whole(value) or isinstance(value, np.floating)) and not _number(value):
        hint = "; numbers have at most 64 bits here"
    raise ArgumentError(f"{what} must be {expected.words}, got {given}{hint}")


@functools.cache
def _expected(owner: Any) -> dict[str, _Expected]:
    """Return what the arguments of a function, or the fields of a dataclass, may be, unless they may be anything."""
    if is_dataclass(owner):
        kind: Any = owner
        annotations = {one.name: _resolved(one.type, _home(kind, one.name)) for one in fields(kind) if one.init}
    else:
        names = vars(sys.modules[owner.__module__])
        parameters = inspect.signature(owner).parameters.values()
        plain = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        annotations = {one.name: _resolved(one.annotation, names) for one in plain}
    # Seeds may have any number of bits, other whole numbers those of an array.
    return {
        name: _Expected(annotation, any_size=name == "seed")
        for name, annotation in annotations.items()
        if annotation is not Any
    }


def _home(owner: type, field: str) -> dict[str, Any]:
    """Return the names of the module of the class that declares a field."""
    home = next(one for one in owner.__mro__ if field in inspect.get_annotations(one))
    return vars(sys.modules[home.__module__])


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    if annotation is inspect.Parameter.empty:
        return Any
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**vars(builtins), **names})
    except (NameError, AttributeError, TypeError):
        return Any  # a name that only type checkers import


def _fits(annotation: Any) -> Fits:
    """Return the check of an annotation."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation is None or annotation is type(None):
        return lambda value: value is None
    if origin in (Union, types.UnionType):
        # An array-like type is itself a union, of which text is a part that arrays of numbers are not.
        arrays = set(get_args(npt.ArrayLike))
        if arrays <= set(inner):
            return _any_of([is_array, *(_fits(one) for one in inner if one not in arrays)])
        return _any_of([_fits(one) for one in inner])
    if origin is Literal:
        return lambda value: (
            any(type(value) is type(one) and value == one for one in inner) or (is_text(value) and value in inner)
        )
    if origin is np.ndarray or annotation is np.ndarray:
        return is_array
    if origin in (tuple, list, Sequence, Iterable):
        fixed = origin is tuple and inner[-1:] != (Ellipsis,)
        if not fixed and _is_class(inner[0]):
            return _sequence_of(inner[0])
        return _fixed([_fits(one) for one in inner]) if fixed else _sequence(_fits(inner[0]))
    if origin in (dict, Mapping):
        return _mapping(_fits(inner[0]), _fits(inner[1]))
    if origin is Callable or annotation is Callable:
        return callable
    if origin is type:
        return lambda value: isinstance(value, type)
    kind = origin or annotation
    return (lambda value: isinstance(value, kind)) if isinstance(kind, type) else _anything


def _anything(value: object) -> bool:
    return True


def _whole(value: object) -> bool:
    return is_whole(value) and -(2**63) <= value < 2**63  # pyright: ignore[reportOperatorIssue]


def _number(value: object) -> bool:
    # Numbers that NumPy and SciPy compute with: no fractions, and none of more than 64 bits.
    return isinstance(value, float) or _whole(value) or (isinstance(value, np.floating) and value.itemsize <= 8)


_PLAIN: dict[Any, Fits] = {
    Any: _anything,
    object: _anything,
    float: _number,
    int: _whole,
    bool: lambda value: isinstance(value, bool | np.bool_),
    str: is_text,
    npt.ArrayLike: is_array,
}


def _any_of(checks: Sequence[Fits]) -> Fits:
    return lambda value: any(fits(value) for fits in checks)


def _sequence(fits: Fits) -> Fits:
    def every(value: object) -> bool:
        if isinstance(value, np.ndarray) and fits is _number:
            return value.ndim == 1 and value.dtype.kind in "fiu"
        items = read_items(value)
        return items is not None and all(fits(item) for item in items)

    return every


def _is_class(annotation: Any) -> bool:
    """Return whether an annotation is a class whose instances all fit."""
    plain = isinstance(annotation, type) and get_origin(annotation) is None
    return plain and annotation not in _PLAIN and annotation is not np.ndarray


def _sequence_of(kind: type) -> Fits:
    """Return the check of a sequence of instances of a class, by their types: of a hundred thousand trials there are few."""

    def every(value: object) -> bool:
        items = read_items(value)
        return items is not None and all(issubclass(one, kind) for one in set(map(type, items)))

    return every


def _fixed(checks: Sequence[Fits]) -> Fits:
    def each(value: object) -> bool:
        items = read_items(value)
        if items is None or len(items) != len(checks):
            return False
        return all(fits(item) for fits, item in zip(checks, items, strict=True))

    return each


def _mapping(key_fits: Fits, value_fits: Fits) -> Fits:
    def every(value: object) -> bool:
        found = read_mapping(value)
        return found is not None and all(key_fits(key) and value_fits(item) for key, item in found.items())

    return every


def _read(value: object) -> object:
    """Return an iterable as a list; what is none, or cannot be read, is returned as it is and refused by its check."""
    items = None if isinstance(value, list | tuple) else read_items(value)
    return value if items is None else items


_WORDS: dict[Any, str] = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "text",
    None: "None",
    type(None): "None",
    npt.ArrayLike: "an array of numbers",
}


#: What to write for the parts of a method, by the names of their base classes.
_EXAMPLES = {
    "AcquisitionRule": "ExpectedImprovement()",
    "Classifier": "MLP()",
    "Conformal": "Conformal()",
    "Recalibrator": "OnlineQuantile()",
    "Resampler": "LeaveOneOut()",
    "Search": "MultiStart()",
    "StoppingRule": "Patience(20)",
    "Strategy": "methods.auto()",
    "Surrogate": "GaussianProcess()",
    "TradeoffRule": "HypervolumeImprovement()",
}


def _words(annotation: Any) -> str:
    """Return an annotation in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in _WORDS:
        return _WORDS[annotation]
    if origin in (Union, types.UnionType):
        arrays = set(get_args(npt.ArrayLike))
        if arrays <= set(inner):
            return " or ".join(["an array of numbers", *(_words(one) for one in inner if one not in arrays)])
        return " or ".join(dict.fromkeys(_words(one) for one in inner))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, inner))
    if origin is np.ndarray or annotation is np.ndarray:
        return "an array of numbers"
    if origin in (tuple, list, Sequence, Iterable) and inner:
        kinds = [_words(one) for one in inner if one is not Ellipsis]
        return (
            f"a sequence, each {kinds[0]}" if origin is not tuple or inner[-1] is Ellipsis else f"{len(kinds)} values"
        )
    if origin in (dict, Mapping):
        return f"a mapping, each value {_words(inner[1])}"
    if origin is Callable or annotation is Callable:
        return "a function"
    if annotation is Any or annotation is object or isinstance(annotation, typing.TypeVar):
        return "anything"
    name = getattr(annotation, "__name__", str(annotation))
    example = f" such as {_EXAMPLES[name]}" if name in _EXAMPLES else ""
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}{example}"
