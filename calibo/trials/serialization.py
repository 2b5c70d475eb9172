"""Forecasts and suggestions as plain JSON data, and back: floats survive exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibo.arguments import checked
from calibo.checks import shown
from calibo.data import Forecast, Marginal, Suggestion
from calibo.errors import DataError


@checked
def forecast_to_json(forecast: Forecast) -> dict[str, Any]:
    """Return a forecast as JSON data."""
    return {
        "stages": [distribution.plain() for distribution in forecast.stages],
        "stage_names": list(forecast.stage_names),
    }


@checked
def forecast_from_json(data: Mapping[str, Any]) -> Forecast:
    """Return the forecast that JSON data describe.

    Raises:
        DataError: If they do not describe one.
    """
    try:
        stages = tuple(Marginal.from_plain(stage) for stage in data["stages"])
        names = names_from_json(data["stage_names"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"this is no stored forecast ({type(error).__name__}: {error}): {shown(data)}") from error
    if not stages:
        raise DataError("a forecast needs at least one distribution, got none")
    return Forecast(stages, names)


@checked
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
    if suggestion.columns:
        data["columns"] = suggestion.columns
    return data


@checked
def suggestion_from_json(data: Mapping[str, Any], number: int) -> Suggestion:
    """Return the suggestion that JSON data describe, without an encoded point.

    Raises:
        DataError: If they do not describe one.
    """
    try:
        forecasts, params = data["forecasts"], data["params"]
        texts = (data["method"], data.get("why_method"))
        if not isinstance(params, dict) or not all(text is None or isinstance(text, str) for text in texts):
            raise TypeError("params are an object, method and why_method text or null")
        if forecasts == []:
            raise ValueError("there is at least one forecast, or null")
        return Suggestion(
            params=params,
            forecasts=None if forecasts is None else tuple(forecast_from_json(one) for one in forecasts),
            hyperparameters=tuple(tuple(float(h) for h in one) for one in data["hyperparameters"]),
            number=number,
            constraints=names_from_json(data.get("constraints", [])),
            method=texts[0],
            why_method=texts[1],
            columns=names_from_json(data.get("columns", [])),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"this is no stored suggestion ({type(error).__name__}: {error})") from error


def names_from_json(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a list of names, got {shown(names)}")
    return tuple(names)
