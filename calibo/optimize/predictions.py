"""The models of a strategy, fitted once for all that is predicted from them."""

from __future__ import annotations

import numpy as np

from calibo.arguments import checked
from calibo.data import Dataset
from calibo.errors import DataError, RecipeError
from calibo.optimize.strategy import Strategy
from calibo.search import Plan
from calibo.threads import single_threaded


@checked
def fitted_plan(data: Dataset, strategy: Strategy, *, rng: np.random.Generator) -> Plan:
    """Fit the strategy's models and return its plan.

    Raises:
        DataError: If there is no outcome yet.
        RecipeError: If the strategy has no models.
    """
    if not len(data):
        raise DataError("there is no outcome yet, so nothing can be predicted: at least one measurement is needed")
    with single_threaded():
        plan = strategy.plan(data, rng=rng)
    if not plan.models:
        raise RecipeError(
            "this method chooses points without a predictive distribution and cannot predict; give it a surrogate to "
            "forecast beside it, such as methods.lfbo(forecaster=GaussianProcess())"
        )
    return plan
