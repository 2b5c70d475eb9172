"""From observations to suggestions: one pure function, used by every optimizer, study and ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibo.data import Dataset, Suggestion
from calibo.optimize.design import design_point, initial_size
from calibo.optimize.sources import CandidateSource, Chosen, as_source
from calibo.optimize.strategy import Strategy
from calibo.spaces import Space

#: With fewer observations no forecasts are made for points of the initial design.
_FEWEST_FOR_FORECAST = 3


def generator(seed: int, number: int) -> np.random.Generator:
    """Return the random generator of a suggestion: the same for the same seed and number."""
    return np.random.default_rng([seed, number])


def choose(
    data: Dataset, *, source: Space | CandidateSource, strategy: Strategy, q: int, rng: np.random.Generator
) -> Chosen:
    """Choose the next points by the strategy's plan.

    Where the acquisition function depends on where the search goes (CBO), the source explores first; the points and
    their forecasts follow the plan after that, which is part of the result.

    Args:
        data: The observations, at least one.
        source: A search space, or another source of candidates.
        strategy: Makes the plan.
        q: Number of points.
        rng: The only source of randomness.
    """
    plan = strategy.plan(data, rng=rng)
    return as_source(source).choose(plan, strategy, q, rng=rng)


def suggest(
    data: Dataset, *, source: Space | CandidateSource, strategy: Strategy, q: int, rng: np.random.Generator
) -> list[Suggestion]:
    """Suggest the next ``q`` points, each with its forecast; the arguments are those of ``choose``."""
    return choose(data, source=source, strategy=strategy, q=q, rng=rng).suggestions()


def propose(
    data: Dataset,
    *,
    space: Space,
    strategy: Strategy,
    seed: int,
    number: int,
    q: int = 1,
    n_initial: int | None = None,
) -> list[Suggestion]:
    """Suggest the next ``q`` points: those of the initial design while there are few observations, then the strategy's.

    Args:
        data: All observations, larger is better.
        space: The search space.
        strategy: Chooses points after the initial design.
        seed: Seed of the study.
        number: How many points were suggested before; with the seed it determines all randomness.
        q: Number of points.
        n_initial: Size of the initial design, points observed otherwise included; by default it depends on the dimension.
    """
    enough = initial_size(data.X.shape[1]) if n_initial is None else n_initial
    enough = min(enough, space.size or enough)
    suggestions: list[Suggestion] = []
    for offset in range(q):
        if len(data) and len(data.tried) >= enough:
            break
        suggestion = _designed(data, space, strategy, seed, number + offset)
        suggestions.append(suggestion)
        data = data.with_pending(suggestion.x[None, :])
    if len(suggestions) < q:
        rng = generator(seed, number + len(suggestions))
        suggestions += suggest(data, source=space, strategy=strategy, q=q - len(suggestions), rng=rng)
    return [replace(s, number=number + i) for i, s in enumerate(suggestions)]


def _designed(data: Dataset, space: Space, strategy: Strategy, seed: int, number: int) -> Suggestion:
    """Return a point of the initial design, with a forecast as soon as a model can make one."""
    X = design_point(space, seed=seed, number=number, avoid=data.tried)[None, :]
    if len(data) < _FEWEST_FOR_FORECAST:
        return Suggestion(params=space.decode(X)[0], x=X[0])
    plan = strategy.plan(data, rng=generator(seed, number))
    return Chosen(X, tuple(space.decode(X)), plan).suggestions()[0]
