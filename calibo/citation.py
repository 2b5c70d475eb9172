"""BibTeX entries of the papers behind the parts of a method.

``citations.bib`` holds all entries. The field ``calibo`` of an entry names what goes back to the paper: classes of calibo,
and packages of which any class does. Parts that are not named (most searches and kernels, a user's own classes) cite
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from calibo.errors import RecipeError
from calibo.optimize import Optimizer, Strategy

_NAMED = re.compile(r"^  calibo +=\s*\{(.*)\},\n", flags=re.MULTILINE)


def cite(what: Any) -> str:
    """Return the BibTeX entries of the parts of a method, each once, in the order in which the parts are composed.

        >>> from calibo import cite
        >>> print(cite("gp_ei").splitlines()[0])
        @book{rasmussen2006,

    Args:
        what: A method's name, a strategy, or what has one: an ``Optimizer``, or a ``CalibratedSampler`` or ``Result``
            (which add Optuna). A part such as a surrogate or a calibrator may also stand alone. Of a strategy the rule
            for one objective counts; of an optimizer or a result with several objectives, the one for several.

    Raises:
        RecipeError: If it is none of these, or a name that is unknown.
    """
    keys = dict.fromkeys(_keys_of(what))
    return "\n\n".join(_NAMED.sub("", _entries()[key]) for key in keys)


def _keys_of(what: Any) -> Iterator[str]:
    """Yield the keys of what a user gives to ``cite``, repeats included."""
    if isinstance(what, str):
        from calibo.methods import strategy

        return _keys(strategy(what))
    if isinstance(what, Optimizer):
        return _keys(what.strategy, several=len(what.directions) > 1)
    if isinstance(what, Strategy):
        return _keys(what)
    from calibo.study import CalibratedSampler, Result

    if isinstance(what, Result | CalibratedSampler):
        several = isinstance(what, Result) and len(what.directions) > 1
        return chain(_own_keys(what), _keys(what.strategy, several=several))
    if not is_dataclass(what) and next(_own_keys(what), None) is None:
        raise RecipeError(f"cite a method's name, a strategy or a part of one, got a {type(what).__name__}")
    return _keys(what)


def _keys(part: Any, *, several: bool = False) -> Iterator[str]:
    """Yield the keys of a part and of the parts inside it, without the rule that is not used; repeats included."""
    inner: Iterable[Any] = ()
    if isinstance(part, Mapping):
        inner = part.values()
    elif isinstance(part, list | tuple):
        inner = part
    else:
        yield from _own_keys(part)
        if is_dataclass(part) and not isinstance(part, type):
            unused = "rule" if several else "tradeoff"
            inner = (getattr(part, field.name) for field in fields(part) if field.name != unused)
    for one in inner:
        yield from _keys(one, several=several)


def _own_keys(part: Any) -> Iterator[str]:
    """Yield the keys of a part's class and of those it inherits from."""
    for kind in type(part).__mro__:
        package = kind.__module__.partition(".")[0]
        yield from _named().get(kind.__name__ if package == "calibo" else package, ())


@cache
def _entries() -> dict[str, str]:
    """Read all entries as they stand in the file, by key."""
    text = files("calibo").joinpath("citations.bib").read_text(encoding="utf-8")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in text.strip().split("\n\n")}


@cache
def _named() -> dict[str, list[str]]:
    """Read the keys of the entries that name a class or package, by its name."""
    named: dict[str, list[str]] = {}
    for key, entry in _entries().items():
        found = _NAMED.search(entry)
        for name in found[1].split(", ") if found else ():
            named.setdefault(name, []).append(key)
    return named
