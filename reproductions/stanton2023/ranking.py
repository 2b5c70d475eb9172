"""Figure 13: ranking tables of molecules and antibodies from their worst rows on, UCB against conformal UCB."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from optimization import CONFORMAL, UCB
from settings import ALPHA, BETA, HOLDOUT, LEVEL, RankingSize, covered, generator

from calibo.acquisition import ConformalUCB, UpperQuantile
from calibo.calibration.conformal_bayes import ShiftedModel
from calibo.data import Array, Dataset
from calibo.methods import cbo, gp_ei
from calibo.optimize import Plan, Strategy
from calibo.tables.replay import LabelledPool, Rows, replay

#: The folder of the tables is said by the option --data or by this variable.
VARIABLE = "CALIBO_DATA"
#: Name -> (file, target, direction, first feature, features left out because they are constant).
TASKS: dict[str, tuple[str, str, str, str, tuple[str, ...]]] = {
    "logP": ("zinc512_drd3_logp_qed.parquet", "penalized_logP", "max", "exact_mol_wt", ("num_radical_electrons",)),
    "QED": ("zinc512_drd3_logp_qed.parquet", "qed", "max", "exact_mol_wt", ("num_radical_electrons",)),
    "DRD3": ("zinc512_drd3_logp_qed.parquet", "3pbl_docking", "min", "exact_mol_wt", ("num_radical_electrons",)),
    "stability": ("antibody_nbthermo_tm.parquet", "tm_mean", "max", "length", ()),
}
#: Trials differ in the rows that are drawn (as in the published code), or in what the method draws only.
WHOLE = ", whole table"
PROBLEMS = (*TASKS, *(task + WHOLE for task in TASKS))
METHODS = (UCB, CONFORMAL)
_ROWS = 4


def folder() -> Path | None:
    """Where the tables are, if that was said."""
    return Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None


def table_of(problem: str, seed: int, size: RankingSize) -> tuple[Any, list[str], str, str]:
    """Return the rows of a trial, and their features, target and direction."""
    import pandas as pd

    where = folder()
    if where is None:
        raise SystemExit(f"Figure 13 needs the tables: say where they are with --data or the variable {VARIABLE}")
    name, target, direction, first, constant = TASKS[problem.removesuffix(WHOLE)]
    table = pd.read_parquet(where / name)
    features = [c for c in list(table.columns)[list(table.columns).index(first) :] if c not in constant]
    if not problem.endswith(WHOLE):
        rows = generator(seed, _ROWS).choice(len(table), min(size.rows, len(table)), replace=False)
        table = table.iloc[rows]
    return table.reset_index(drop=True), features, target, direction


def strategy(method: str) -> Strategy:
    """UCB is mean + std for both, as in the other figures."""
    if method == CONFORMAL:
        return cbo(score="in_sample", rule=ConformalUCB(BETA))
    return gp_ei(rule=UpperQuantile(LEVEL))


@dataclass
class Log:
    """Coverage of the prediction sets at each step.

    Attributes:
        n: Data when the query was chosen.
        credible: Whether the query's outcome was in the Gaussian process's central 1 - alpha interval.
        conformal: Whether it was in the conformal set, weighted by the ratio learned from the rows left (``None`` for
            models without).
        unweighted: Whether it was in the one that takes data and queries for draws of one distribution.
        unseen: Whether the conformal set was everything.
        empty: Whether it held nothing.
        top_credible: Share of the best-scored rows' outcomes in their credible sets: as many rows as a fifth of the
            data, as the published code measures query coverage.
        top_conformal: The same of their conformal sets.
    """

    n: list[int] = field(default_factory=list)
    credible: list[float] = field(default_factory=list)
    conformal: list[float | None] = field(default_factory=list)
    unweighted: list[float | None] = field(default_factory=list)
    unseen: list[float | None] = field(default_factory=list)
    empty: list[float | None] = field(default_factory=list)
    top_credible: list[float] = field(default_factory=list)
    top_conformal: list[float | None] = field(default_factory=list)

    def watcher(self, pool: LabelledPool) -> Callable[[Plan, Dataset, Rows, Array], None]:
        """Return a callback that records every step of a replay of the pool."""
        X, merit = pool.space.X, pool.direction.value * pool.means

        def watch(plan: Plan, data: Dataset, chosen: Rows, y: Array) -> None:
            taken = (X[:, None, :] == data.X).all(axis=2).any(axis=1)
            score = np.where(taken, -np.inf, plan.acquisition(X))
            top = np.argsort(-score, kind="stable")[: max(1, round(HOLDOUT * len(data)))]
            self._step(plan, len(data), X[chosen], y, X[top], merit[top])

        return watch

    def _step(self, plan: Plan, n: int, X: Array, y: Array, X_top: Array, y_top: Array) -> None:
        model = plan.models[0]
        self.n.append(n)
        for column, points, outcomes in ((self.credible, X, y), (self.top_credible, X_top, y_top)):
            low, high = model.stages[0].predict(points, latent=False).interval(1.0 - ALPHA(n))
            column.append(float(np.mean((low <= outcomes) & (outcomes <= high))))
        if not isinstance(model, ShiftedModel):
            for column in (self.conformal, self.unweighted, self.unseen, self.empty, self.top_conformal):
                column.append(None)
            return
        sets = model.conformal_sets(X)
        self.conformal.append(float(covered(sets, y).mean()))
        self.unweighted.append(float(covered(model.unweighted.conformal_sets(X), y).mean()))
        self.unseen.append(float(sets.unseen.mean()))
        self.empty.append(float(sets.empty.mean()))
        self.top_conformal.append(float(covered(model.conformal_sets(X_top), y_top).mean()))


def run(problem: str, method: str, seed: int, size: RankingSize) -> dict[str, Any]:
    """One ranking as a record of plain numbers."""
    table, features, target, direction = table_of(problem, seed, size)
    pool, log = LabelledPool.of(table, features, target, direction=direction), Log()
    done = replay(
        table,
        features,
        target,
        method=strategy(method),
        direction=direction,
        start=("worst", size.known),
        steps=size.revealed,
        seed=seed,
        replicates="mean",
        watch=log.watcher(pool),
    )
    spread = float(pool.means.std())
    columns = {name: getattr(log, name) for name in Log.__dataclass_fields__}
    # In standard deviations of the labels, so that the targets can be compared.
    regrets = {"regret": (done.cumulative_regret / spread).tolist(), "simple": (done.simple_regret / spread).tolist()}
    return columns | regrets
