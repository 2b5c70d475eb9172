"""The intervals stored at ask time contain what they promise, over whole optimizations."""

import numpy as np
import pytest

from calibo.diagnostics import covered
from calibo.optimize import Optimizer
from calibo.problems import problem

STEPS, SEEDS = 100, 6


def hits(name: str, noise: float, seed: int) -> np.ndarray:
    """Whether each outcome of the second half lay in its 80 % interval."""
    task, rng = problem(name), np.random.default_rng([seed, 5])
    optimizer = Optimizer(task.space(), "ocbo", seed=seed)
    distributions, outcomes = [], []
    for _ in range(STEPS):
        suggestion = optimizer.ask()
        outcomes.append(task.objective(suggestion.params) + noise * rng.standard_normal())
        optimizer.tell(suggestion, outcomes[-1])
        distributions.append(suggestion.forecasts and suggestion.forecasts[0].calibrated)
    half = STEPS // 2
    return covered(
        [distribution for distribution in distributions[half:] if distribution], np.array(outcomes[half:]), 0.8
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise"), [("hartmann6", 0.0), ("alpine1_10", 0.0), ("ackley2", 0.5)])
def test_eighty_percent_intervals_contain_eighty_percent(name: str, noise: float) -> None:
    """300 seeded outcomes: right intervals would be off by .07 (three standard errors) in 0.3 % of such tests."""
    share = np.mean([hits(name, noise, seed) for seed in range(SEEDS)])
    assert share == pytest.approx(0.8, abs=0.07)
