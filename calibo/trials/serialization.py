"""Forecasts and suggestions as plain JSON data, and back: floats survive exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibo.data import Forecast, Marginal, Suggestion


def forecast_to_json(forecast: Forecast) -> dict[str, Any]:
    """Return a forecast as JSON data."""
    return {
        "stages": [distribution.plain() for distribution in forecast.stages],
        "stage_names": list(forecast.stage_names),
    }


def forecast_from_json(data: Mapping[str, Any]) -> Forecast:
    """Return the forecast that JSON data describe.

    Raises:
        ValueError, KeyError, TypeError: If they do not describe one.
    """
    stages = tuple(Marginal.from_plain(stage) for stage in data["stages"])
    if not stages:
        raise ValueError("a forecast needs at least one distribution, got none")
    return Forecast(stages, names_from_json(data["stage_names"]))


def suggestion_to_json(suggestion: Suggestion) -> dict[str, Any]:
    """Return a suggestion as JSON data: all of it but its number and its encoded point."""
    data: dict[str, Any] = {
        "params": dict(suggestion.params),
        "forecasts": None if suggestion.forecasts is None else [forecast_to_json(f) for f in suggestion.forecasts],
        "method": suggestion.method,
        "hyperparameters": suggestion.hyperparameters,
    }
    if suggestion.constraints:
        data["constraints"] = suggestion.constraints
    if suggestion.why_method is not None:
        data["why_method"] = suggestion.why_method
    return data


def suggestion_from_json(data: Mapping[str, Any], number: int) -> Suggestion:
    """Return the suggestion that JSON data describe, without an encoded point."""
    forecasts = data["forecasts"]
    return Suggestion(
        params=data["params"],
        forecasts=None if forecasts is None else tuple(forecast_from_json(one) for one in forecasts),
        hyperparameters=tuple(tuple(float(h) for h in one) for one in data["hyperparameters"]),
        number=number,
        constraints=names_from_json(data.get("constraints", [])),
        method=data["method"],
        why_method=data.get("why_method"),
    )


def names_from_json(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a list of names, got {names!r}")
    return tuple(names)
