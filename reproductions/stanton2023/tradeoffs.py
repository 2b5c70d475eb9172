"""Figure 12: several objectives, (noisy) expected hypervolume improvement with and without conformal distributions.

Noisy ParEGO, which the paper names as an extension of the same kind (appendix B.5), is run beside it on Branin-Currin.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from loop import Log, holdout_coverage
from multi_objective import MultiObjectiveProblem, branin_currin, penicillin
from settings import NOISE, TradeoffSize, orthant_design

from calibo.acquisition import HypervolumeImprovement, ScalarizedImprovement, TradeoffRule
from calibo.data import Array, Dataset
from calibo.methods import cbo, gp_ei
from calibo.models import GaussianProcess
from calibo.optimize import Strategy, choose
from calibo.spaces import as_space

EHVI, NEHVI, CONFORMAL_EHVI, CONFORMAL_NEHVI = "EHVI", "NEHVI", "conformal EHVI", "conformal NEHVI"
METHODS = (EHVI, NEHVI, CONFORMAL_EHVI, CONFORMAL_NEHVI)
PAREGO, CONFORMAL_PAREGO = "noisy ParEGO", "conformal noisy ParEGO"
PROBLEMS = ("branin_currin", "penicillin")
PANELS = [
    *((problem, method) for problem in PROBLEMS for method in METHODS),
    *(("branin_currin", method) for method in (PAREGO, CONFORMAL_PAREGO)),
]
#: What conformal methods are compared with, and ParEGO with.
STANDARD = {CONFORMAL_EHVI: EHVI, CONFORMAL_NEHVI: NEHVI, PAREGO: NEHVI, CONFORMAL_PAREGO: CONFORMAL_NEHVI}
#: What a record keeps of the queries: one list for each objective, m x rounds.
_COLUMNS = ("credible", "conformal", "unweighted", "leave_one_out", "unseen", "empty")


def possible() -> bool:
    """Whether BoTorch is installed, which cuts what three objectives leave into boxes."""
    return find_spec("botorch") is not None


def conformal(method: str) -> bool:
    """Whether a method believes in conformal sets."""
    return method in (CONFORMAL_EHVI, CONFORMAL_NEHVI, CONFORMAL_PAREGO)


def strategy(method: str, problem: str, size: TradeoffSize) -> Strategy:
    """Return the strategy of a method's name. All may measure a point again, as outcomes are noisy."""
    draws = size.draws[problem]
    tradeoff: TradeoffRule = HypervolumeImprovement(noisy=method in (NEHVI, CONFORMAL_NEHVI), draws=draws)
    if method in (PAREGO, CONFORMAL_PAREGO):
        tradeoff = ScalarizedImprovement(noisy=True, draws=draws)
    if conformal(method):
        chains = replace(size.chains, then=size.search)
        return cbo(score="in_sample", tradeoff=tradeoff, search=chains, replicate=True)
    return gp_ei(tradeoff=tradeoff, search=size.search, replicate=True)


def run(problem: str, method: str, seed: int, size: TradeoffSize) -> dict[str, Any]:
    """One optimization from a design in a random orthant, one query at a time, as a record of plain numbers.

    The hypervolume is that of the outcomes without noise, over the best one known.
    """
    target, recipe = make_problem(problem), strategy(method, problem, size)
    space = as_space(target.space())
    noise, std = np.random.default_rng([seed, 1]), NOISE * spread(problem)
    X = orthant_design(size.initial, target.dimension, seed)
    F = truth(target, X)
    data = Dataset(
        X=X,
        Y=F + std * noise.standard_normal(F.shape),
        reference=tuple(target.signs * np.array(target.reference)),
    )
    logs = [Log() for _ in target.directions]
    volumes = [_share(target, F)]
    for number in range(size.rounds[problem]):
        rng = np.random.default_rng([seed, 2, number])
        chosen = choose(data, source=space, strategy=recipe, q=1, rng=rng)
        queries, plan = chosen.X, chosen.plan
        reached = truth(target, queries)
        y = reached + std * noise.standard_normal(reached.shape)
        F = np.vstack([F, reached])
        volumes.append(_share(target, F))
        for j, log in enumerate(logs):
            log.query(plan.models[j], queries, y[:, j], len(data))
            if number % size.holdout_every == 0:
                log.holdout.append(holdout_coverage(GaussianProcess(), data.outcome(j), rng))
        data = data.with_observations(queries, y, hyperparameters=plan.hyperparameters)
    columns = {name: [getattr(log, name) for log in logs] for name in (*_COLUMNS, "holdout")}
    return {"n": logs[0].n, "hypervolume": volumes, **columns}


def make_problem(name: str) -> MultiObjectiveProblem:
    """Return the problem of a name."""
    return {"branin_currin": branin_currin, "penicillin": penicillin}[name]()


def truth(target: MultiObjectiveProblem, U: Array) -> Array:
    """Outcomes without noise at points of the unit cube, n x d -> n x m, turned so that larger is better."""
    return target.signs * target(target.from_unit(U))


@lru_cache
def spread(name: str) -> Array:
    """Return the standard deviation of each objective over 5000 random points, m."""
    target = make_problem(name)
    return truth(target, np.random.default_rng(3).random((5000, target.dimension))).std(axis=0)


def _share(target: MultiObjectiveProblem, F: Array) -> float:
    assert target.best_hypervolume is not None
    return target.hypervolume(target.signs * F) / target.best_hypervolume
