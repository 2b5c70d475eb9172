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

if TYPE_CHECKING:
    import pandas as pd

#: Central intervals given for every prediction.
COVERAGES = (0.5, 0.8, 0.95)


def believed(
    data: Dataset, X: Array, *, strategy: Strategy, direction: Direction, latent: bool, rng: np.random.Generator
) -> Predictive:
    """The calibrated laws at points, q x d, in the user's sign: of the mean value if ``latent``, else of a measurement."""
    if not len(data):
        raise DataError("nothing has been told yet, so nothing can be predicted: tell at least one outcome first")
    model = strategy.plan(data, rng=rng).model
    if model is None:
        raise RecipeError("this method chooses points without a predictive distribution and cannot predict")
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
    (noise included), and ``mean_low_80``, ``mean_high_80`` and so on for the underlying mean value.
    """
    import pandas as pd

    X = space.encode(params)
    table: dict[str, Array] = {}
    for name, latent in (("measured", False), ("mean", True)):
        law = believed(data, X, strategy=strategy, direction=direction, latent=latent, rng=rng)
        if not latent:
            table |= {"mean": law.mean, "median": law.median}
        for coverage in COVERAGES:
            low, high = law.interval(coverage)
            table |= {f"{name}_low_{coverage:.0%}"[:-1]: low, f"{name}_high_{coverage:.0%}"[:-1]: high}
    return pd.DataFrame(table)
