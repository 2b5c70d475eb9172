"""Report data for the tests: from real optimizations, and made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal, Suggestion
from calibo.optimize import Optimizer, fitted_plan
from calibo.optimize.slices import slices_at
from calibo.problems import problem, with_noise
from calibo.report import OutcomeData, ReportData
from calibo.spaces import Categorical, Float, Int
from calibo.trials import Direction, State, Trial


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
    expected: list[float | None] = []
    for number in range(trials):
        suggestion = optimizer.ask()
        if number in failing:
            optimizer.tell_failed(suggestion)
        else:
            optimizer.tell(suggestion, objective(dict(suggestion.params)))
        expected.append(optimizer.best_expected[1] if number % 5 == 4 and number > 5 else None)
    slices = slices_at(
        fitted_plan(optimizer.data(), optimizer.strategy, rng=np.random.default_rng(0)),
        optimizer.best[0],
        optimizer.space.names,
        space=optimizer.space,
        direction=optimizer.directions[0],
    )
    return OutcomeData(
        name="value",
        trials=tuple(sorted(optimizer.trials, key=lambda trial: trial.number)),
        directions=tuple(optimizer.directions),
        expected_best=tuple(expected),
        slices=tuple(slices),
    )


@pytest.fixture(scope="session")
def real() -> OutcomeData:
    """Thirty trials of OCBO on a noisy Branin, of which two failed."""
    rng = np.random.default_rng(0)
    noisy = with_noise(problem("branin"), 3.0)
    return optimized(noisy.problem.space(), lambda p: noisy.objective(p, rng), 30, failing=(7, 19))


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


def made_trials(
    objectives: list[list[float | None]],
    constraints: Mapping[str, Sequence[float | None]],
    distributions: list[Marginal | None] | list[list[Marginal | None]] | None,
    params: Any,
    numbers: Any,
) -> tuple[Trial, ...]:
    """Made-up trials; every forecast is standard normal unless given, for all outcomes or for each of them."""
    n, count = len(objectives[0]), len(objectives) + len(constraints)
    given: Any = [Marginal(0.0, 1.0)] * n if distributions is None else distributions
    columns = given if given and isinstance(given[0], list) else [given] * count
    trials: list[Trial] = []
    for i in range(n):
        marginals = [column[i] for column in columns]
        forecasts = tuple(Forecast((Marginal(one.mean, one.std / 2), one)) for one in marginals if one is not None)
        suggestion = Suggestion(
            params=params[i] if params else {"x": float(i)},
            forecasts=forecasts or None,
            number=numbers[i] if numbers else i,
            constraints=tuple(constraints),
        )
        values = [column[i] for column in objectives]
        limits = {name: column[i] for name, column in constraints.items() if column[i] is not None}
        if None in values:
            trials.append(Trial(suggestion, State.FAILED))
        else:
            trials.append(Trial(suggestion, State.COMPLETE, values=tuple(values), constraints=limits))  # pyright: ignore
    return tuple(trials)


def outcome_data(
    values: list[float | None],
    *,
    distributions: list[Marginal | None] | None = None,
    params: Any = None,
    numbers: Any = None,
    feasible: tuple[bool, ...] | None = None,
    direction: Direction = Direction.MINIMIZE,
    name: str = "value",
    **more: Any,
) -> OutcomeData:
    """Made-up data of one objective; `feasible`: which trials meet a constraint."""
    limits = {} if feasible is None else {"limit": [-1.0 if flag else 1.0 for flag in feasible]}
    trials = made_trials([values], limits, distributions, params, numbers)
    return OutcomeData(name=name, trials=trials, directions=(direction,), **more)


def report_data(
    objectives: list[list[float | None]],
    constraints: list[list[float | None]] | None = None,
    *,
    directions: tuple[Direction, ...] = (),
    limits: tuple[str, ...] = (),
    distributions: Any = None,
    params: Any = None,
    **more: Any,
) -> ReportData:
    """Made-up data of several outcomes, minimized unless given."""
    limits = limits or tuple(f"limit {k}" for k in range(len(constraints or ())))
    named = dict(zip(limits, constraints or (), strict=True))
    return ReportData(
        **{
            "title": "Made up",
            "method": "ocbo",
            "trials": made_trials(objectives, named, distributions, params, None),
            "directions": directions or (Direction.MINIMIZE,) * len(objectives),
            "names": tuple(f"objective {k}" for k in range(len(objectives))),
            **more,
        }
    )


@pytest.fixture
def outcome() -> Callable[..., OutcomeData]:
    """Return a function that makes up one outcome."""
    return outcome_data


@pytest.fixture
def report() -> Callable[..., ReportData]:
    """Return a function that makes up report data."""
    return report_data


@pytest.fixture(scope="session")
def simulated() -> ReportData:
    """Forty-five trials of three objectives and two constraints, of which two failed, with calibrated forecasts."""
    rng = np.random.default_rng(2)
    x = rng.random((45, 3))
    columns = [x[:, 0] + 0.3 * x[:, 1], 5.0 - x[:, 0] - x[:, 2], x.sum(axis=1), x[:, 1] - 0.7, 0.3 - x[:, 2]]
    distributions: list[list[Marginal | None]] = []
    for values in columns:
        distributions.append([Marginal(float(v + 0.2 * rng.standard_normal()), 0.2) for v in values])
        distributions[-1][:4] = [None] * 4
    measured = [[None if i in (7, 30) else float(v) for i, v in enumerate(values)] for values in columns]
    return report_data(
        measured[:3],
        [measured[4], measured[3]],
        distributions=[*distributions[:3], distributions[4], distributions[3]],
        directions=(Direction.MINIMIZE, Direction.MAXIMIZE, Direction.MINIMIZE),
        names=("loss", "speed", "cost"),
        limits=("heat", "memory"),
        params=tuple({"a": float(r[0]), "b": float(r[1]), "kind": "xyz"[i % 3]} for i, r in enumerate(x)),
        title="A trade-off",
        method="cbo",
    )


@pytest.fixture
def trace_of() -> Callable[[Any, str], Any]:
    """Return a function that finds the one visible trace whose name starts with a text."""

    def find(figure: Any, name: str) -> Any:
        found = [t for t in figure.data if (t.name or "").startswith(name) and t.visible is not False]
        assert len(found) == 1, f"{len(found)} visible traces named {name}: {[t.name for t in figure.data]}"
        return found[0]

    return find
