"""Do accepted rows miss their threshold as rarely as the error budget says? Replays on tables whose labels are all known.

Run with ``python -m benchmarks.error_budget --data FOLDER`` (or the variable CALIBO_DATA). A replay measures some rows of a
table, accepts others, and looks up which of these miss the threshold, the median of the table. Compared are

* ``drawn``: half of the measured rows, all drawn at random, train the score and half check it (`calibo.accept`);
* ``drawn after a search``: the score is trained by rows that expected improvement chose, and checked by rows drawn at
  random after it (`calibo.accept`, too);
* ``search, weighted``: rows that a search chose check themselves in five folds, weighted by an estimated density
  ratio of candidates to measured rows; what calibo does *not* offer, and why;
* ``top k``: the k rows with the highest scores, k being how many candidates truly reach the threshold;
* ``probability``: rows whose forecast probability to reach the threshold is at least one minus the budget.

The model is a Gaussian process (that of ``gp_ei``); 120 rows are measured, half of them by the search if there is one.
Searches are slow, so only the first replays (``--searches``) have the rules with one. Finished replays are kept in
``results/error_budget.json``.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.pools import TASKS, table_of
from calibo.data import Array, Dataset
from calibo.methods import strategy
from calibo.models.base import Model
from calibo.tables.error_budget import DrawnRows
from calibo.tables.replay import LabelledPool, replay

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
TABLES = ("crossed_barrel", "direct_arylation", "zinc_logp")
BUDGETS = (0.1, 0.2)
SHARE, MEASURED, FOLDS = 0.5, 120, 5
RESULTS = Path(__file__).parent / "results" / "error_budget.json"


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table with all its labels, larger being better.

    Attributes:
        source: The table, its features and its target.
        pool: The candidates.
        y: What a measurement of each gives, `N`.
        threshold: Reached by half of them.
    """

    source: tuple[Any, list[str], str]
    pool: LabelledPool
    y: Array
    threshold: float

    @classmethod
    def of(cls, name: str, folder: Path) -> Labelled:
        source = table_of(name, folder)
        pool = LabelledPool.of(*source, direction=TASKS[name].direction)
        y = pool.direction.value * pool.means
        return cls(source, pool, y, float(np.quantile(y, 1.0 - SHARE)))

    def model(self, rows: Rows, seed: int) -> Model:
        """Return a Gaussian process of the labels of some rows."""
        X = self.pool.space.X
        data = Dataset(X=X[rows], Y=self.y[rows, None], categories=self.pool.space.categories, from_pool=True)
        return strategy("gp_ei").plan(data, rng=np.random.default_rng(seed)).models[0]

    def scores(self, model: Model) -> Array:
        """Return the probability that a measurement of each row reaches the threshold, `N`."""
        return 1.0 - model.predict(self.pool.space.X, latent=False).cdf(np.full(len(self.y), self.threshold))

    def judged(self, accepted: Flags, candidates: Flags) -> tuple[float, float]:
        """Return the share of accepted candidates that miss the threshold, and the share of good ones accepted."""
        good, chosen = self.y >= self.threshold, accepted & candidates
        wrong = float((chosen & ~good).sum() / max(1, chosen.sum()))
        return wrong, float((chosen & good).sum() / max(1, (candidates & good).sum()))


def drawn(table: Labelled, scores: Array, check: Rows, candidates: Flags, budget: float) -> Flags:
    """Return which rows conformal selection accepts, checked by rows drawn at random."""
    rows = DrawnRows(scores[check], table.y[check] < table.threshold)
    allowed = rows.allowed(rows.counts(scores[candidates]), budget)
    return candidates & (rows.above(scores) <= allowed) if allowed is not None else np.zeros(len(scores), dtype=bool)


def fold_p_values(table: Labelled, measured: Rows, seed: int) -> list[Array]:
    """Return weighted conformal p-values of all rows, `N`, by each of several folds of rows that a search chose."""
    from sklearn.linear_model import LogisticRegression

    X, rng = table.pool.space.X, np.random.default_rng(seed)
    fitted = LogisticRegression(C=1.0, max_iter=500).fit(X, np.isin(np.arange(len(X)), measured))
    odds = np.exp(-fitted.decision_function(X))
    found = []
    for fold in np.array_split(rng.permutation(measured), FOLDS):
        scores = table.scores(table.model(np.setdiff1d(measured, fold), seed))
        above = (scores[fold][None, :] >= scores[:, None]) & (table.y[fold] < table.threshold)
        found.append(((above * odds[fold]).sum(axis=1) + odds) / (odds[fold].sum() + odds))
    return found


def pooled(p_values: list[Array], candidates: Flags, budget: float) -> Flags:
    """Return what all folds together accept: each fold's selection as e-values, their mean through e-BH."""
    m, e_values = int(candidates.sum()), np.zeros(len(candidates))
    for p in p_values:
        order = np.sort(p[candidates])
        fits = np.flatnonzero(order <= budget * np.arange(1, m + 1) / m)
        if len(fits):
            e_values += (p <= order[fits[-1]]) * m / (budget * (fits[-1] + 1)) / len(p_values)
    falling = -np.sort(-e_values[candidates])
    fits = np.flatnonzero(falling >= m / (budget * np.arange(1, m + 1)) * (1 - 1e-9))
    return candidates & (e_values >= falling[fits[-1]]) if len(fits) else np.zeros(len(candidates), dtype=bool)


def random_rules(table: Labelled, seed: int) -> Iterator[tuple[str, Flags, Flags]]:
    """Yield, for each rule of rows drawn at random, its name, what it accepted, and the candidates it accepted from."""
    everything = np.arange(len(table.y))
    random = np.random.default_rng([seed, 7]).choice(len(everything), MEASURED, replace=False)
    candidates = ~np.isin(everything, random)
    train, check = random[: MEASURED // 2], random[MEASURED // 2 :]
    scores, every = table.scores(table.model(train, seed)), table.scores(table.model(random, seed))
    good = int((candidates & (table.y >= table.threshold)).sum())
    yield "top k", candidates & (every >= np.sort(every[candidates])[-good]), candidates
    for budget in BUDGETS:
        yield f"drawn, budget {budget}", drawn(table, scores, check, candidates, budget), candidates
        yield f"probability, budget {budget}", candidates & (every >= 1.0 - budget), candidates


def search_rules(table: Labelled, seed: int) -> Iterator[tuple[str, Flags, Flags]]:
    """Yield the same for the rules with a search before."""
    everything, searched = np.arange(len(table.y)), searched_rows(table, seed)
    check = np.random.default_rng([seed, 8]).choice(
        np.setdiff1d(everything, searched), MEASURED // 2, replace=False
    )  # fmt: skip
    left, unchecked = ~np.isin(everything, searched), ~np.isin(everything, np.concatenate([searched, check]))
    scores, p_values = table.scores(table.model(searched, seed)), fold_p_values(table, searched, seed)
    for budget in BUDGETS:
        yield f"drawn after a search, budget {budget}", drawn(table, scores, check, unchecked, budget), unchecked
        yield f"search, weighted, budget {budget}", pooled(p_values, left, budget), left
        one = np.concatenate(p_values[:1])
        yield f"search, weighted, one fold, budget {budget}", pooled([one], left, budget), left


def searched_rows(table: Labelled, seed: int) -> Rows:
    """Return rows that expected improvement chose in batches of ten, after ten random ones."""
    found = replay(
        *table.source, method="gp_ei", direction=table.pool.direction, start=("random", 10), steps=MEASURED // 2 - 10, q=10,
        seed=seed, replicates="mean",
    )  # fmt: skip
    place = {int(rows[0]): candidate for candidate, rows in enumerate(table.pool.members)}
    return np.array([place[int(row)] for row in found.rows], dtype=np.intp)


RULES = {"random": random_rules, "search": search_rules}


def run(name: str, folder: Path, replays: dict[str, int], kept: dict[str, Any]) -> None:
    """Run the replays of a table that are not done yet, and store them every so often."""
    table, done = Labelled.of(name, folder), kept.setdefault(name, {})
    for kind, count in replays.items():
        known = done.setdefault(kind, {})
        for seed in range(count):
            if str(seed) not in known:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    known[str(seed)] = {rule: table.judged(*both) for rule, *both in RULES[kind](table, seed)}
            if (seed + 1) % 10 == 0 or seed + 1 == count:
                RESULTS.write_text(json.dumps(kept) + "\n", encoding="utf-8")


def show(kept: dict[str, Any]) -> None:
    """Print the mean share of misses, with its standard error, and the power of every rule."""
    for name, kinds in kept.items():
        print(
            f"\n{name}\n\n| rule | replays | misses | good rows accepted | replays that accept any |\n|---|---|---|---|---|"
        )
        for done in filter(None, kinds.values()):
            for rule in next(iter(done.values())):
                wrong, power = np.array([one[rule] for one in done.values()]).T
                error = wrong.std() / len(wrong) ** 0.5
                any_ = ((wrong > 0) | (power > 0)).mean()
                print(f"| {rule} | {len(wrong)} | {wrong.mean():.3f} ± {error:.3f} | {power.mean():.2f} | {any_:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CALIBO_DATA", "data")))
    parser.add_argument("--replays", type=int, default=300)
    parser.add_argument("--searches", type=int, default=30)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    given = parser.parse_args()
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in given.tables:
        run(name, given.data, {"random": given.replays, "search": given.searches}, kept)
    show(kept)


if __name__ == "__main__":
    main()
