"""The noisy objectives of Kim et al. (2025), sections V-B and V-C: ``locbo_1d`` and ``ackley2_heteroscedastic``.

Both are maximised. What the paper writes as the second argument of a normal distribution is a variance.

Notation:
    X  points, n x d, in original units
"""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.problems import NoisyProblem, NormNoise, Problem, ackley, with_noise


def locbo_1d() -> NoisyProblem:
    """x sin(2x) + cos(pi x) on [-5, 5], the first of the paper's two eqs. (41), with variance (|x| + 1) / 10."""
    argmax = 3.9933485208153834
    return with_noise(
        Problem(
            "locbo_1d",
            _locbo_1d,
            ((-5.0, 5.0),),
            4.958013609943399,
            direction="maximize",
            noise_std=NormNoise(0.1, 0.1),
            optimizers=((-argmax,), (argmax,)),
        )
    )


def ackley2_heteroscedastic() -> NoisyProblem:
    """Ackley's function of two variables on [-10, 10]^2, eq. (40): upside down, with variance (|x| + 10) / 20."""
    return with_noise(
        Problem(
            "ackley2_heteroscedastic",
            _negated_ackley,
            ackley(2, bound=10.0).box,
            0.0,
            direction="maximize",
            noise_std=NormNoise(0.05, 0.5),
            optimizers=((0.0, 0.0),),
        )
    )


def _locbo_1d(X: Array) -> Array:
    x = X[:, 0]
    return x * np.sin(2.0 * x) + np.cos(np.pi * x)


def _negated_ackley(X: Array) -> Array:
    return -ackley(2, bound=10.0)(X)
