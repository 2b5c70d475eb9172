"""What is believed of given parameters, as a table in the user's sign and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Array, Dataset
from calibo.errors import DataError, RecipeError
from calibo.optimize.records import Direction
from calibo.optimize.strategy import Strategy
from calibo.predictive import Predictive
from calibo.space import Space
from calibo.surrogates import Model

if TYPE_CHECKING:
    import pandas as pd

#: Central intervals given for every prediction.
COVERAGES = (0.5, 0.8, 0.95)


def fitted_model(data: Dataset, strategy: Strategy, rng: np.random.Generator) -> Model:
    """The model a strategy makes of the data."""
    if not len(data):
        raise DataError("there is no outcome yet, so nothing can be predicted: at least one measurement is needed")
    model = strategy.plan(data, rng=rng).model
    if model is None:
        raise RecipeError("this method chooses points without a predictive distribution and cannot predict")
    return model


def believed(model: Model, X: Array, direction: Direction, *, latent: bool) -> Predictive:
    """The laws at points, q x d, in the user's sign: of the mean value if ``latent``, else of a measurement."""
    law = model.predict(X, latent=latent)
    return law.negated() if direction is Direction.MINIMIZE else law


def predict_table(
    data: Dataset,
    params: Sequence[Mapping[str, Any]],
    *,
    space: Space,
    strategy: Strategy,
    direction: Direction,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Mean, median and calibrated intervals for the next measurement and for the mean value, one row per point.

    Columns: ``mean``, ``median``, then ``measured_low_80``, ``measured_high_80`` and so on for the next measurement
    (noise included), and ``mean_low_80``, ``mean_high_80`` and so on for the underlying mean value. Ends of intervals
    may coincide while there are few results: an online recalibrator then gives several levels the same quantile.
    """
    import pandas as pd

    X = space.encode(params)
    model = fitted_model(data, strategy, rng)
    measured = believed(model, X, direction, latent=False)
    table: dict[str, Array] = {"mean": measured.mean, "median": measured.median}
    for name, law in (("measured", measured), ("mean", believed(model, X, direction, latent=True))):
        for coverage in COVERAGES:
            percent = round(100 * coverage)
            table[f"{name}_low_{percent}"], table[f"{name}_high_{percent}"] = law.interval(coverage)
    return pd.DataFrame(table)
