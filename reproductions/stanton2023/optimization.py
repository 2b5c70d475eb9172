"""Figures 6, 7, 10, 11 and 15: the methods that are compared, and one run of one of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from loop import optimize
from settings import BETA, LEVEL, KnownGP, Size, make_problem

from calibo.acquisition import ConformalUCB, ExpectedImprovement, NoisyExpectedImprovement, UpperQuantile
from calibo.calibration import DensityRatio, NeuralRatio, RatioEstimator
from calibo.methods import cbo, gp_ei, penalized_ei, risk_averse, turbo
from calibo.models import GaussianProcess, Surrogate
from calibo.optimize.strategy import Strategy

CONFORMAL, UCB, TURBO = "conformal UCB", "UCB", "TuRBO UCB"
#: The same with the network and the chains of the paper: one gradient step of the classifier after each step of a chain.
NETWORK = "conformal UCB, the paper's network"
RISK_AVERSE, PENALIZED = "risk-averse UCB", "penalised EI"
EI, NOISY_EI, CONFORMAL_EI = "EI", "noisy EI", "conformal EI"
#: What believes in conformal sets, and what each is compared with.
STANDARD = {CONFORMAL: UCB, NETWORK: UCB, CONFORMAL_EI: EI}
#: Problems and methods of each figure.
PANELS: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {
    6: (("sinc", "double_knot"), (CONFORMAL, RISK_AVERSE, PENALIZED, UCB)),
    7: (("levy", "ackley"), (UCB, TURBO, CONFORMAL, NETWORK)),
    # Also of Figure 11, the coverage of held-out data in the same searches.
    10: (("levy5", "levy10", "ackley5", "ackley10"), (EI, NOISY_EI, UCB, CONFORMAL_EI, CONFORMAL)),
    15: (("rkhs5",), (UCB, CONFORMAL)),
}
#: The paper's network and chains take a minute or two, and are run where ours leave a question.
LEFT_OUT = {(7, "levy", NETWORK)}
#: Queries in a batch.
BATCH = {6: 1, 7: 3, 10: 1, 15: 3}


def panels(figure: int) -> list[tuple[str, str]]:
    """Return the problems of a figure, each with its methods."""
    problems, methods = PANELS[figure]
    return [
        (problem, method) for problem in problems for method in methods if (figure, problem, method) not in LEFT_OUT
    ]


def strategy(method: str, surrogate: Surrogate, size: Size, q: int) -> Strategy:
    """Return the strategy of a method's name. All may measure a point again, as outcomes are noisy."""
    if method in STANDARD:
        chains = replace(size.paper_chains if method == NETWORK else size.chains, then=size.search)
        ratio: RatioEstimator = NeuralRatio() if method == NETWORK else DensityRatio()
        rule = ExpectedImprovement() if method == CONFORMAL_EI else ConformalUCB(BETA, size.draws)
        return cbo(score="in_sample", ratio=ratio, surrogate=surrogate, rule=rule, search=chains, replicate=True)
    if method == UCB:
        return gp_ei(surrogate=surrogate, rule=UpperQuantile(LEVEL, size.draws), search=size.search, replicate=True)
    if method in (EI, NOISY_EI):
        rule = ExpectedImprovement() if method == EI else NoisyExpectedImprovement()
        return gp_ei(surrogate=surrogate, rule=rule, search=size.search, replicate=True)
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
        rounds={6: size.evaluations - size.initial, 10: size.single_rounds}.get(figure, size.rounds),
        q=q,
        seed=seed,
        holdout_every=0 if figure == 6 else size.holdout_every,
    )
    sign = 1.0 if task.problem.direction == "maximize" else -1.0
    return {**asdict(log), "optimum": sign * task.problem.optimum}
