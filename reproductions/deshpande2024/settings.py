"""The paper's settings: RBF kernel, standardised outcomes, few initial points, 25 steps, calibrated or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.acquisition import AcquisitionRule, ExpectedImprovement, ProbabilityOfImprovement, UpperQuantile
from calibo.calibration import Calibrated, OnlineQuantile, Temperature
from calibo.data import Forecast
from calibo.methods import gp_ei
from calibo.models import RBF, GaussianProcess
from calibo.optimize import ModelBased, Optimizer
from calibo.problems import problem

STEPS = 25
#: Step size of the recalibrator (the paper does not give one): the default of ocbo.
ETA = 0.2
RULES: dict[str, AcquisitionRule] = {
    "UCB": UpperQuantile(0.9),
    "EI": ExpectedImprovement(),
    "PI": ProbabilityOfImprovement(),
}
UNCALIBRATED = "uncalibrated"
ONLINE = "online quantiles"
CALIBRATED = "tempered online quantiles"


def strategy(kind: str, rule: AcquisitionRule) -> ModelBased:
    """One of the three compared: the bare GP, the paper's recalibrator on it, and the same on a tempered GP."""
    gp = GaussianProcess(RBF())
    if kind == UNCALIBRATED:
        return gp_ei(surrogate=gp, rule=rule)
    inner = Calibrated(gp, by=Temperature()) if kind == CALIBRATED else gp
    return gp_ei(surrogate=Calibrated(inner, by=OnlineQuantile(ETA, pooled=True)), rule=rule)


@dataclass(frozen=True)
class Run:
    """One optimization.

    Attributes:
        x: Points evaluated, in order, (initial + steps) x d.
        y: Their values.
        forecasts: Forecast of each step's value (in the sign of the values), one per step.
    """

    x: np.ndarray
    y: np.ndarray
    forecasts: tuple[Forecast, ...]


def optimize(name: str, kind: str, rule: str, starts: np.ndarray, seed: int, steps: int = STEPS) -> Run:
    """Minimises a problem from given starting points (in the problem's units, s x d)."""
    task = problem(name)
    optimizer = Optimizer(task.space(), strategy(kind, RULES[rule]), seed=seed, n_initial=len(starts))
    points = [np.asarray(x, dtype=float) for x in starts]
    for x in points:
        optimizer.tell(dict(zip(task.names, map(float, x), strict=True)), float(task(x[None, :])[0]))
    forecasts = []
    for _ in range(steps):
        suggestion = optimizer.ask()
        x = task.point(suggestion.params)
        points.append(np.ravel(x))
        optimizer.tell(suggestion, task.objective(suggestion.params))
        assert suggestion.forecasts is not None
        forecasts.append(suggestion.forecasts[0])
    X = np.stack(points)
    return Run(X, task(X), tuple(forecasts))
