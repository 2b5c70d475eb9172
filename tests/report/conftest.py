"""Report data for the tests: from real optimizations, and made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.optimize import Optimizer, fitted_plan
from calibo.optimize.slices import slices_at
from calibo.problems import branin, with_noise
from calibo.report import OutcomeData, ReportData
from calibo.spaces import Categorical, Float, Int
from calibo.trials import Direction


def optimized(
    space: Any,
    objective: Callable[[dict[str, Any]], float],
    trials: int,
    *,
    method: str = "ocbo",
    direction: str = "minimize",
    failing: tuple[int, ...] = (),
) -> OutcomeData:
    """The outcome of a real optimization."""
    optimizer = Optimizer(space, method, direction=direction, seed=1)
    asked = []
    for number in range(trials):
        suggestion = optimizer.ask()
        value = None if number in failing else objective(dict(suggestion.params))
        optimizer.tell_failed(suggestion) if value is None else optimizer.tell(suggestion, value)
        forecasts = suggestion.forecasts
        expected = optimizer.best_expected[1] if number % 5 == 4 and number > 5 else None
        asked.append((number, dict(suggestion.params), value, forecasts[0] if forecasts else None, expected))
    slices = slices_at(
        fitted_plan(optimizer.data(), optimizer.strategy, rng=np.random.default_rng(0)),
        optimizer.best[0],
        optimizer.space.names,
        space=optimizer.space,
        direction=optimizer.directions[0],
    )
    numbers, params, values, forecasts, expected = zip(*asked, strict=True)
    return OutcomeData(
        name="value",
        direction=optimizer.directions[0],
        numbers=numbers,
        params=params,
        values=values,
        forecasts=forecasts,
        expected_best=expected,
        slices=tuple(slices),
    )


@pytest.fixture(scope="session")
def real() -> OutcomeData:
    """Thirty trials of OCBO on a noisy Branin, of which two failed."""
    rng = np.random.default_rng(0)
    problem = with_noise(branin(), 3.0)
    return optimized(problem.problem.space(), lambda p: problem.objective(p, rng), 30, failing=(7, 19))


@pytest.fixture(scope="session")
def mixed() -> OutcomeData:
    """Fourteen trials on a log, an integer and a categorical parameter, maximized."""
    space = {"lr": Float(1e-5, 1.0, log=True), "layers": Int(1, 6), "act": Categorical(["relu", "tanh", "gelu"])}

    def objective(p: dict[str, Any]) -> float:
        return -((np.log10(p["lr"]) + 2.0) ** 2) - 0.1 * abs(p["layers"] - 3) - (p["act"] == "tanh")

    return optimized(space, objective, 14, direction="maximize")


@pytest.fixture(scope="session")
def uncalibrated() -> OutcomeData:
    """Ten trials of the reference method, which has no calibrator."""
    return optimized({"x": Float(0.0, 1.0)}, lambda p: (p["x"] - 0.3) ** 2, 10, method="gp_ei")


def outcome_data(
    values: list[float | None], *, distributions: list[Marginal | None] | None = None, params: Any = None, **more: Any
) -> OutcomeData:
    """Made-up data with the given values; every forecast is standard normal unless given."""
    n = len(values)
    calibrated: list[Marginal | None] = [Marginal(0.0, 1.0)] * n if distributions is None else distributions
    forecasts = tuple(None if one is None else Forecast((Marginal(one.mean, one.std / 2), one)) for one in calibrated)
    return OutcomeData(
        **{
            "name": "value",
            "direction": Direction.MINIMIZE,
            "numbers": tuple(range(n)),
            "params": params or tuple({"x": float(i)} for i in range(n)),
            "values": tuple(values),
            "forecasts": forecasts,
            **more,
        }
    )


def report_data(
    objectives: list[list[float | None]],
    constraints: list[list[float | None]] | None = None,
    *,
    directions: tuple[Direction, ...] = (),
    names: tuple[str, ...] = (),
    limits: tuple[str, ...] = (),
    title: str = "Made up",
    method: str = "ocbo",
    reference: tuple[float, ...] | None = None,
    **more: Any,
) -> ReportData:
    """Made-up data of several outcomes, minimized unless given; further arguments are those of `outcome_data`."""
    names = names or tuple(f"objective {k}" for k in range(len(objectives)))
    limits = limits or tuple(f"limit {k}" for k in range(len(constraints or ())))
    given = zip(objectives, names, directions or (Direction.MINIMIZE,) * len(objectives), strict=True)
    return ReportData(
        title=title,
        method=method,
        objectives=tuple(outcome_data(v, name=name, direction=direction, **more) for v, name, direction in given),
        constraints=tuple(outcome_data(v, name=n, **more) for v, n in zip(constraints or (), limits, strict=True)),
        reference=reference,
    )


@pytest.fixture
def outcome() -> Callable[..., OutcomeData]:
    """Maker of one made-up outcome."""
    return outcome_data


@pytest.fixture
def report() -> Callable[..., ReportData]:
    """Maker of made-up report data."""
    return report_data


@pytest.fixture(scope="session")
def simulated() -> ReportData:
    """Forty-five trials of three objectives and two constraints, of which two failed, with calibrated forecasts."""
    rng = np.random.default_rng(2)
    x = rng.random((45, 3))
    columns = [x[:, 0] + 0.3 * x[:, 1], 5.0 - x[:, 0] - x[:, 2], x.sum(axis=1), x[:, 1] - 0.7, 0.3 - x[:, 2]]
    directions = [Direction.MINIMIZE, Direction.MAXIMIZE, Direction.MINIMIZE, Direction.MINIMIZE, Direction.MINIMIZE]
    params = tuple({"a": float(r[0]), "b": float(r[1]), "kind": "xyz"[i % 3]} for i, r in enumerate(x))
    outcomes: list[OutcomeData] = []
    for name, direction, values in zip(("loss", "speed", "cost", "memory", "heat"), directions, columns, strict=True):
        distributions: list[Marginal | None] = [Marginal(float(v + 0.2 * rng.standard_normal()), 0.2) for v in values]
        distributions[:4] = [None] * 4
        measured = [None if i in (7, 30) else float(v) for i, v in enumerate(values)]
        outcomes.append(
            outcome_data(measured, distributions=distributions, params=params, name=name, direction=direction)
        )
    return ReportData(
        title="A trade-off", method="cbo", objectives=tuple(outcomes[:3]), constraints=tuple(outcomes[3:])
    )


@pytest.fixture
def trace_of() -> Callable[[Any, str], Any]:
    """Finder of the one visible trace whose name starts with a text."""

    def find(figure: Any, name: str) -> Any:
        found = [t for t in figure.data if (t.name or "").startswith(name) and t.visible is not False]
        assert len(found) == 1, f"{len(found)} visible traces named {name}: {[t.name for t in figure.data]}"
        return found[0]

    return find
