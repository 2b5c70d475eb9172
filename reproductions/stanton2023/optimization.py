"""Figures 6, 7 and 15: the methods that are compared, and one run of one of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from loop import optimize
from settings import BETA, LEVEL, KnownGP, Size, make_problem

from calibo.acquisition import ConformalUCB, UpperQuantile
from calibo.methods import cbo, gp_ei, penalized_ei, risk_averse, turbo
from calibo.models import GaussianProcess, Surrogate
from calibo.optimize.strategy import Strategy

CONFORMAL, UCB, TURBO = "conformal UCB", "UCB", "TuRBO UCB"
RISK_AVERSE, PENALIZED = "risk-averse UCB", "penalised EI"
#: Problems and methods of each figure.
PANELS: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {
    6: (("sinc", "double_knot"), (CONFORMAL, RISK_AVERSE, PENALIZED, UCB)),
    7: (("levy", "ackley"), (UCB, TURBO, CONFORMAL)),
    15: (("rkhs5",), (UCB, CONFORMAL)),
}
#: Queries in a batch.
BATCH = {6: 1, 7: 3, 15: 3}


def strategy(method: str, surrogate: Surrogate, size: Size, q: int) -> Strategy:
    """Return the strategy of a method's name. All may measure a point again, as outcomes are noisy."""
    if method == CONFORMAL:
        chains = replace(size.chains, then=size.search)
        rule = ConformalUCB(BETA, size.draws)
        return cbo(score="in_sample", surrogate=surrogate, rule=rule, search=chains, replicate=True)
    if method == UCB:
        return gp_ei(surrogate=surrogate, rule=UpperQuantile(LEVEL, size.draws), search=size.search, replicate=True)
    if method == TURBO:
        region = {"batch_size": q, "n_initial": size.initial, "search": size.search}
        return turbo(surrogate=surrogate, rule=UpperQuantile(LEVEL, size.draws), replicate=True, **region)
    return {RISK_AVERSE: risk_averse, PENALIZED: penalized_ei}[method](search=size.search)


def run(figure: int, problem: str, method: str, seed: int, size: Size) -> dict[str, Any]:
    """One optimization as a record of plain numbers."""
    q = BATCH[figure]
    surrogate: Surrogate = KnownGP() if figure == 15 else GaussianProcess()
    task = make_problem(problem, seed, size)
    log = optimize(
        task,
        strategy(method, surrogate, size, q),
        surrogate,
        initial=size.initial,
        rounds=size.evaluations - size.initial if figure == 6 else size.rounds,
        q=q,
        seed=seed,
        holdout_every=0 if figure == 6 else size.holdout_every,
    )
    sign = 1.0 if task.problem.direction == "maximize" else -1.0
    return {**asdict(log), "optimum": sign * task.problem.optimum}
