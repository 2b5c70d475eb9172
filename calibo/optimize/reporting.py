"""Collect what a report shows from trials, their space and their model, wherever these are kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibo.data import Array, Dataset, Params
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.optimize.explaining import Explanation
from calibo.optimize.optimum import importance, optimum
from calibo.optimize.slices import Slice, plane_at, slices_at
from calibo.optimize.stopping import Progress
from calibo.search import Plan
from calibo.spaces import Space
from calibo.trials import Direction, State, Trial, completed, constraint_names, predict

if TYPE_CHECKING:
    from calibo.report import ReportData
    from calibo.report.insight import Insight, Map

#: Points at which the model's mean is computed for the line of expected bests; of more, these many are taken. With more
#: results, the optimum and the importance of parameters are left out.
MOST_EXPECTED = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class Reported:
    """What is reported on.

    Attributes:
        title: Title of the report.
        method: Name of the method.
        trials: All trials, finished ones in the order of their results; parameters are the space's columns.
        directions: One direction per objective.
        names: Names of the objectives; ``()`` if they have none.
        reference: Reference point for the hypervolume; ``None`` if not given.
        makes_forecasts: Whether the method makes forecasts at all.
        model: What is fitted to the trials; ``None`` without results, a known space, or a method with models.
    """

    title: str
    method: str
    trials: tuple[Trial, ...]
    directions: tuple[Direction, ...]
    names: tuple[str, ...]
    reference: tuple[float, ...] | None
    makes_forecasts: bool
    model: Modelled | None


@dataclass(frozen=True, eq=False)
class Modelled:
    """What is fitted to trials.

    Attributes:
        space: The space.
        plan: The plan after all trials, with its models.
        data: All trials as strategies see them.
        progress: The trials as stopping rules see them.
        best: Returns the parameters of the best trial of an objective.
        explain: Returns why the point of a trial was suggested, by its number.
        encode: Returns the points of trials on the unit cube, `n x d`.
    """

    space: Space
    plan: Plan
    data: Dataset
    progress: Callable[[], Progress]
    best: Callable[[int], Params]
    explain: Callable[[int], Explanation]
    encode: Callable[[Sequence[Trial]], Array]


def written(of: Reported, path: str | os.PathLike[str]) -> Path:
    """Write a report, a single HTML file, and return its path."""
    from calibo.report import write_report

    return write_report(report_data(of), path)


def renumbered(trials: Sequence[Trial]) -> tuple[tuple[Trial, ...], dict[int, int]]:
    """Number trials in their order, as some have no number of their own.

    Returns:
        The trials, and the number that each of those with a number of its own had before, by the new one.
    """
    told = tuple(replace(trial, suggestion=replace(trial.suggestion, number=i)) for i, trial in enumerate(trials))
    return told, {i: trial.number for i, trial in enumerate(trials) if trial.number >= 0}


def report_data(of: Reported) -> ReportData:
    """Collect what a report shows: finished trials in the order in which their results arrived."""
    from calibo.report import ReportData

    finished = tuple(trial for trial in of.trials if trial.state in (State.COMPLETE, State.FAILED))
    single = len(of.directions) == 1 and not constraint_names(of.trials)
    model = of.model
    return ReportData(
        title=of.title,
        method=of.method,
        trials=finished,
        directions=of.directions,
        names=of.names,
        reference=of.reference,
        expected_best=None if model is None or not single else _expected_best(of, model, finished),
        slices=() if model is None else tuple(_slices(of, model, i) for i in range(len(of.directions))),
        makes_forecasts=of.makes_forecasts,
        pruned=sum(trial.state is State.PRUNED for trial in of.trials),
        running=sum(trial.state is State.RUNNING for trial in of.trials),
        insight=_insight(of, model) if model is not None and len(of.directions) == 1 else None,
    )


def _insight(of: Reported, model: Modelled) -> Insight | None:
    """Return what the model makes of the space; ``None`` if too little is known, or so much that it would take long."""
    from calibo.report.insight import Insight, Share

    if not 0 < len(completed(of.trials)) <= MOST_EXPECTED:
        return None
    try:
        progress = model.progress()
        shares = importance(progress)
    except (DataError, RecipeError, SpaceError):
        return None
    suggested = sorted(trial.number for trial in of.trials if trial.forecasts is not None)
    several = shares if len(shares) > 1 else ()
    return Insight(
        optimum=_where_the_optimum_lies(progress),
        importance=tuple(Share(one.name, one.share, one.low, one.high) for one in several),
        map=_map(of, model, [one.name for one in several]),
        why=tuple(model.explain(suggested[-1]).rows()) if suggested else (),
        trial=suggested[-1] if suggested else None,
    )


def _where_the_optimum_lies(progress: Progress) -> tuple[str, ...]:
    """Return sentences; none where there is no single best point, as with contexts."""
    try:
        return tuple(line.strip() for line in str(optimum(progress)).splitlines())
    except (DataError, RecipeError, SpaceError):
        return ()


def _map(of: Reported, model: Modelled, names: Sequence[str]) -> Map | None:
    """Return the map over the first two of these parameters that are numbers and active at the best point."""
    from calibo.report.insight import Map

    space = model.space
    if space.is_pool:
        return None
    best = model.best(0)
    try:
        active = space.active(space.encode([best]))[0]
    except SpaceError:
        # The best trial was told without all parameters, or in a range that has changed since.
        return None
    numbers = [
        name
        for name in names
        if not space.columns[column := space.names.index(name)].categories and active[column] and name in best
    ]
    if len(numbers) < 2:
        return None
    first, second = numbers[:2]
    plane = plane_at(model.plan, best, (first, second), space=space, direction=of.directions[0])
    both = [space.names.index(first), space.names.index(second)]
    points = np.vstack([space.encode([best])[:, both], model.data.X[:, both]]).tolist()
    return Map(plane, (points[0][0], points[0][1]), tuple((u, v) for u, v in points[1:]))


def _expected_best(of: Reported, model: Modelled, trials: Sequence[Trial]) -> tuple[float | None, ...] | None:
    """Return after each trial the best posterior mean, under the present model, among the points measured until then.

    Of more than ``MOST_EXPECTED`` points the best half by value and as many others, evenly spread, are taken; trials in
    between have none.
    """
    measured = _some_of([trial for trial in trials if trial.value is not None], of.directions[0].value)
    try:
        X = model.encode(measured)
    except SpaceError:
        # Trials from before a range was changed: the line is left out.
        return None
    direction = of.directions[0]
    mean = predict(model.plan.models[0], X, direction, latent=True).mean
    best = direction.value * np.maximum.accumulate(direction.value * mean)
    after = {trial.number: float(value) for trial, value in zip(measured, best, strict=True)}
    return tuple(after.get(trial.number) for trial in trials)


def _some_of(trials: Sequence[Trial], sign: float) -> list[Trial]:
    """Return all trials if they are few; else the best ones and others evenly spread, in their order."""
    from calibo.report.figure import evenly

    if len(trials) <= MOST_EXPECTED:
        return list(trials)
    values = np.array([trial.value for trial in trials], dtype=np.float64)
    best = np.argsort(-sign * values, kind="stable")[: MOST_EXPECTED // 2]
    rows = np.union1d(best, evenly(len(trials), MOST_EXPECTED // 2))
    return [trials[int(row)] for row in rows]


def _slices(of: Reported, model: Modelled, objective: int) -> tuple[Slice, ...]:
    """Predict an objective along each parameter through its best point."""
    space, direction = model.space, of.directions[objective]
    try:
        best = model.best(objective)
    except DataError:  # no feasible trial
        return ()
    names = () if space.is_pool else space.names
    try:
        return slices_at(model.plan, best, names, space=space, direction=direction, outcome=objective)
    except SpaceError:
        # The best trial was told without all parameters, or in a range that has changed since.
        return ()
