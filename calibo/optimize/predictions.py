"""What is believed of given parameters, as a table in the user's sign and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.acquisition import Feasibility
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import DataError, RecipeError
from calibo.models import Model
from calibo.optimize.records import Direction
from calibo.optimize.strategy import Strategy
from calibo.spaces import Space

if TYPE_CHECKING:
    import pandas as pd

#: Central intervals given for every prediction.
COVERAGES = (0.5, 0.8, 0.95)


def fitted_models(data: Dataset, strategy: Strategy, rng: np.random.Generator) -> tuple[Model, ...]:
    """The models a strategy makes of the data, one for each outcome."""
    if not len(data):
        raise DataError("there is no outcome yet, so nothing can be predicted: at least one measurement is needed")
    models = strategy.plan(data, rng=rng).models
    if not models:
        raise RecipeError(
            "this method chooses points without a predictive distribution and cannot predict; give it a surrogate to "
            "forecast beside it, such as methods.lfbo(forecaster=GaussianProcess())"
        )
    return models


def makes_forecasts(strategy: Strategy | None) -> bool:
    """Whether a strategy's suggestions come with forecasts: if it does not say that they do not (``forecasts``)."""
    return strategy is None or strategy.makes_forecasts


def believed(model: Model, X: Array, direction: Direction, *, latent: bool) -> Distribution:
    """The distributions at points, q x d, in the user's sign: of the mean value if ``latent``, else of a measurement."""
    distribution = model.predict(X, latent=latent)
    return distribution.negated() if direction is Direction.MINIMIZE else distribution


def predict_table(
    data: Dataset,
    params: Sequence[Mapping[str, Any]],
    *,
    space: Space,
    strategy: Strategy,
    directions: Sequence[Direction],
    constraints: Sequence[str] = (),
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Mean, median and calibrated intervals for the next measurement and for the mean value, one row per point.

    Columns: ``mean``, ``median``, then ``measured_low_80``, ``measured_high_80`` and so on for the next measurement
    (noise included), and ``mean_low_80``, ``mean_high_80`` and so on for the underlying mean value. Ends of intervals
    may coincide while there are few results: an online recalibrator then gives several levels the same quantile.

    Of several objectives the columns begin with their places, ``0_mean`` and so on, and those of a constraint with its
    name, ``constraint_memory_mean``; ``feasible`` is then the probability that a measurement meets all constraints.
    """
    import pandas as pd

    X = space.encode(params)
    models = fitted_models(data, strategy, rng)
    names = [*map(str, range(len(directions)))] if len(directions) > 1 else [""]
    wanted = [*directions, *[Direction.MINIMIZE] * len(constraints)]
    table: dict[str, Array] = {}
    named = [*names, *(f"constraint_{name}" for name in constraints)]
    for name, model, direction in zip(named, models, wanted, strict=True):
        table |= {f"{name}_{key}" if name else key: v for key, v in _columns(model, X, direction).items()}
    if constraints:
        table["feasible"] = Feasibility(models[len(directions) :])(X)
    return pd.DataFrame(table)


def _columns(model: Model, X: Array, direction: Direction) -> dict[str, Array]:
    measured = believed(model, X, direction, latent=False)
    columns: dict[str, Array] = {"mean": measured.mean, "median": measured.median}
    for name, distribution in (("measured", measured), ("mean", believed(model, X, direction, latent=True))):
        for coverage in COVERAGES:
            percent = round(100 * coverage)
            columns[f"{name}_low_{percent}"], columns[f"{name}_high_{percent}"] = distribution.interval(coverage)
    return columns
