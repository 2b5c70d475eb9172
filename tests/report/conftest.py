"""Stories for the tests of the report: one from a real optimisation, others made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.optimize import Direction, Optimizer
from calibo.optimize.slices import slices_at
from calibo.problems import branin, with_noise
from calibo.report import Story, Tradeoff
from calibo.spaces import Categorical, Float, Int, ProductSpace


def optimised(
    space: Any,
    objective: Callable[[dict[str, Any]], float],
    trials: int,
    *,
    method: str = "ocbo",
    direction: str = "minimize",
    failing: tuple[int, ...] = (),
) -> Story:
    """A story told by an optimizer, as a study would tell it."""
    optimizer = Optimizer(space, method, direction=direction, seed=1)
    asked = []
    for number in range(trials):
        suggestion = optimizer.ask()
        value = None if number in failing else objective(dict(suggestion.params))
        optimizer.tell_failed(suggestion) if value is None else optimizer.tell(suggestion, value)
        forecasts = suggestion.forecasts
        expected = optimizer.best_expected[1] if number % 5 == 4 and number > 5 else None
        asked.append((number, dict(suggestion.params), value, forecasts[0] if forecasts else None, expected))
    assert isinstance(optimizer.space, ProductSpace)
    slices = slices_at(
        optimizer.data(),
        optimizer.best[0],
        optimizer.space.names,
        space=optimizer.space,
        strategy=optimizer.strategy,
        direction=optimizer.directions[0],
        rng=np.random.default_rng(0),
    )
    numbers, params, values, forecasts, expected = zip(*asked, strict=True)
    return Story(
        title="A real study",
        method=method,
        direction=optimizer.directions[0],
        numbers=numbers,
        params=params,
        values=values,
        forecasts=forecasts,
        expected_best=expected,
        slices=tuple(slices),
    )


@pytest.fixture(scope="session")
def real() -> Story:
    """Thirty trials of OCBO on a noisy Branin, of which two failed."""
    rng = np.random.default_rng(0)
    problem = with_noise(branin(), 3.0)
    return optimised(problem.problem.space(), lambda p: problem.objective(p, rng), 30, failing=(7, 19))


@pytest.fixture(scope="session")
def mixed() -> Story:
    """Fourteen trials on a log, an integer and a categorical parameter, maximised."""
    space = {"lr": Float(1e-5, 1.0, log=True), "layers": Int(1, 6), "act": Categorical(["relu", "tanh", "gelu"])}

    def objective(p: dict[str, Any]) -> float:
        return -((np.log10(p["lr"]) + 2.0) ** 2) - 0.1 * abs(p["layers"] - 3) - (p["act"] == "tanh")

    return optimised(space, objective, 14, direction="maximize")


@pytest.fixture(scope="session")
def uncalibrated() -> Story:
    """Ten trials of the reference method, which has no calibrator."""
    return optimised({"x": Float(0.0, 1.0)}, lambda p: (p["x"] - 0.3) ** 2, 10, method="gp_ei")


def told(
    values: list[float | None], *, distributions: list[Marginal | None] | None = None, params: Any = None, **more: Any
) -> Story:
    """A made-up story with the given values; every forecast is standard normal unless said otherwise."""
    n = len(values)
    believed: list[Marginal | None] = [Marginal(0.0, 1.0)] * n if distributions is None else distributions
    forecasts = tuple(
        None if distribution is None else Forecast((Marginal(distribution.mean, distribution.std / 2), distribution))
        for distribution in believed
    )
    return Story(
        **{
            "title": "Made up",
            "method": "ocbo",
            "direction": Direction.MINIMIZE,
            "numbers": tuple(range(n)),
            "params": params or tuple({"x": float(i)} for i in range(n)),
            "values": tuple(values),
            "forecasts": forecasts,
            **more,
        }
    )


@pytest.fixture
def tell() -> Callable[..., Story]:
    """The maker of made-up stories."""
    return told


def traded(
    objectives: list[list[float | None]],
    constraints: list[list[float | None]] | None = None,
    *,
    directions: tuple[Direction, ...] = (),
    names: tuple[str, ...] = (),
    limits: tuple[str, ...] = (),
    distributions: list[Marginal | None] | None = None,
    params: Any = None,
    **more: Any,
) -> Tradeoff:
    """A made-up trade-off with the given values, minimised unless said otherwise; forecasts are as of ``told``."""
    wanted = directions or (Direction.MINIMIZE,) * len(objectives)
    titles = names or tuple(f"objective {k}" for k in range(len(objectives)))
    held = limits or tuple(f"limit {k}" for k in range(len(constraints or ())))
    made = [
        told(values, distributions=distributions, params=params, title=title, direction=direction)
        for values, title, direction in zip(objectives, titles, wanted, strict=True)
    ]
    kept = [
        told(values, distributions=distributions, params=params, title=title)
        for values, title in zip(constraints or (), held, strict=True)
    ]
    given = {"title": "Made up", "method": "ocbo", **more}
    return Tradeoff(objectives=tuple(made), constraints=tuple(kept), **given)


@pytest.fixture
def trade() -> Callable[..., Tradeoff]:
    """The maker of made-up trade-offs."""
    return traded


@pytest.fixture(scope="session")
def simulated() -> Tradeoff:
    """Forty-five trials of three objectives and two constraints, of which two failed, with right forecasts."""
    rng = np.random.default_rng(2)
    x = rng.random((45, 3))
    outcomes = [x[:, 0] + 0.3 * x[:, 1], 5.0 - x[:, 0] - x[:, 2], x.sum(axis=1), x[:, 1] - 0.7, 0.3 - x[:, 2]]
    directions = [Direction.MINIMIZE, Direction.MAXIMIZE, Direction.MINIMIZE, Direction.MINIMIZE, Direction.MINIMIZE]
    stories: list[Story] = []
    for title, direction, values in zip(("loss", "speed", "cost", "memory", "heat"), directions, outcomes, strict=True):
        distributions: list[Marginal | None] = [Marginal(float(v + 0.2 * rng.standard_normal()), 0.2) for v in values]
        distributions[:4] = [None] * 4
        measured = [None if i in (7, 30) else float(v) for i, v in enumerate(values)]
        params = tuple({"a": float(r[0]), "b": float(r[1]), "kind": "xyz"[i % 3]} for i, r in enumerate(x))
        stories.append(told(measured, distributions=distributions, params=params, title=title, direction=direction))
    return Tradeoff(title="A trade-off", method="cbo", objectives=tuple(stories[:3]), constraints=tuple(stories[3:]))


def trace(figure: Any, name: str) -> Any:
    """The one visible trace whose name starts with ``name``."""
    found = [t for t in figure.data if (t.name or "").startswith(name) and t.visible is not False]
    assert len(found) == 1, f"{len(found)} visible traces named {name}: {[t.name for t in figure.data]}"
    return found[0]


@pytest.fixture
def trace_of() -> Callable[[Any, str], Any]:
    """The finder of traces by name."""
    return trace
