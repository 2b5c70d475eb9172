"""The paper's settings, the sizes of the studies, and what all figures share: initial designs, noise, and coverage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from problems import double_knot, sinc
from rkhs import rkhs_problem
from scipy.special import ndtr

from calibo.calibration import ShrinkingAlpha
from calibo.calibration.conformal_set import ConformalSets
from calibo.data import Array, Dataset
from calibo.models.base import Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization
from calibo.problems import NoisyProblem, Problem, problem, with_noise
from calibo.search import Langevin, MultiStart
from calibo.search.sobol import sobol_points

#: alpha = max(.05, 1 / sqrt n), appendix D.3.
ALPHA = ShrinkingAlpha()
#: UCB is mean + sqrt(beta) std with beta = 1, which for a Gaussian distribution is the quantile at Phi(1).
BETA = 1.0
LEVEL = float(ndtr(BETA**0.5))
#: Normalised measurement noise: share of the objective's standard deviation over the space.
NOISE = 0.1
#: Of the targets with a known norm: Matern 5/2, appendix C.4, and the noise variance of Figure 9.
LENGTHSCALE, RKHS_NOISE = 0.1, 0.04
#: Share of the data held out for the coverage of random data.
HOLDOUT = 0.2
#: What a problem's generator is called, so that all methods meet the same problem, design and noise level.
_DESIGN, _PROBLEM, _SPREAD = 1, 2, 3


@dataclass(frozen=True)
class TradeoffSize:
    """How large the studies of Figure 12 are.

    Attributes:
        initial: Points of the initial design.
        rounds: Queries after that, one at a time, by problem.
        holdout_every: Rounds from one holdout coverage to the next.
        draws: Base samples of the noisy improvement, by problem: half of calibo's default.
        search: How all but the conformal methods maximise their acquisition, and they in the end.
        chains: How the conformal methods explore.
    """

    initial: int = 10
    rounds: dict[str, int] = field(default_factory=lambda: {"branin_currin": 40, "penicillin": 25})
    holdout_every: int = 5
    draws: dict[str, int] = field(default_factory=lambda: {"branin_currin": 64, "penicillin": 16})
    search: MultiStart = MultiStart(scored=192, around=64, starts=2, iterations=30)  # noqa: RUF009 (frozen)
    chains: Langevin = Langevin(steps=40, burn_in=10)  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class RankingSize:
    """How large the tables of Figure 13 are.

    Attributes:
        rows: Drawn from a table for each trial (as in the published code).
        known: The worst of them, known at the start.
        revealed: Labels revealed after that, one at a time.
    """

    rows: int = 256
    known: int = 32
    revealed: int = 128


@dataclass(frozen=True)
class Size:
    """How large the studies are.

    Attributes:
        trials: Repeats of each figure, by its number; Figure 11 has the runs of Figure 10.
        test_points: Of each trial of Figure 5.
        neural: Whether Figure 5 b trains the paper's neural ratio, too (needs torch).
        initial: Points of the initial design.
        rounds: Batches of Figures 7 and 15.
        single_rounds: Queries of Figures 10 and 11, one at a time.
        evaluations: Of Figure 6, the initial design included.
        holdout_every: Rounds from one holdout coverage to the next.
        dimension: Of Levy and Ackley.
        search: How all but the conformal method maximise their acquisition, and it in the end.
        chains: How the conformal method explores.
        paper_chains: How it explores with the paper's network.
        draws: Base samples of a batch's acquisition value.
        ranking: Of Figure 13.
        tradeoffs: Of Figure 12.
    """

    trials: dict[int, int] = field(
        default_factory=lambda: {5: 32, 6: 30, 7: 10, 10: 10, 12: 10, 13: 10, 14: 32, 15: 10}
    )
    test_points: int = 256
    neural: bool = True
    initial: int = 10
    rounds: int = 50
    single_rounds: int = 50
    evaluations: int = 60
    holdout_every: int = 2
    dimension: int = 20
    search: MultiStart = MultiStart(starts=2, iterations=30)  # noqa: RUF009 (frozen)
    chains: Langevin = Langevin()  # noqa: RUF009 (frozen)
    paper_chains: Langevin = Langevin.paper()  # noqa: RUF009 (frozen)
    draws: int = 64
    ranking: RankingSize = RankingSize()
    tradeoffs: TradeoffSize = field(default_factory=TradeoffSize)


FULL = Size()
SMOKE = Size(
    trials={5: 3, 6: 1, 7: 1, 10: 1, 12: 1, 13: 1, 14: 2, 15: 1},
    test_points=8,
    neural=False,
    initial=6,
    rounds=2,
    single_rounds=2,
    evaluations=8,
    holdout_every=1,
    dimension=2,
    search=MultiStart(scored=32, around=16, starts=1, iterations=8),
    chains=Langevin(steps=12, burn_in=4, updates=1),
    paper_chains=replace(Langevin.paper(), steps=12, burn_in=4, updates=8),
    ranking=RankingSize(rows=40, known=8, revealed=4),
    tradeoffs=TradeoffSize(
        initial=6,
        rounds={"branin_currin": 2, "penicillin": 2},
        holdout_every=1,
        draws={"branin_currin": 8, "penicillin": 4},
        search=MultiStart(scored=32, around=16, starts=1, iterations=4),
        chains=Langevin(steps=6, burn_in=2, updates=1),
    ),
)


def make_problem(name: str, seed: int, size: Size) -> NoisyProblem:
    """Return the noisy problem of a name; that of "rkhs5" differs from seed to seed."""
    if name == "sinc":
        return sinc()
    if name == "double_knot":
        return double_knot()
    if name == "rkhs5":
        return with_noise(rkhs_problem(5, generator(seed, _PROBLEM), lengthscale=LENGTHSCALE, noise=RKHS_NOISE))
    truth = problem(name if name[-1].isdigit() else f"{name}{size.dimension}")
    return with_noise(truth, NOISE * spread(truth))


def spread(target: Problem) -> float:
    """Return the standard deviation of the objective over 5000 random points."""
    U = np.random.default_rng(_SPREAD).random((5000, target.dimension))
    return float(target(target.from_unit(U)).std())


def generator(seed: int, what: int) -> np.random.Generator:
    return np.random.default_rng([2023, what, seed])


def orthant_design(count: int, dimension: int, seed: int) -> Array:
    """Sobol points in one random orthant of the unit cube, count x d: the covariate shift that the search starts from."""
    corner = generator(seed, _DESIGN).integers(0, 2, dimension)
    return 0.5 * corner + 0.5 * sobol_points(range(count), dimension, seed=seed)


def covered(sets: ConformalSets, y: Array) -> np.ndarray:
    """Which outcomes, p, lie in their conformal set; where every outcome is accepted, all do."""
    outcome = y[:, None]
    inside = (sets.low <= outcome) & (outcome <= sets.high) & (sets.low < sets.high)
    return np.logical_or(inside.any(axis=1), sets.unseen)


@dataclass(frozen=True)
class KnownGP(Surrogate):
    """The Gaussian process that the targets of Figures 14 and 15 come from; a surrogate with nothing to learn.

    Attributes:
        lengthscale: Of the Matern 5/2 kernel, whose variance is 1.
        noise: Variance of the measurements' noise.
    """

    lengthscale: float = LENGTHSCALE
    noise: float = RKHS_NOISE

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        """Return the posterior, outcomes as they are; ``rng`` is not used."""
        n, d = data.X.shape
        theta = Hyperparameters(np.full(d, self.lengthscale), 1.0, self.noise)
        as_is = Standardization(1.0, 0.0, 1.0)
        return Posterior(
            Matern52(), Features(data.categories), theta, data.X, data.Y[:, 0], np.full(n, self.noise), as_is
        )
