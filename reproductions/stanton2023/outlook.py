"""The paper's outlook, tried: a conformal predictive density in place of the flat set, and joint scores of batches.

``python reproductions/stanton2023/outlook.py`` runs both studies, a few minutes on one core, and writes
``results/outlook.json``; runs that are stored are not done again.

**Density** (footnote 4). The sets of several levels are nested, and a new outcome lies between those of two levels as often
as these say. The density is flat in each ring between two sets, where the paper's is flat on one set. Both leave what is
outside the largest set to the Gaussian process. Queries are single ones, by expected improvement.

**Batches** (B.6). Each datum of equation 3 is a whole batch (X_i, Y_i) of q points with its joint leave-one-out density, in
place of q points with a set of their own. Queries are batches of three, by the expected improvement of the best of them.

All choose among the same kind of random candidates, so that only what is believed of them differs; no density ratio is used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arithmetic import fix_arithmetic

fix_arithmetic()

import numpy as np
from harness import present_commit
from judging import difference_of_means, resampled
from scipy.special import logsumexp, ndtri
from scipy.stats import qmc
from settings import ALPHA, make_problem, orthant_design
from settings import FULL as SIZE

from calibo.calibration.conformal_set import ConformalSets, conformal_sets, leave_one_out_score
from calibo.data import Array, Dataset
from calibo.distributions import FlatSet, Gaussian
from calibo.models import GaussianProcess
from calibo.models.augmentation import Augmentation
from calibo.models.gp_posterior import Posterior

RESULTS = Path(__file__).parent / "results" / "outlook.json"
PROBLEMS = ("hartmann3", "ackley5")
MODEL, FLAT, DENSITY = "Gaussian process", "flat set", "density"
POINTWISE, JOINT = "pointwise sets", "joint sets"
METHODS = {"density": (MODEL, FLAT, DENSITY), "batches": (MODEL, POINTWISE, JOINT)}
#: Levels of the nested sets, beside the level of the largest.
LEVELS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
SEEDS, INITIAL, ROUNDS, BATCH, BATCH_ROUNDS = 10, 10, 40, 3, 12
#: Candidates of a round, random and around the best; batches of them; and draws of a batch's outcomes.
RANDOM, AROUND, BATCHES, DRAWS = 384, 128, 24, 128


@dataclass(frozen=True)
class Job:
    """One search.

    Attributes:
        study: "density" or "batches".
        problem: One of ``PROBLEMS``.
        method: One of ``METHODS`` of the study.
        seed: Of the design, the noise and the candidates.
        rounds: Queries, or batches of them.
    """

    study: str
    problem: str
    method: str
    seed: int
    rounds: int

    @property
    def batch(self) -> int:
        """Points of a query."""
        return 1 if self.study == "density" else BATCH


@dataclass(frozen=True, eq=False)
class Rings:
    """Nested conformal sets at p points, from the largest to the smallest.

    Attributes:
        base: The Gaussian process's distribution of the latent values, p.
        sets: The set of each level as (lower ends, upper ends), each p x J, in outcomes.
        levels: Miscoverage of each, increasing.
    """

    base: Gaussian
    sets: tuple[tuple[Array, Array], ...]
    levels: tuple[float, ...]

    @property
    def lengths(self) -> Array:
        """Lengths of the sets, levels x p, 0 for empty ones."""
        return np.array([(high - low).sum(axis=-1) for low, high in self.sets])

    def masses(self) -> Array:
        """Return the probability of each ring, levels x p; the innermost set has all that is left."""
        lengths, outer = self.lengths, np.asarray(self.levels)
        inner = np.append(outer[1:], 1.0)
        there = lengths > 0.0
        last = there & ~np.vstack([there[1:], np.zeros((1, there.shape[1]), dtype=bool)])
        return np.where(last, 1.0 - outer[:, None], np.where(there, (inner - outer)[:, None], 0.0))

    def expected_improvement(self, best: float) -> Array:
        """Return that of the latent values, p: it is linear in the density, and a ring is one set less another."""
        target = np.asarray(best)
        whole = [FlatSet(self.base, *ends, 1.0).expected_improvement(target) for ends in self.sets]
        lengths, masses = self.lengths, self.masses()
        outermost = FlatSet(self.base, *self.sets[0], 1.0 - self.levels[0])
        found = outermost.expected_improvement(target) - (1.0 - self.levels[0]) * np.where(
            lengths[0] > 0, whole[0], 0.0
        )
        for k, mass in enumerate(masses):
            inner = k + 1 < len(masses)
            length = lengths[k] - (lengths[k + 1] if inner else 0.0)
            total = lengths[k] * whole[k] - (lengths[k + 1] * whole[k + 1] if inner else 0.0)
            ring = np.divide(total, length, out=whole[k].copy(), where=length > 0.0)
            found = found + np.where(mass > 0.0, mass * ring, 0.0)
        return np.maximum(found, 0.0)

    def log_density(self, y: Array) -> Array:
        """Return the logarithm of the density of measurements, p."""
        lengths, masses = self.lengths, self.masses()
        inside = np.array([((low < y[:, None]) & (y[:, None] < high)).any(axis=1) for low, high in self.sets])
        own, measured = np.zeros(len(y)), self.base.measurement
        bounds = [np.asarray(measured.cdf(end.T)).T for end in self.sets[0]]
        outside = np.maximum(1.0 - (bounds[1] - bounds[0]).sum(axis=1), 1e-12)
        gaussian = measured.pdf(y)
        empty = lengths[0] <= 0.0
        own += np.where(empty, gaussian, np.where(inside[0], 0.0, self.levels[0] * gaussian / outside))
        for k, mass in enumerate(masses):
            inner = inside[k + 1] if k + 1 < len(masses) else np.zeros(len(y), dtype=bool)
            length = lengths[k] - (lengths[k + 1] if k + 1 < len(masses) else 0.0)
            own += np.where(inside[k] & ~inner & (mass > 0.0), mass / np.maximum(length, 1e-300), 0.0)
        return np.log(np.maximum(own, 1e-300))


def rings(model: Posterior, X: Array, alpha: float, levels: Sequence[float]) -> Rings:
    """Return the nested sets at p x d points, of miscoverage alpha and of those levels that are larger."""
    base, augmentation = model.augmented(X, latent=True)
    chosen = (alpha, *(level for level in levels if level > alpha))
    sets = [_outcomes(_equal_sets(augmentation, level), augmentation) for level in chosen]
    return Rings(base, tuple(sets), chosen)


def _equal_sets(augmentation: Augmentation, alpha: float) -> ConformalSets:
    p, n = augmentation.influence.shape
    share = 1.0 / (n + 1)
    return conformal_sets(augmentation, leave_one_out_score, np.full(n, share), np.full(p, share), alpha)


def _outcomes(sets: ConformalSets, augmentation: Augmentation) -> tuple[Array, Array]:
    units, index = augmentation.units, augmentation.index
    return units.backward(sets.low)[index], units.backward(sets.high)[index]


@dataclass(frozen=True, eq=False)
class BatchBelief:
    """What a model with conformal sets believes of a batch of q points, by draws of their outcomes, all standardized.

    Attributes:
        model: The Gaussian process of n data, the first ones of which are in whole batches.
        q: Points of a batch.
        alpha: Miscoverage, as a function of the number of exchangeable data.
    """

    model: Posterior
    q: int
    alpha: Callable[[int], float] = ALPHA

    def joint(self, X: Array, Y: Array) -> np.ndarray:
        """Return which outcomes of a batch at q x d points, S x q, its joint set holds, S; batches are the data."""
        n, q = len(self.model.y), self.q
        first = n % q
        groups = [np.arange(start, start + q) for start in range(first, n + 1, q)]
        scores = self._scores(X, Y, groups)
        m = len(groups)
        return (scores[:, :-1] <= scores[:, -1:]).sum(axis=1) + 1 > self.alpha(m - 1) * m

    def pointwise(self, X: Array, Y: Array) -> np.ndarray:
        """Return which outcomes the sets of the single points hold, S x q."""
        n = len(self.model.y)
        groups = [np.array([i]) for i in range(n + 1)]
        held = []
        for j in range(len(X)):
            scores = self._scores(X[j : j + 1], Y[:, j : j + 1], groups)
            held.append((scores[:, :-1] <= scores[:, -1:]).sum(axis=1) + 1 > self.alpha(n) * (n + 1))
        return np.stack(held, axis=1)

    def _scores(self, X: Array, Y: Array, groups: Sequence[np.ndarray]) -> Array:
        """Return the log densities of groups given all others, under the process of data and new points, S x groups."""
        known = self.model.units.forward(self.model.y)
        outcomes = np.hstack([np.broadcast_to(known, (len(Y), len(known))), Y])
        precision = np.linalg.inv(self._augmented(X).covariance)
        dual = (outcomes - self.model.theta.mean) @ precision
        scores = []
        for group in groups:
            block = precision[np.ix_(group, group)]
            part = dual[:, group]
            quadratic = np.einsum("si,ij,sj->s", part, np.linalg.inv(block), part)
            scores.append(0.5 * np.linalg.slogdet(block)[1] - 0.5 * quadratic)
        return np.stack(scores, axis=1)

    def _augmented(self, X: Array) -> Posterior:
        model = self.model
        noise = np.append(model.noise, np.full(len(X), model.theta.noise))
        return replace(
            model, X=np.vstack([model.X, X]), y=np.append(model.y, np.zeros(len(X))), noise=noise, precision=None
        )

    def draws(self, X: Array, base: Array) -> tuple[Array, Array]:
        """Return outcomes of the batch from its predictive distribution, S x q, and their log densities by point, S x q."""
        found = self.model.predict(X, latent=False)
        units, q = self.model.units, len(X)
        unit = units.backward_std(np.ones(1))[0]
        mean, std = units.forward(found.mean), found.std / unit
        correlation = np.eye(q) if found.correlation is None else found.correlation()
        e = base @ np.linalg.cholesky(correlation + 1e-9 * np.eye(q)).T
        return mean + std * e, -0.5 * e**2 - np.log(std)

    def value(self, X: Array, best: float, base: Array, method: str) -> float:
        """Return the expected improvement of the best of a batch; ``best`` is standardized."""
        Y, log_density = self.draws(X, base)
        gain = np.maximum(Y - best, 0.0)
        if method == MODEL:
            return float(gain.max(axis=1).mean())
        if method == JOINT:
            weights = self._weights(self.joint(X, Y)[:, None], log_density.sum(axis=1, keepdims=True), joint=True)
            return float((weights * gain.max(axis=1, keepdims=True)).sum())
        weights = self._weights(self.pointwise(X, Y), log_density, joint=False)
        return float((weights * gain).max(axis=1).sum())

    def _weights(self, held: np.ndarray, log_density: Array, *, joint: bool) -> Array:
        """Return weights of the draws, S x columns: flat on the sets with probability 1 - alpha, the model's outside."""
        n = len(self.model.y)
        alpha = self.alpha(n // self.q if joint else n)
        found = np.empty_like(log_density)
        for j in range(held.shape[1]):
            inside, flat = held[:, j], -log_density[:, j]
            if inside.all() or not inside.any():
                found[:, j] = 1.0 / len(inside)
                continue
            found[inside, j] = (1.0 - alpha) * np.exp(flat[inside] - logsumexp(flat[inside]))
            found[~inside, j] = alpha / (~inside).sum()
        return found


def perform(job: Job) -> dict[str, Any]:
    """Run a search; return the regret at the end, the mean log density of what was measured, and what its sets held."""
    task = make_problem(job.problem, job.seed, SIZE)
    target, q = task.problem, job.batch
    sign = 1.0 if target.direction == "maximize" else -1.0
    noise, rng = np.random.default_rng([job.seed, 1]), np.random.default_rng([job.seed, 2])
    initial = INITIAL if q == 1 else 3 * q
    X = orthant_design(initial, target.dimension, job.seed)
    data = Dataset(X=X, Y=sign * task(target.from_unit(X), noise)[:, None])
    scores, held, truths = list[Array](), list[float](), [sign * target(target.from_unit(X))]
    for number in range(job.rounds):
        model = GaussianProcess().fit(data, rng=rng)
        candidates = _candidates(data, rng)
        query = _single(job, model, candidates) if q == 1 else _batch(job, model, candidates, number)
        y = sign * task(target.from_unit(query), noise)
        scores.append(_log_density(job, model, query, y))
        held.append(_held(job, model, query, y))
        truths.append(sign * target(target.from_unit(query)))
        data = data.with_observations(query, y[:, None])
    regret = sign * target.optimum - float(np.concatenate(truths).max())
    found = {"regret": regret, "held": float(np.mean(held)), "score": float(np.concatenate(scores).mean())}
    return {name: round(value, 6) for name, value in found.items()}


def _candidates(data: Dataset, rng: np.random.Generator) -> Array:
    d = data.X.shape[1]
    best = data.X[np.argmax(data.Y[:, 0])]
    near = np.clip(best + 0.1 * rng.standard_normal((AROUND, d)), 0.0, 1.0)
    return np.vstack([rng.random((RANDOM, d)), near])


def _single(job: Job, model: Posterior, candidates: Array) -> Array:
    """Return the candidate with the largest expected improvement, 1 x d."""
    return candidates[[np.argmax(_improvement(job.method, model, candidates))]]


def _improvement(method: str, model: Posterior, X: Array) -> Array:
    incumbent = float(model.predict(model.X, latent=True).mean.max())
    if method == MODEL:
        return model.predict(X, latent=True).expected_improvement(np.asarray(incumbent))
    return rings(model, X, ALPHA(len(model.y)), LEVELS if method == DENSITY else ()).expected_improvement(incumbent)


def _batch(job: Job, model: Posterior, candidates: Array, number: int) -> Array:
    """Return the best of random batches of the most promising candidates, q x d."""
    rng = np.random.default_rng([job.seed, 3, number])
    order = np.argsort(-_improvement(FLAT, model, candidates))[:64]
    share = 1.0 / np.arange(1, len(order) + 1)
    picks = [rng.choice(order, job.batch, replace=False, p=share / share.sum()) for _ in range(BATCHES)]
    base = ndtri(np.clip(qmc.Sobol(job.batch, rng=rng).random(DRAWS), 1e-6, 1.0 - 1e-6))
    belief = BatchBelief(model, job.batch)
    best = float(model.units.forward(model.predict(model.X, latent=True).mean).max())
    values = [belief.value(candidates[pick], best, base, job.method) for pick in picks]
    return candidates[picks[int(np.argmax(values))]]


def _log_density(job: Job, model: Posterior, X: Array, y: Array) -> Array:
    """Return log densities of outcomes; those of batches are by the model, as draws give none."""
    if job.method in (FLAT, DENSITY):
        return rings(model, X, ALPHA(len(model.y)), LEVELS if job.method == DENSITY else ()).log_density(y)
    return model.predict(X, latent=False).logpdf(y)


def _held(job: Job, model: Posterior, X: Array, y: Array) -> float:
    """Return whether outcomes were in their sets (of batches: the share of the points), less what is claimed."""
    n = len(model.y)
    if job.batch == 1:
        ((low, high),) = rings(model, X, ALPHA(n), ()).sets
        return float(((low < y[:, None]) & (y[:, None] < high)).any()) - (1.0 - ALPHA(n))
    belief, Y = BatchBelief(model, job.batch), model.units.forward(y)[None, :]
    if job.method == JOINT:
        return float(belief.joint(X, Y)[0]) - (1.0 - ALPHA(n // job.batch))
    return float(belief.pointwise(X, Y).mean()) - (1.0 - ALPHA(n))


def jobs(seeds: int) -> list[Job]:
    """Return all searches, seed by seed."""
    return [
        Job(study, problem, method, seed, ROUNDS if study == "density" else BATCH_ROUNDS)
        for seed in range(seeds)
        for study, methods in METHODS.items()
        for problem in PROBLEMS
        for method in methods
    ]


def compared(stored: dict[str, dict[str, Any]], seeds: int) -> list[dict[str, Any]]:
    """Return a row for each study, problem and method against the second one of the study: differences over the seeds."""
    rows = []
    for study, methods in METHODS.items():
        for problem in PROBLEMS:
            found = {m: _values(stored, study, problem, m, seeds) for m in methods}
            for method, values in found.items():
                row = {"study": study, "problem": problem, "method": method, "seeds": seeds}
                row |= {name: round(float(v.mean()), 3) for name, v in values.items()}
                for name in ("regret", "score"):
                    difference = difference_of_means(values[name], found[methods[1]][name])
                    row[f"{name} less that of {methods[1]}"] = [round(v, 3) for v in resampled(difference, seeds)]
                rows.append(row)
    return rows


def _values(stored: dict[str, dict[str, Any]], study: str, problem: str, method: str, seeds: int) -> dict[str, Array]:
    runs = [stored[key(j)] for j in jobs(seeds) if (j.study, j.problem, j.method) == (study, problem, method)]
    return {name: np.array([run[name] for run in runs]) for name in ("regret", "held", "score")}


def key(job: Job) -> str:
    """Return a job as text."""
    return f"{job.study} {job.problem} {job.method} {job.seed} {job.rounds}"


def main() -> None:
    """Run what is missing and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"runs": {}}
    commit = present_commit()
    for job in jobs(arguments.seeds):
        if key(job) not in kept["runs"]:
            kept["runs"][key(job)] = {**perform(job), "commit": commit}
            arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
    kept["compared"] = compared(kept["runs"], arguments.seeds)
    arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
    for row in kept["compared"]:
        print(row)


if __name__ == "__main__":
    main()
