"""The spine: one pure way from what is known to what to try next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibo.data import Dataset, Suggestion
from calibo.optimize.design import design_point, initial_size
from calibo.optimize.strategy import Plan, Strategy
from calibo.search import CandidateSearch, Explorer, Learning
from calibo.spaces import Space

#: A model of fewer points is not asked for forecasts of the initial design.
_FEWEST_FOR_FORECAST = 3


def generator(seed: int, number: int) -> np.random.Generator:
    """The generator of a suggestion: the same for the same seed and number, whatever happened before."""
    return np.random.default_rng([seed, number])


def suggest(
    data: Dataset, *, space: Space, strategy: Strategy, search: CandidateSearch, q: int, rng: np.random.Generator
) -> list[Suggestion]:
    """The next ``q`` points by the strategy's plan, each with its forecast; ``data`` has at least one point.

    Where the acquisition depends on where the search goes, a search that can explore does so first, and the points,
    their forecasts and all else come from what was learned.
    """
    plan = strategy.plan(data, rng=rng)
    if isinstance(search, Explorer) and isinstance(plan.acquisition, Learning):
        plan = plan.after(search.explore(plan.acquisition, space, anchors=plan.anchors, rng=rng))
    X = search.maximize(plan.acquisition, space, q, anchors=plan.anchors, taken=plan.taken, rng=rng)
    return _suggestions(X, plan, space)


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
    """The next ``q`` suggestions: points of the initial design while little is known, then the strategy's.

    Args:
        data: All that is known, larger is better.
        space: What may be tried.
        strategy: How to choose.
        seed: Of the study.
        number: How many points were asked for before; with the seed it determines all randomness.
        q: How many points are wanted.
        n_initial: Points of the initial design, those told count; by default as many as the dimension suggests.
    """
    enough = initial_size(data.X.shape[1]) if n_initial is None else n_initial
    enough = min(enough, getattr(space, "size", None) or enough)
    suggestions: list[Suggestion] = []
    for offset in range(q):
        known = len(data) + len(data.X_pending) + len(data.X_failed)
        if len(data) and known >= enough:
            break
        suggestion = _designed(data, space, strategy, seed, number + offset)
        suggestions.append(suggestion)
        data = replace(data, X_pending=np.vstack([data.X_pending, suggestion.x]))
    if len(suggestions) < q:
        rng = generator(seed, number + len(suggestions))
        search = strategy.searcher(space)
        suggestions += suggest(data, space=space, strategy=strategy, search=search, q=q - len(suggestions), rng=rng)
    return [replace(s, number=number + i) for i, s in enumerate(suggestions)]


def _designed(data: Dataset, space: Space, strategy: Strategy, seed: int, number: int) -> Suggestion:
    """A point of the initial design, with a forecast as soon as a model can make one."""
    taken = np.vstack([data.X, data.X_pending, data.X_failed])
    X = design_point(space, seed=seed, number=number, taken=taken)[None, :]
    if len(data) < _FEWEST_FOR_FORECAST:
        return Suggestion(params=space.decode(X)[0], x=X[0])
    plan = strategy.plan(data, rng=generator(seed, number))
    return _suggestions(X, plan, space)[0]


def _suggestions(X: np.ndarray, plan: Plan, space: Space) -> list[Suggestion]:
    forecasts = (None,) * len(X) if plan.forecaster is None else plan.forecaster(X)
    return [
        Suggestion(params=params, x=x, forecasts=forecast, hyperparameters=plan.hyperparameters)
        for params, x, forecast in zip(space.decode(X), X, forecasts, strict=True)
    ]
