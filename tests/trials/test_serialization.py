"""Suggestions and forecasts as JSON, and back."""

from __future__ import annotations

import json

import pytest

from calibo.data import STORED_LEVELS, Forecast, Marginal, Suggestion
from calibo.trials import forecast_from_json, forecast_to_json, suggestion_from_json, suggestion_to_json

FORECAST = Forecast((Marginal(1 / 3, 0.1), Marginal(0.3, 0.2, STORED_LEVELS, backed=(0.1, 0.9))), ("GP", "Online"))


def test_there_and_back_exactly() -> None:
    assert forecast_from_json(json.loads(json.dumps(forecast_to_json(FORECAST)))) == FORECAST
    suggestion = Suggestion(
        {"x": 1 / 3},
        forecasts=(FORECAST,) * 2,
        hyperparameters=((0.1,), ()),
        number=7,
        constraints=("a",),
        method="ocbo",
    )
    assert suggestion_from_json(json.loads(json.dumps(suggestion_to_json(suggestion))), 7) == suggestion


def test_what_is_no_forecast_is_refused() -> None:
    plain = forecast_to_json(FORECAST)
    for wrong in ({"stages": []}, {"stage_names": "GP"}, {"stage_names": [1]}):
        with pytest.raises(ValueError, match="at least one distribution|list of names"):
            forecast_from_json({**plain, **wrong})
