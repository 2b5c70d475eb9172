"""Tree classifiers: their settings, and the extra."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from calibo.errors import MissingExtra, RecipeError
from calibo.likelihood_free import GradientBoosting, RandomForest, WeightedLabels, XGBoost


@pytest.mark.parametrize(
    ("kind", "bad"),
    [(XGBoost, {"rounds": 0}), (GradientBoosting, {"learning_rate": -1.0}), (RandomForest, {"trees": 0})],
)
def test_bad_settings(kind: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(bad))):
        kind(**bad)


def test_without_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    labelled = WeightedLabels().label(np.random.default_rng(0).random((5, 1)), np.arange(5.0))
    assert labelled is not None
    with pytest.raises(MissingExtra, match=r"calibo\[xgboost\]"):
        XGBoost().fit(labelled, categories=(0,), rng=np.random.default_rng(0))


@pytest.mark.parametrize("classifier", [XGBoost(), GradientBoosting()], ids=["xgboost", "boosting"])
def test_more_choices_than_bins(classifier: Any) -> None:
    place = np.arange(900) % 300
    y = (place == 250).astype(np.float64) + 1e-3 * np.arange(900.0)
    labelled = WeightedLabels().label((place[:, None] + 0.5) / 300, y)
    assert labelled is not None
    odds = classifier.fit(labelled, categories=(300,), rng=np.random.default_rng(0))
    assert np.isfinite(odds((np.arange(300)[:, None] + 0.5) / 300)).all()
