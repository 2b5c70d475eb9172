"""Joint draws of candidates beside points that are the same for all of them: pending ones, and earlier ones of a batch.

Notation: m candidates or batches, q points of a batch, k points beside them, S base samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy.linalg.lapack import dtrtri  # pyright: ignore[reportAttributeAccessIssue]

from calibo.acquisition.base import after_pending, as_batches, base_samples, logsumexp, normalized
from calibo.data import Array
from calibo.distributions import Distribution
from calibo.distributions.gaussian import stable_cholesky
from calibo.models.base import Capability, Model

#: So many sets of points are kept with their draws: a search asks for values beside the same ones again and again.
_KEPT = 4
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Joint draws of points.

    Attributes:
        values: `... x S x q`.
        log_weights: Logarithms of the weights of each point's draws; dimensions in which they do not vary may be missing.
        distribution: The distribution drawn from; these are its last q points.
    """

    values: Array
    log_weights: Array
    distribution: Distribution

    @property
    def weights(self) -> Array:
        """Weights with mean 1 at every point, in the shape of ``log_weights``."""
        return np.exp(normalized(self.log_weights))


@dataclass(frozen=True, eq=False)
class Beside:
    """Draws values of single candidates jointly with those of other points, which are drawn first, and once.

    With the correlations among the points factored as L L', the normal score of a candidate is v'z + sqrt(1 - v'v) z_k+1,
    where L v are its correlations with the points: exactly the last row of the factor of all of them together. Models that
    do not tell these correlations (`Capability.DEPENDENCE`) predict each candidate together with all points instead.

    Attributes:
        model: Model of the values.
        points: The other points, `k x d`.
        seed: Seed of the base samples.
        draws: Number of base samples, S.
    """

    model: Model
    points: Array
    seed: int
    draws: int

    @cached_property
    def base(self) -> Array:
        """Base samples of the points and a candidate, `S x (k + 1)`."""
        return base_samples(self.seed, self.draws, len(self.points) + 1)

    @cached_property
    def points_drawn(self) -> Drawn:
        """The draws of the points, `1 x S x k`."""
        return _drawn(self.model.predict(self.points[None], latent=True), self.base[:, : len(self.points)])

    @cached_property
    def _together(self) -> bool:
        """Whether candidates have to be predicted together with the points."""
        return Capability.DEPENDENCE not in self.model.capabilities

    @cached_property
    def _correlations(self) -> Callable[[Array], Array]:
        """Correlations of `m x d` candidates with the points, `m x k`."""
        return self.model.dependence(self.points)

    @cached_property
    def _inverse_factor(self) -> Array:
        """L^-1, `k x k`: a matrix product for every call is faster than a solve."""
        correlations = self._correlations(self.points)
        np.fill_diagonal(correlations, 1.0)
        return dtrtri(stable_cholesky(correlations), lower=1)[0]

    def candidates(self, X: Array) -> Drawn:
        """Return the draws of `m x d` candidates, `m x S x 1`, each beside the points."""
        k = len(self.points)
        if not k:
            return _drawn(self.model.predict(X[:, None, :], latent=True), self.base)
        if self._together:
            found = _drawn(self.model.predict(after_pending(X[:, None, :], self.points), latent=True), self.base)
            return Drawn(found.values[..., -1:], found.log_weights[..., -1:], found.distribution)
        v = self._correlations(X) @ self._inverse_factor.T
        left = np.sqrt(np.maximum(1.0 - np.einsum("mk,mk->m", v, v), 0.0))
        scores = v @ self.base[:, :k].T + left[:, None] * self.base[:, k]
        # A point by itself has no other dependence than that of its scores.
        return _drawn(self.model.predict(X[:, None, :], latent=True), scores[..., None])


def remembered(kept: dict[bytes, T], earlier: Array, make: Callable[[Array], T]) -> T:
    """Return what is made of some earlier points, `e x d`; that of the latest sets of them is kept."""
    key = earlier.tobytes()
    if key not in kept:
        while len(kept) >= _KEPT:
            kept.pop(next(iter(kept)))
        kept[key] = make(earlier)
    return kept[key]


def _drawn(distribution: Distribution, base: Array) -> Drawn:
    return Drawn(*distribution.samples(base), distribution)


def shared_before_last(batches: Array) -> Array | None:
    """Return the points before the last one, `(q - 1) x d`, if all `m x q x d` batches have the same; else ``None``."""
    earlier = batches[:, :-1]
    return earlier[0] if len(batches) and (earlier == earlier[:1]).all() else None


def beside_earlier(evaluate: Callable[[Array, Array], Array], X: Array) -> Array:
    """Evaluate the last points of batches given those before them: all at once where these are the same.

    Args:
        evaluate: Values, `p`, of points, `p x d`, beside earlier ones, `e x d`.
        X: `p x d` points, or `p x q x d` batches.
    """
    batches = as_batches(X)
    earlier = shared_before_last(batches)
    if earlier is not None:
        return evaluate(batches[:, -1], earlier)
    return np.concatenate([np.empty(0), *(evaluate(one[-1:], one[:-1]) for one in batches)])


#: Log utility of each point of a batch beyond that of the pending points: (draws of the batch, `m x S x q`, and their
#: weights; draws of the pending points, `1 x S x k`, and their weights) -> `m x S x q`. Weights may lack dimensions in
#: which they do not vary.
LogUtility = Callable[[Array, Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class _Given:
    """What is the same for all candidates beside some earlier points of a batch.

    Attributes:
        beside: Draws beside the pending points and the earlier ones.
        pending: Draws of the pending points, `1 x S x k`, and their weights.
        best: Largest log utility of an earlier point in each draw, `1 x S`.
    """

    beside: Beside
    pending: tuple[Array, Array]
    best: Array


@dataclass(frozen=True, eq=False)
class SampledUtility:
    """The log of the expected utility of a batch by joint draws, log E max_j w_j u_j, given pending points.

    Single points without pending ones are evaluated in closed form. Where a distribution is sampled by weighting, the
    weights of each point multiply its own utility inside the maximum (Stanton et al. 2023, B.6), so that the value of a
    single point is its exact expected utility.

    Attributes:
        model: Model of the objective.
        pending: Points whose outcomes are awaited, `k x d`; they are drawn first, so that their draws are the same for
            every candidate.
        utility: Log utility of each point.
        seed: Seed of the base samples: the same for every batch, so that values can be compared and improved.
        draws: Number of base samples, half of them the negatives of the others.
        closed_form: Maps the distribution of single points, `m`, to `m` values; ``None`` if there is none.
    """

    model: Model
    pending: Array
    utility: LogUtility
    seed: int
    draws: int = 128
    closed_form: Callable[[Distribution], Array] | None = None
    _kept: dict[bytes, _Given] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Evaluate `m x d` points or `m x q x d` batches as `m` logarithms."""
        if self.closed_form is not None and X.ndim == 2 and not len(self.pending):
            return self.closed_form(self.model.predict(X, latent=True))
        batches = as_batches(X)
        earlier = shared_before_last(batches)
        best = self._of_batches(batches) if earlier is None else self._of_last(batches[:, -1], earlier)
        return logsumexp(best) - np.log(self.draws)

    def _of_last(self, X: Array, earlier: Array) -> Array:
        """Return the largest log utility in each draw, `m x S`, of `m x d` points and the same `e x d` ones before each."""
        given = remembered(self._kept, earlier, self._given)
        own = given.beside.candidates(X)
        return np.maximum(self.utility(own.values, own.weights, *given.pending)[..., 0], given.best)

    def _given(self, earlier: Array) -> _Given:
        beside, k = Beside(self.model, np.vstack([self.pending, earlier]), self.seed, self.draws), len(self.pending)
        nothing = np.full((1, self.draws), -np.inf)
        if not len(beside.points):
            return _Given(beside, (np.empty((1, self.draws, 0)), np.empty((self.draws, 0))), nothing)
        f, weights = beside.points_drawn.values, beside.points_drawn.weights
        pending = f[..., :k], weights[..., :k]
        best = self.utility(f[..., k:], weights[..., k:], *pending).max(axis=-1) if len(earlier) else nothing
        return _Given(beside, pending, best)

    def _of_batches(self, batches: Array) -> Array:
        """Return the largest log utility in each draw, `m x S`, of batches that share no points."""
        k, q = len(self.pending), batches.shape[1]
        together = self.model.predict(after_pending(batches, self.pending), latent=True)
        drawn = _drawn(together, base_samples(self.seed, self.draws, k + q))
        f, weights = drawn.values, drawn.weights
        # The pending points come first in every batch: their draws, and so their weights, are those of the first batch.
        theirs = weights[:1] if weights.ndim == f.ndim else weights
        return self.utility(f[..., k:], weights[..., k:], f[:1, ..., :k], theirs[..., :k]).max(axis=-1)
