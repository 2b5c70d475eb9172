"""The forecasters of an audit: calibo's methods by name, surrogates of the user's own, and BoTorch's Gaussian process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from calibo.auditing.replay import Forecaster
from calibo.checks import check_name, did_you_mean, read_items, read_mapping, shown
from calibo.errors import RecipeError
from calibo.methods import METHODS, spelled_as_stored, strategy
from calibo.models.base import Surrogate
from calibo.optimize import Strategy

#: The forecaster that all others are compared with: the Gaussian process without calibration.
REFERENCE = "gp_ei"
#: BoTorch's Gaussian process, which is no method of calibo.
BOTORCH = "botorch"
#: The forecasts that were stored with the trials.
STORED = "stored"
#: Forecasters of an audit, if none are named.
DEFAULT = ("auto", "ocbo", "locbo", "ocbo_local", "cbo", REFERENCE, "cqr")
#: Settings of a method as a forecaster: a replay has no search from which a density ratio could be learned.
_SETTINGS: dict[str, dict[str, Any]] = {"cbo": {"ratio": None}}
_ABOUT = {
    REFERENCE: "the Gaussian process itself, without calibration",
    "cbo": "GP with full conformal prediction (equal weights: a replay has no search)",
    "cqr": "quantile trees with conformal intervals",
}

#: BoTorch's fits take ten times as long as calibo's.
_BOTORCH_REFIT = 0.1

#: A method by its name, a strategy, or a surrogate.
Asked = str | Strategy | Surrogate


def has_botorch() -> bool:
    """Return whether BoTorch is installed."""
    return find_spec("botorch") is not None and find_spec("torch") is not None


def forecasters_of(asked: Sequence[Asked] | Mapping[str, Asked] | None) -> list[Forecaster]:
    """Return the forecasters asked for, with the reference, which is added if it is not among them.

    Args:
        asked: Names of methods, "botorch", strategies or surrogates; a mapping gives them names of your own. By default
            the methods of ``DEFAULT``, and BoTorch's Gaussian process if it is installed. "stored" is passed over.

    Raises:
        RecipeError: If a method is unknown or makes no forecasts, or if a name is used twice, cannot be a name, or is that
            of the reference and given to another forecaster.
    """
    if asked is None:
        asked = [*DEFAULT, *([BOTORCH] if has_botorch() else [])]
    found = [_forecaster(name, one) for name, one in _named(asked) if one != STORED]
    if all(one.name != REFERENCE for one in found):
        found.append(_forecaster(None, REFERENCE))
    names = [*(one.name for one in found), *names_of_stored(asked)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RecipeError(
            f"two forecasters are called {', '.join(map(repr, twice))}: name them as in "
            'methods={"narrow": methods.ocbo(eta=0.1), "wide": methods.ocbo(eta=0.3)}'
        )
    return found


def names_of_stored(asked: Sequence[Asked] | Mapping[str, Asked] | Asked) -> list[str]:
    """Return what the forecasts that are stored with the trials are called; nothing if they are not asked for."""
    return [name or STORED for name, one in _named(asked) if one == STORED]


def _named(asked: Sequence[Asked] | Mapping[str, Asked] | Asked) -> list[tuple[str | None, Asked]]:
    """Return what is asked for, one or several, each with the name given to it, if any.

    As elsewhere, case does not matter in names of methods, and hyphens are underscores.
    """
    if isinstance(asked, str | Strategy | Surrogate):
        return [(None, _as_stored(asked))]
    found = read_mapping(asked)
    items = None if found is not None else read_items(asked)
    if found is None and items is None:
        raise RecipeError(f"methods= takes names of methods, strategies or surrogates, got {shown(asked)}")
    if items is not None:
        return [(None, _as_stored(one)) for one in items]
    named = {check_name("the name of a forecaster", name): _as_stored(one) for name, one in (found or {}).items()}
    if named.get(REFERENCE, REFERENCE) != REFERENCE:
        raise RecipeError(
            f"{REFERENCE!r} is the Gaussian process without calibration, with which all others are compared: give "
            f"{shown(named[REFERENCE])} another name"
        )
    return list(named.items())


def _as_stored(asked: Asked) -> Asked:
    return spelled_as_stored(asked) if isinstance(asked, str) else asked


def _forecaster(name: str | None, asked: Asked) -> Forecaster:
    if asked == BOTORCH:
        from calibo.botorch import BoTorchSurrogate

        about = "BoTorch's SingleTaskGP, without calibration"
        return Forecaster(name or BOTORCH, BoTorchSurrogate(), about, refit_after=_BOTORCH_REFIT)
    if isinstance(asked, Surrogate):
        return Forecaster(name or "+".join(asked.stage_names), asked)
    if isinstance(asked, str):
        known, every = asked, [*sorted(METHODS), BOTORCH, STORED]
        if asked not in METHODS:
            raise RecipeError(
                f"unknown method {shown(asked)}; an audit knows {', '.join(every)}{did_you_mean(asked, every)}"
            )
        made = METHODS[asked].make(**_SETTINGS.get(asked, {}))
    else:
        made = strategy(asked)
        known = made.name
    if made.forecasting is None:
        raise RecipeError(
            f"{made.name} makes no forecasts that could be replayed: use one with a model of all data, such as "
            f"{', '.join(DEFAULT)}, or give it a forecaster"
        )
    about = _ABOUT.get(known) or (METHODS[known].summary if known in METHODS else "")
    return Forecaster(name or made.name, made.forecasting, about)
