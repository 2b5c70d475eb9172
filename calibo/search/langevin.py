"""Langevin exploration: chains that sample where an acquisition function is large, and from which the plan learns.

A conformal acquisition function depends on the distribution of the points where it is evaluated, and that distribution on
the acquisition function. Both are found together (Stanton et al. 2023, section 4.3 and Algorithm 4): chains sample from
exp(acquisition / temperature), and the plan learns from the points they visit a few times on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_instance
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.ascent import central_differences
from calibo.search.base import Search, finite
from calibo.search.finite import Pool
from calibo.search.moves import climbed_columns, finite_columns
from calibo.search.multistart import MultiStart, scattered
from calibo.search.plan import Acquisition, Plan
from calibo.spaces import Space

#: Initial points, random ones and ones near the anchors: some are initial states of chains, all give the scale.
_SCORED, _AROUND = 96, 32
#: Maximum drift of a step in the unit cube: near data, log acquisition functions decrease without bound.
_LONGEST = 0.1
#: In each of this many cycles the step size decreases from its full value to this share of it.
_LEAST_STEP, _CYCLES = 1.0 / 16.0, 4
#: Rows of a pool that are the proposals.
_ROWS = 512


@dataclass(frozen=True)
class Langevin(Search):
    """Stochastic gradient Langevin chains with momentum, from which the plan learns; then another search maximizes.

    ``explore``:

    1. Evaluate random points and points near the anchors; draw the initial states of the chains by exp(a / T).
    2. Each step: v <- (1 - friction) v + step g + N(0, 2 friction step T), x <- x + v, with g the gradient of a by
       central differences in the continuous and finely graded columns, all chains in one call. ``friction=1`` is plain
       Langevin dynamics. The step size decreases by a cosine, in four cycles (as in the published code). Other finite
       columns move by Metropolis steps: one column of each chain to another of its values, accepted with probability
       min(1, exp((a' - a) / T)) if the point is valid. Under constraints, drifts are projected on the feasible set, and
       the Metropolis steps lead to a neighbour (``Space.neighbours``).
    3. ``updates`` times, evenly spaced after the burn-in and the last time at the end, the plan learns from all points
       visited since the burn-in (``plan.learned``), and the chains go on with its acquisition function.
    4. The best point of each chain, by the final acquisition function, becomes an anchor.

    On a pool the rows are the proposals (appendix C.3): a random choice of at most 512, and no chains.

    Deviations from the paper and its code: chains are reflected at the bounds (the code adds penalties and fails if a
    chain never enters); the drift of a step is at most 0.1 long; the plan learns ``updates`` times, not at every step,
    since each update costs a fit; and the acquisition function is standardized by its rise from the median to the largest
    value over the initial points, so that a temperature means the same in all units and for logarithms.

    Attributes:
        chains: Number of chains.
        steps: Steps of each chain.
        burn_in: First steps, which are not proposals.
        step_size: Largest step size.
        temperature: Temperature in one dimension; T = temperature / sqrt(d) (as in the published code).
        friction: Share of the momentum that is lost in a step, in (0, 1].
        updates: How often the plan learns.
        standardized: Whether the acquisition function is divided by its rise.
        then: The search that maximizes the plan afterwards; by default chosen by the space.
    """

    chains: int = 5
    steps: int = 60
    burn_in: int = 15
    step_size: float = 5e-3
    temperature: float = 0.1
    friction: float = 0.3
    updates: int = 3
    standardized: bool = True
    then: Search | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.then is not None:
            check_instance("then", self.then, Search, "MultiStart()")
        if self.chains < 1 or not 0 <= self.burn_in < self.steps:
            raise RecipeError(
                "Langevin needs at least one chain, and a burn-in shorter than its steps; "
                f"got chains={self.chains}, burn_in={self.burn_in}, steps={self.steps}"
            )
        if not 1 <= self.updates <= self.steps - self.burn_in:
            raise RecipeError(
                f"Langevin can learn from 1 to {self.steps - self.burn_in} times after its burn-in, "
                f"got updates={self.updates}"
            )
        for name, value in (("step_size", self.step_size), ("temperature", self.temperature)):
            if not (isfinite(value) and value > 0.0):
                raise RecipeError(f"Langevin's {name} must be positive and finite, got {value}")
        if not 0.0 < self.friction <= 1.0:
            raise RecipeError(f"Langevin's friction lies in (0, 1], got {self.friction}; 1 is without momentum")

    @classmethod
    def paper(cls) -> Langevin:
        """Return the settings of appendix D.3: plain Langevin steps, an update after each; slow, for reproductions.

        The temperature is meant for standardized outcomes and rules that are not logarithmic.
        """
        return cls(
            steps=100, burn_in=25, step_size=1e-3, temperature=1e-3, friction=1.0, updates=75, standardized=False
        )

    @classmethod
    def repository(cls) -> Langevin:
        """Return the settings of the published code: momentum, more and larger steps; slower still."""
        return cls(
            steps=512, burn_in=32, step_size=2e-2, temperature=4e-3, friction=0.1, updates=480, standardized=False
        )

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        then = self.then or (Pool() if space.is_pool else MultiStart())
        return then.maximize(plan, space, q, rng=rng)

    @property
    def anchors_needed(self) -> int:
        return 0 if self.then is None else self.then.anchors_needed

    @property
    def counts_evaluations(self) -> bool:
        return self.then is not None and self.then.counts_evaluations

    @property
    def explores(self) -> bool:
        return True

    def explore(self, plan: Plan, space: Space, *, rng: np.random.Generator) -> Plan:
        if plan.learn is None:
            return plan
        if space.is_pool:
            rows = space.sample(min(_ROWS, space.size or _ROWS), rng)
            plan = plan.learned(rows, rng=rng)
            best = rows[np.argsort(-finite(plan.acquisition(rows)), kind="stable")[: self.chains]]
            return replace(plan, anchors=np.vstack([best, plan.anchors]))
        X, scale = self._start(plan, space, rng)
        chains = _Chains(space, X, np.zeros_like(X), T=self.temperature / X.shape[1] ** 0.5, friction=self.friction)
        learning = self._learning_steps()
        visited: list[Array] = []
        for t, size in enumerate(self._step_sizes(), start=1):
            chains.step(plan.acquisition, scale, size, rng)
            if t > self.burn_in:
                visited.append(space.repair(chains.X))
            if t in learning:
                plan = plan.learned(np.concatenate(visited), rng=rng)
        best = _best_of_chains(plan.acquisition, np.stack(visited))
        return replace(plan, anchors=np.vstack([best, plan.anchors]))

    def _start(self, plan: Plan, space: Space, rng: np.random.Generator) -> tuple[Array, float]:
        """Return the initial states of the chains, `chains x d`, and the scale of the acquisition function."""
        count = max(_SCORED, 2 * self.chains)
        points = np.vstack([space.sample(count, rng), scattered(plan.anchors, space, _AROUND, rng)])
        values = finite(plan.acquisition(points))
        usable = values[np.isfinite(values)]
        scale = _rise(usable) if self.standardized and len(usable) else 1.0
        # The Gumbel trick draws without replacement with probabilities proportional to exp(a / T).
        T = self.temperature / points.shape[1] ** 0.5
        keys = values / (scale * T) + rng.gumbel(size=len(values))
        return points[np.argsort(-keys, kind="stable")[: self.chains]], scale

    def _learning_steps(self) -> set[int]:
        """Return the steps, from 1 on, after which the plan learns: evenly spaced after the burn-in, the last included."""
        counted = self.steps - self.burn_in
        return {self.burn_in + -(-k * counted // self.updates) for k in range(1, self.updates + 1)}

    def _step_sizes(self) -> Array:
        period = max(1.0, self.steps / _CYCLES)
        turn = (np.arange(self.steps) % period) / period
        return self.step_size * (_LEAST_STEP + (1.0 - _LEAST_STEP) * 0.5 * (1.0 + np.cos(np.pi * turn)))


@dataclass
class _Chains:
    """The state of all chains of one exploration, which move together: points and momenta, `chains x d`."""

    space: Space
    X: Array
    velocity: Array
    T: float
    friction: float

    def __post_init__(self) -> None:
        check_fields(self)
        self.climbed = climbed_columns(self.space)
        self.switched = np.setdiff1d(finite_columns(self.space), self.climbed)
        self.constrained = self.space.region(self.X, self.climbed).constrained

    def step(self, acquisition: Acquisition, scale: float, size: float, rng: np.random.Generator) -> None:
        """Move all chains by one step, in place."""
        if len(self.climbed):
            self._drift(acquisition, scale, size, rng)
        if self.constrained and self.space.has_neighbours:
            self._accept(acquisition, scale, self._neighbours(rng), rng)
        elif len(self.switched):
            self._accept(acquisition, scale, self._switched(rng), rng)

    def _drift(self, acquisition: Acquisition, scale: float, size: float, rng: np.random.Generator) -> None:
        columns = self.climbed
        force = size * central_differences(acquisition, self.X, columns)[1] / scale
        length = np.linalg.norm(force, axis=1, keepdims=True)
        force *= _LONGEST / np.maximum(length, _LONGEST)
        noise = (2.0 * self.friction * size * self.T) ** 0.5 * rng.standard_normal(force.shape)
        velocity = (1.0 - self.friction) * self.velocity[:, columns] + force + noise
        moved = self.X[:, columns] + velocity
        if self.constrained:
            self._project(moved, velocity)
            return
        folded = np.abs(moved) % 2.0
        self.X[:, columns] = np.where(folded > 1.0, 2.0 - folded, folded)
        # A reflected chain reverses its momentum.
        self.velocity[:, columns] = np.where((moved < 0.0) | (folded > 1.0), -velocity, velocity)

    def _project(self, moved: Array, velocity: Array) -> None:
        """Move chains to the nearest feasible points, which take away the momentum that leads out of the feasible set."""
        region, columns = self.space.region(self.X, self.climbed), self.climbed
        near = region.project(moved)
        allowed = region.allows(near)[:, None]
        here = self.X[:, columns]
        self.velocity[:, columns] = np.where(allowed, near - here, -velocity)
        self.X[:, columns] = np.where(allowed, near, here)

    def _switched(self, rng: np.random.Generator) -> Array:
        """Return the chains with one finite column of each at another of its values."""
        proposed = self.X.copy()
        chosen = rng.choice(self.switched, size=len(self.X))
        shift = rng.random(len(self.X))
        for j in self.switched:
            rows = chosen == j
            column = self.space.columns[j]
            cells = column.cells or 1
            others = 1 + (shift[rows] * (cells - 1)).astype(np.int64)
            proposed[rows, j] = column.position((column.cell(self.X[rows, j]) + others) % cells)
        return proposed

    def _neighbours(self, rng: np.random.Generator) -> Array:
        """Return a random neighbour of each chain: where constraints tie columns together, no column changes alone."""
        proposed = self.X.copy()
        for i, x in enumerate(self.space.repair(self.X)):
            near = self.space.neighbours(x)
            if len(near):
                proposed[i] = near[rng.integers(len(near))]
        return proposed

    def _accept(self, acquisition: Acquisition, scale: float, proposed: Array, rng: np.random.Generator) -> None:
        """Move chains to proposed points, `chains x d`, if these are valid and Metropolis accepts them."""
        values = finite(acquisition(np.concatenate([self.X, proposed]))).reshape(2, -1)
        with np.errstate(invalid="ignore"):
            gain = (values[1] - values[0]) / (scale * self.T)
        # Between two points without a finite value every move is accepted.
        accepted = -rng.exponential(size=len(gain)) <= np.nan_to_num(gain, nan=0.0)
        accepted &= self.space.valid(proposed)
        self.X = np.where(accepted[:, None], proposed, self.X)


def _best_of_chains(acquisition: Acquisition, visited: Array) -> Array:
    """Return the best of the visited points, `steps x chains x d`, of each chain, `chains x d`, the best chain first."""
    steps, chains, d = visited.shape
    values = finite(acquisition(visited.reshape(-1, d))).reshape(steps, chains)
    best, every = np.argmax(values, axis=0), np.arange(chains)
    order = np.argsort(-values[best, every], kind="stable")
    return visited[best, every][order]


def _rise(values: Array) -> float:
    """Return the rise from the median to the largest value, or their range if most are equal; 1 if all are."""
    top = float(values.max())
    return (top - float(np.median(values))) or (top - float(values.min())) or 1.0
