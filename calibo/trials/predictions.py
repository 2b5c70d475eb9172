"""Predictions of fitted models as a table in the user's sign and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibo.acquisition import Feasibility
from calibo.data import COVERAGES, Array
from calibo.distributions import Distribution
from calibo.models import Capability, Model
from calibo.trials.direction import Direction, outcome_directions

if TYPE_CHECKING:
    import pandas as pd

#: With at least this many similar forecasts in the past, an interval rests on how they came out.
ENOUGH_SIMILAR = 4.0
#: With fewer than this, it rests on the model alone.
SOME_SIMILAR = 1.0


def predict(model: Model, X: Array, direction: Direction, *, latent: bool) -> Distribution:
    """Return a model's predictive distributions at `q x d` points in the user's sign.

    They are those of a measurement, which has noise, or of the underlying mean value (``latent``).
    """
    return in_user_sign(model.predict(X, latent=latent), direction)


def in_user_sign(distribution: Distribution, direction: Direction) -> Distribution:
    """Return a distribution in the user's sign: that of minus the internal value if the outcome is minimized."""
    return distribution.negated() if direction is Direction.MINIMIZE else distribution


def predict_table(
    models: Sequence[Model], X: Array, *, directions: Sequence[Direction], constraints: Sequence[str] = ()
) -> pd.DataFrame:
    """Return mean, median and calibrated intervals for the next measurement and for the mean value.

    Columns: ``mean``, ``median``, then ``measured_low_80``, ``measured_high_80`` and so on for the next measurement
    (noise included), and ``mean_low_80``, ``mean_high_80`` and so on for the underlying mean value. ``similar_forecasts`` is
    the number of past forecasts that were like this one, from whose outcomes the intervals were learned, and
    ``calibration`` says in words what the intervals rest on.

    With several objectives the columns begin with the index of the objective, ``0_mean`` and so on, and those of a
    constraint with its name, ``constraint_memory_mean``; ``feasible`` is then the probability that a measurement meets
    all constraints.

    Args:
        models: One model per objective, then one per constraint.
        X: `q x d` points.
        directions: One direction per objective.
        constraints: Names of the constraints.

    Returns:
        A table with `q` rows.
    """
    import pandas as pd

    names = [*map(str, range(len(directions)))] if len(directions) > 1 else [""]
    names += [f"constraint_{name}" for name in constraints]
    table: dict[str, Array | list[str]] = {}
    for name, model, direction in zip(names, models, outcome_directions(directions, constraints), strict=True):
        table |= {f"{name}_{key}" if name else key: v for key, v in _columns(model, X, direction).items()}
    if constraints:
        table["feasible"] = Feasibility(tuple(models[len(directions) :]))(X)
    return pd.DataFrame(table)


def _columns(model: Model, X: Array, direction: Direction) -> dict[str, Array | list[str]]:
    measured = predict(model, X, direction, latent=False)
    columns: dict[str, Array | list[str]] = {"mean": measured.mean, "median": measured.median}
    for name, distribution in (("measured", measured), ("mean", predict(model, X, direction, latent=True))):
        for coverage in COVERAGES:
            percent = round(100 * coverage)
            columns[f"{name}_low_{percent}"], columns[f"{name}_high_{percent}"] = distribution.interval(coverage)
    known = Capability.SIMILAR_FORECASTS in model.capabilities
    similar = model.similar_forecasts(X) if known else np.zeros(len(X))
    return columns | {"similar_forecasts": similar, "calibration": [rests_on(count) for count in similar.tolist()]}


def rests_on(similar: float) -> str:
    """Say what the calibration of an interval rests on, given the number of similar forecasts in the past."""
    if similar < SOME_SIMILAR:
        return "model alone"
    count = f"{similar:.0f} similar forecast{'' if round(similar) == 1 else 's'}"
    return count if similar >= ENOUGH_SIMILAR else f"mostly the model, {count}"
