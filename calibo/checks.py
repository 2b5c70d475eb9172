"""Checks of settings, so that a wrong one is refused where it is given.

Each check takes what the setting is called in the message, and the value that was given; it raises a ``RecipeError`` that
says what was expected.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from calibo.errors import DataError, MissingExtra, RecipeError

Array = npt.NDArray[np.float64]

T = TypeVar("T")

#: Characters of a value shown in a message.
SHOWN_LENGTH = 200

#: Longest name of a study, a parameter, an objective or a constraint: what databases have room for.
NAME_LENGTH = 512


def shown(value: object, length: int = SHOWN_LENGTH) -> str:
    """Return a value as messages show it: shortened, and by its type if it cannot be shown."""
    try:
        text = repr(value)
    except Exception:  # of the user's own class, or nested too deeply
        text = f"a {type(value).__name__} that cannot be shown"
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= length else f"{text[: length - 4]} ..."


def message_of(error: BaseException) -> str:
    """Return the message of an exception, also of one that has none it can show."""
    try:
        text = str(error)
    except Exception:  # of the user's own class
        text = "its message cannot be shown"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question such as "; did you mean 'ocbo'?" if a known name is much like the one given, else ""."""
    by_letters = {one.lower().replace("-", "_"): one for one in known}
    alike = get_close_matches(name.lower().replace("-", "_"), by_letters, n=1, cutoff=0.6)
    return f"; did you mean {by_letters[alike[0]]!r}?" if alike else ""


def is_text(value: object) -> bool:
    """Return whether a value is text; a subclass with a comparison of its own (other than NumPy's) is not."""
    return isinstance(value, str) and (isinstance(value, np.str_) or type(value).__eq__ is str.__eq__)


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; booleans are not."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def is_array(value: object) -> bool:
    """Return whether a value is an array of numbers, or can be made one."""
    if isinstance(value, np.ndarray):
        numbers = value.dtype.kind == "O" and all(real_number(item) is not None for item in value.ravel().tolist())
        return value.dtype.kind in "fiub" or numbers
    return not isinstance(value, str | bytes | Mapping) and _as_floats(value) is not None


def as_floats(what: str, value: object, error: type[Exception] = DataError) -> Array:
    """Return a value as a float64 array; raise ``error`` if it is not made of numbers."""
    found = None if isinstance(value, str | bytes | Mapping) else _as_floats(value)
    if found is None:
        raise error(f"{what} must be an array of numbers, got {shown(value)}")
    return found


def _as_floats(value: object) -> Array | None:
    try:
        return np.asarray(value, dtype=np.float64)
    except Exception:  # of NumPy, or of the user's own class
        return None


def read_items(value: object) -> list[Any] | None:
    """Return the items of a list, tuple, array or series; ``None`` for anything else, or one that cannot be read."""
    wrong = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)
    if isinstance(value, wrong) or not isinstance(value, Iterable):
        return None
    try:
        return list(value)
    except Exception:  # of the user's own class
        return None


def read_mapping(value: object) -> dict[Any, Any] | None:
    """Return a mapping as a dict; ``None`` for anything else, or one that cannot be read."""
    if not isinstance(value, Mapping):
        return None
    try:
        return {key: value[key] for key in value}
    except Exception:  # of the user's own class
        return None


def real_number(value: object) -> float | None:
    """Return a real number as a float, ``None`` if it is none or too large for one; booleans are no numbers."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except Exception:  # too large, or of the user's own class
        return None


def check_name(what: str, name: object, error: type[Exception] = RecipeError) -> str:
    """Return the name of a study, a parameter, an objective or a constraint, one that every storage takes.

    It is text of 1 to 512 characters without control characters, line breaks and lone surrogates.
    """
    if not is_text(name):
        raise error(f"{what} must be text, got {shown(name)}")
    text = str(name)
    if not 0 < len(text) <= NAME_LENGTH:
        raise error(f"{what} must have 1 to {NAME_LENGTH} characters, got {len(text)}: {shown(text, 60)}")
    if wrong := next((c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")), None):
        raise error(
            f"{what} must have no control characters, line breaks or lone surrogates, got {wrong!a} in {shown(text, 60)}"
        )
    return text


def check_whole(
    what: str, value: object, least: int = 1, *, most: int | None = None, error: type[Exception] = RecipeError
) -> int:
    """Return a whole number (no bool or float) from ``least`` to ``most`` as a Python int; else raise ``error``."""
    if is_whole(value):
        number = int(value)  # pyright: ignore[reportArgumentType]
        if least <= number and (most is None or number <= most):
            return number
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise error(f"{what} must be a whole number {allowed}, got {shown(value)}")


def check_seed(seed: object) -> int:
    """Return the seed of a random generator, a whole number of at least 0, as a Python int."""
    return check_whole("seed", seed, least=0)


def check_between(
    what: str,
    value: object,
    low: float,
    high: float,
    *,
    including: Literal["neither", "low", "high"] = "neither",
) -> None:
    """Check that a value is a number between two bounds, which are excluded unless one is named in ``including``."""
    ends = [end for name, end in (("low", low), ("high", high)) if including == name]
    number = real_number(value)
    if number is None or not (low < number < high or number in ends):
        also = "".join(f", {end:g} included" for end in ends)
        raise RecipeError(f"{what} must be a number between {low:g} and {high:g}{also}, got {shown(value)}")


def check_probability(what: str, value: object) -> None:
    """Check that a value is strictly between 0 and 1."""
    number = real_number(value)
    if number is None or not 0.0 < number < 1.0:
        raise RecipeError(f"{what} must lie strictly between 0 and 1, got {shown(value)}: write 95 % as 0.95")


def check_flag(what: str, value: object) -> None:
    """Check that a value is ``True`` or ``False``."""
    if not isinstance(value, bool | np.bool_):
        raise RecipeError(f"{what} must be True or False, got {shown(value)}")


def check_one_of(what: str, value: object, names: Sequence[str]) -> None:
    """Check that a value is one of some names."""
    if not is_text(value) or value not in names:
        raise RecipeError(f"{what} must be one of {', '.join(map(repr, names))}, got {shown(value)}")


def check_instance(what: str, value: object, kind: type[T], such_as: str) -> T:
    """Return a value that is an instance of a base class.

    Args:
        what: The setting.
        value: The value given; the message says so if it is a class instead of an object.
        kind: The base class.
        such_as: An example to write instead, such as ``"GaussianProcess()"``.
    """
    if not isinstance(value, kind):
        given = f"the class {value.__name__}, which needs ()" if isinstance(value, type) else shown(value)
        raise RecipeError(f"{what} must be a {kind.__name__} such as {such_as}, got {given}")
    return value


def import_extra(package: str, what: str, extra: str, otherwise: str = "") -> Any:
    """Import a package that only an extra installs.

    Args:
        package: Name of the module.
        what: What needs it, in the plural, for the message.
        extra: Extra of calibo that installs it.
        otherwise: What can be done without it, for the message.

    Raises:
        MissingExtra: If it is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingExtra(
            f"{what} need {package}, which is not installed: pip install 'calibo[{extra}]'{otherwise}"
        ) from error
