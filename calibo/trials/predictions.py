"""Predictions of fitted models as a table in the user's sign and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibo.acquisition import Feasibility
from calibo.arguments import checked
from calibo.checks import shown
from calibo.data import COVERAGES, Array
from calibo.distributions import Distribution
from calibo.distributions.base import within_floats
from calibo.errors import DataError
from calibo.models import Capability, Model
from calibo.trials.direction import Direction, outcome_directions
from calibo.trials.history import objective_columns

if TYPE_CHECKING:
    import pandas as pd


@checked
def predict(model: Model, X: Array, direction: Direction, *, latent: bool) -> Distribution:
    """Return a model's predictive distributions at `q x d` points in the user's sign.

    They are those of a measurement, which has noise, or of the underlying mean value (``latent``).
    """
    if np.ndim(X) != 2:
        raise DataError(f"points are an array q x d, got {shown(X)}")
    return in_user_sign(model.predict(X, latent=latent), direction)


@checked
def in_user_sign(distribution: Distribution, direction: Direction) -> Distribution:
    """Return a distribution in the user's sign: that of minus the internal value if the outcome is minimized."""
    return distribution.negated() if direction is Direction.MINIMIZE else distribution


@checked
def predict_table(
    models: Sequence[Model],
    X: Array,
    *,
    directions: Sequence[Direction],
    constraints: Sequence[str] = (),
    names: Sequence[str] = (),
) -> pd.DataFrame:
    """Return mean, median and calibrated intervals for the next measurement and for the mean value.

    Columns: ``mean``, ``median``, then ``measured_low_80``, ``measured_high_80`` and so on for the next measurement
    (noise included), and ``mean_low_80``, ``mean_high_80`` and so on for the underlying mean value: the same intervals, drawn
    in towards the median by the share of the model's spread that is not noise, so that they never reach further. They are
    the same where the model cannot tell noise from its own errors (networks, trees, scikit-learn's regressors).
    ``similar_forecasts`` is the number of forecasts like this one, stored or of a result left out, whose outcomes are
    known, and ``calibration`` says in words what the intervals rest on.

    With several objectives the columns begin with the name of the objective, ``error_mean`` and so on, or with its index,
    ``0_mean``, if it has none; those of a constraint begin with its name, ``constraint_memory_mean``;
    ``feasible`` is then the probability that a measurement meets all constraints.

    Args:
        models: One model per objective, then one per constraint.
        X: `q x d` points.
        directions: One direction per objective.
        constraints: Names of the constraints.
        names: Names of the objectives; ``()`` if they have none.

    Returns:
        A table with `q` rows.
    """
    import pandas as pd

    starts = [*objective_columns(names, len(directions)), *(f"constraint_{name}" for name in constraints)]
    if len(models) != len(starts):
        raise DataError(
            f"predictions of {len(starts)} objectives and constraints need as many models, got {len(models)}"
        )
    table: dict[str, Array | list[str]] = {}
    for name, model, direction in zip(starts, models, outcome_directions(directions, constraints), strict=True):
        table |= {f"{name}_{key}" if name else key: v for key, v in _columns(model, X, direction).items()}
    if constraints:
        table["feasible"] = Feasibility(tuple(models[len(directions) :]))(X)
    return pd.DataFrame(table)


def _columns(model: Model, X: Array, direction: Direction) -> dict[str, Array | list[str]]:
    measured = predict(model, X, direction, latent=False)
    with np.errstate(over="ignore"):
        median, share = within_floats(measured.median), _share_without_noise(model, X)
        columns: dict[str, Array | list[str]] = {"mean": within_floats(measured.mean), "median": median}
        ends = {round(100 * coverage): _interval(measured, coverage) for coverage in COVERAGES}
    for percent, (low, high) in ends.items():
        columns[f"measured_low_{percent}"], columns[f"measured_high_{percent}"] = low, high
    for percent, (low, high) in ends.items():
        # An infinite interval stays infinite.
        drawn_in = (_between(median, end, np.where(np.isinf(end), 1.0, share)) for end in (low, high))
        columns[f"mean_low_{percent}"], columns[f"mean_high_{percent}"] = drawn_in
    known = Capability.SIMILAR_FORECASTS in model.capabilities
    similar = model.similar_forecasts(X) if known else np.zeros(len(X))
    return columns | {"similar_forecasts": similar, "calibration": model.rests_on(X)}


def _interval(distribution: Distribution, coverage: float) -> tuple[Array, Array]:
    """Return the ends of a central interval; they are infinite only where they are not supported by data."""
    tail = (1.0 - coverage) / 2.0
    return _quantile(distribution, tail), _quantile(distribution, 1.0 - tail)


def _quantile(distribution: Distribution, level: float) -> Array:
    finite = distribution.at_levels(level)
    return np.where(np.isfinite(finite), distribution.icdf(level), within_floats(finite))


def _between(start: Array, end: Array, share: Array) -> Array:
    """Return what lies a share of the way from one value to another, by halves: their difference need not be a float."""
    return 2.0 * (0.5 * start + share * (0.5 * end - 0.5 * start))


def _share_without_noise(model: Model, X: Array) -> Array:
    """Return the standard deviation of the mean value over that of a measurement, m, by the model before calibration."""
    raw = model.stages[0]
    if not raw.tells_noise_apart:
        return np.ones(len(X))
    return np.minimum(raw.predict(X, latent=True).std / raw.predict(X, latent=False).std, 1.0)
