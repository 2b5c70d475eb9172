"""One optimization that keeps, of every query, which sets held its outcome (Figures 6, 7 and 15).

The conformal set of a query is that of the model as it was when the query was chosen, with the density ratio learned while
searching; ``calibo.optimize.choose`` returns the plan that has this model.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from settings import ALPHA, HOLDOUT, covered, orthant_design

from calibo.calibration import ConformalBayes
from calibo.calibration.conformal_bayes import ConformalModel, ShiftedModel
from calibo.calibration.conformal_set import leave_one_out_score
from calibo.data import Array, Dataset
from calibo.models import Model, Surrogate
from calibo.optimize import Strategy, choose
from calibo.problems import NoisyProblem
from calibo.spaces import as_space


@dataclass
class Log:
    """What happened in one optimization, batch by batch; coverages are shares of the batch.

    Attributes:
        n: Data when the batch was chosen.
        best: Best value without noise, after the initial design and after each batch.
        credible: In the Gaussian process's central 1 - alpha interval.
        conformal: In the conformal set of the model that chose, by its in-sample scores (``None`` for models without).
        unweighted: In the one that takes data and queries for draws of one distribution.
        leave_one_out: In the one by leave-one-out scores, with the same weights.
        unseen: Where the conformal set is everything because the query's own weight reaches alpha.
        empty: Where it holds nothing.
        leave_one_out_empty: Where the one by leave-one-out scores holds nothing.
        width: Width of the conformal set over that of the credible one, where it is not everything; the batch's median.
        holdout: Of random held-out data: (data of the model, credible, conformal, leave-one-out coverage).
    """

    n: list[int] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    credible: list[float] = field(default_factory=list)
    conformal: list[float | None] = field(default_factory=list)
    unweighted: list[float | None] = field(default_factory=list)
    leave_one_out: list[float | None] = field(default_factory=list)
    unseen: list[float | None] = field(default_factory=list)
    empty: list[float | None] = field(default_factory=list)
    leave_one_out_empty: list[float | None] = field(default_factory=list)
    width: list[float | None] = field(default_factory=list)
    holdout: list[tuple[int, float, float, float]] = field(default_factory=list)

    def query(self, model: Model, X: Array, y: Array, n: int) -> None:
        """Record whether a batch's outcomes, q, were in the prediction sets at its points, q x d."""
        self.n.append(n)
        low, high = model.stages[0].predict(X, latent=False).interval(1.0 - ALPHA(n))
        self.credible.append(float(np.mean((low <= y) & (y <= high))))
        if not isinstance(model, ShiftedModel):
            for column in _CONFORMAL:
                getattr(self, column).append(None)
            return
        sets, other = model.conformal_sets(X), by_leave_one_out(model).conformal_sets(X)
        self.conformal.append(float(covered(sets, y).mean()))
        self.unweighted.append(float(covered(model.unweighted.conformal_sets(X), y).mean()))
        self.leave_one_out.append(float(covered(other, y).mean()))
        self.unseen.append(float(sets.unseen.mean()))
        self.empty.append(float(sets.empty.mean()))
        self.leave_one_out_empty.append(float(other.empty.mean()))
        finite = np.logical_not(sets.unseen)
        widths = (sets.high - sets.low).sum(axis=1) / (high - low)
        self.width.append(float(np.median(widths[finite])) if finite.any() else None)


#: Columns of a log that only conformal models fill.
_CONFORMAL = ("conformal", "unweighted", "leave_one_out", "unseen", "empty", "leave_one_out_empty", "width")


def by_leave_one_out(model: ShiftedModel) -> ShiftedModel:
    """Return the same model, its sets by leave-one-out scores."""
    return replace(model, score=leave_one_out_score)


def optimize(
    problem: NoisyProblem,
    strategy: Strategy,
    surrogate: Surrogate | None,
    *,
    initial: int,
    rounds: int,
    q: int,
    seed: int,
    holdout_every: int = 0,
) -> Log:
    """Optimises from a design in a random orthant, q queries at a time.

    Args:
        problem: What is measured.
        strategy: How the queries are chosen.
        surrogate: What the holdout coverage is that of; ``None`` for none.
        initial: Points of the design.
        rounds: Batches.
        q: Queries in a batch.
        seed: Of the design, the noise and the search.
        holdout_every: Rounds from one holdout coverage to the next; 0 for never.
    """
    target, sign = problem.problem, 1.0 if problem.problem.direction == "maximize" else -1.0
    space = as_space(target.space())
    noise = np.random.default_rng([seed, 1])
    X = orthant_design(initial, target.dimension, seed)
    data = Dataset(X=X, Y=sign * problem(target.from_unit(X), noise)[:, None])
    log = Log(best=[float((sign * target(target.from_unit(X))).max())])
    for number in range(rounds):
        rng = np.random.default_rng([seed, 2, number])
        chosen = choose(data, source=space, strategy=strategy, q=q, rng=rng)
        queries, plan = chosen.X, chosen.plan
        original = target.from_unit(queries)
        y = sign * problem(original, noise)
        log.query(plan.models[0], queries, y, len(data))
        log.best.append(max(log.best[-1], float((sign * target(original)).max())))
        if surrogate is not None and holdout_every and number % holdout_every == 0:
            log.holdout.append(holdout_coverage(surrogate, data, rng))
        data = data.with_observations(queries, y[:, None], hyperparameters=plan.hyperparameters)
    return log


def holdout_coverage(surrogate: Surrogate, data: Dataset, rng: np.random.Generator) -> tuple[int, float, float, float]:
    """How many data a model saw, and the coverage of the others, a random fifth: credible, conformal, leave-one-out.

    A random part is not shifted against the rest, so the conformal sets are not weighted.
    """
    order = rng.permutation(len(data))
    out = max(2, round(HOLDOUT * len(data)))
    held, kept = data.rows(order[:out]), data.rows(order[out:])
    model = ConformalBayes(surrogate, ALPHA, "in_sample").fit(kept, rng=rng)
    assert isinstance(model, ConformalModel)
    X, y = held.X, held.Y[:, 0]
    low, high = model.stages[0].predict(X, latent=False).interval(1.0 - ALPHA(len(kept)))
    other = replace(model, score=leave_one_out_score)
    return (
        len(kept),
        float(np.mean((low <= y) & (y <= high))),
        float(covered(model.conformal_sets(X), y).mean()),
        float(covered(other.conformal_sets(X), y).mean()),
    )
