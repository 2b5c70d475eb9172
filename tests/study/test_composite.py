"""Composite objectives in studies: vectors stored with their trials, resumed runs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import torch

from calibo import Float, Optimizer, maximize, minimize
from calibo.data import Outcome
from calibo.errors import CaliboWarning, FallbackWarning, ObjectiveError, RecipeError, StudyError, TrialFailedWarning
from calibo.methods import composite_lfbo
from calibo.optimize.likelihood_free import CompositeLikelihoodFree
from calibo.study import CalibratedSampler, load_result, write_vector

pytestmark = pytest.mark.extras

SPACE = {"x": Float(0, 1), "y": Float(0, 1)}
TARGET = torch.tensor([0.3, 0.7, 0.1], dtype=torch.float64)


def loss(h: Any) -> Any:
    return ((h - TARGET) ** 2).sum(-1)


def vector(params: Any) -> list[float]:
    x, y = params["x"], params["y"]
    return [x**2 + 0.1 * y, y + 0.3 * x, x * y / 3]


def value(h: Any) -> float:
    return loss(torch.tensor([h], dtype=torch.float64)).item()


def run(n: int, objective: Any = vector, **settings: Any) -> Any:
    return minimize(objective, SPACE, n, **({"composite": loss, "seed": 4, "progress": False} | settings))


def params_of(result: Any) -> list[dict[str, Any]]:
    return [dict(entry.params) for entry in result.trials]


@pytest.fixture(scope="module")
def result() -> Any:
    return run(8)


def test_values_are_those_of_the_function_and_vectors_are_stored_exactly(result: Any) -> None:
    assert result.method == "composite_lfbo"
    for entry in result.trials:
        assert entry.vector == tuple(vector(entry.params))
        assert entry.value == value(entry.vector)
        assert entry.forecasts is None
    assert result.best_value == min(entry.value for entry in result.trials)
    assert result.study.best_value == result.best_value
    np.testing.assert_array_equal(result.data().H, [entry.vector for entry in result.trials])
    assert isinstance(result.strategy, CompositeLikelihoodFree) and result.strategy.outer is not None


def test_all_ways_to_run_it_suggest_the_same(result: Any) -> None:
    optimizer, asked = Optimizer(SPACE, composite=loss, seed=4), []
    for _ in range(8):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, vector(suggestion.params))
        asked.append(dict(suggestion.params))
    largest = maximize(vector, SPACE, 8, composite=lambda h: -loss(h), seed=4, progress=False)
    own = run(8, composite=None, method=composite_lfbo(outer=lambda h: -loss(h)))
    assert params_of(result) == asked == params_of(largest) == params_of(own)
    assert result.best_value == -largest.best_value == own.best_value


def test_the_sampler_by_itself(result: Any) -> None:
    """An objective of Optuna's own kind stores its vectors itself."""

    def objective(trial: optuna.Trial) -> float:
        h = vector({name: trial.suggest_float(name, 0, 1) for name in SPACE})
        write_vector(trial, h)
        return value(h)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=CalibratedSampler(seed=4, space=SPACE, composite=loss))
    study.optimize(objective, n_trials=8)
    assert [trial.params for trial in study.trials] == params_of(result)
    plain = optuna.create_study(sampler=CalibratedSampler("composite_lfbo", seed=4, space=SPACE))
    with pytest.raises(RecipeError, match="needs the known function"):
        plain.optimize(objective, n_trials=1)


def test_a_resumed_study_suggests_the_same(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    for n in (3, 4, 2):
        part = run(n, storage=path, study_name="s", seed=4 if n == 3 else None)
    assert params_of(part) == params_of(run(9))
    read = load_result(path, "s")
    assert [entry.vector for entry in read.trials] == [entry.vector for entry in part.trials]
    assert read.method == "composite_lfbo" and read.best_value == part.best_value
    assert read.report(tmp_path / "report.html").exists() and part.report(tmp_path / "again.html").exists()


def test_another_function_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    run(3, storage=path, study_name="s")
    with pytest.raises(StudyError, match="made with another composite function: for the vector of trial 0"):
        run(1, storage=path, study_name="s", composite=lambda h: 2 * loss(h))
    assert len(load_result(path, "s").trials) == 3
    assert len(run(1, storage=path, study_name="s").trials) == 4


def test_a_plain_study_goes_on_as_a_composite_one(tmp_path: Path) -> None:
    """Its values count, though they have no vectors; and back again."""
    path = tmp_path / "study.db"
    plain = {"method": "gp_ei", "composite": None, "storage": path, "study_name": "s"}
    run(4, lambda p: value(vector(p)), **plain)
    with (
        pytest.warns(CaliboWarning, match="goes on with composite_lfbo"),
        pytest.warns(FallbackWarning, match="none of the 4 observations"),
    ):
        result = run(4, storage=path, study_name="s")
    assert [bool(entry.vector) for entry in result.trials] == [False] * 4 + [True] * 4
    assert np.isnan(result.data().H[:4]).all() and np.isfinite(result.data().H[4:]).all()
    with pytest.warns(CaliboWarning, match="goes on with gp_ei"):
        again = run(2, lambda p: value(vector(p)), **plain)
    assert len(again.trials) == 10


def test_bad_vectors_fail_their_trials_by_name() -> None:
    def sometimes(params: Any) -> Any:
        sometimes.calls += 1  # type: ignore[attr-defined]
        wrong = {3: [1.0, 2.0], 5: [1.0, float("nan"), 2.0], 6: 1.0, 7: Outcome((1.0,))}
        return wrong.get(sometimes.calls, vector(params))  # type: ignore[attr-defined]

    sometimes.calls = 0  # type: ignore[attr-defined]
    with pytest.warns(TrialFailedWarning):
        result = run(9, sometimes)
    assert [entry.number for entry in result.failures] == [2, 4, 5, 6]
    named = ["as those before, got 2", "got nan at place 1", "got a float", "as those before, got 1"]
    assert all(text in entry.error for text, entry in zip(named, result.failures, strict=True))
    assert len(result.data()) == 5 and len(result.data().X_failed) == 4


def test_a_broken_function_ends_the_run() -> None:
    with pytest.warns(TrialFailedWarning), pytest.raises(ObjectiveError, match="composite function failed"):
        run(9, composite=lambda h: h @ torch.zeros(7, 7, dtype=torch.float64))


def test_recipes_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with pytest.raises(RecipeError, match=r"gp_ei does not take composite=.*composite_lfbo does"):
        run(3, method="gp_ei", storage=path)
    with pytest.raises(RecipeError, match="needs the known function"):
        run(3, composite=None, method="composite_lfbo", storage=path)
    with pytest.raises(RecipeError, match="2 directions"):
        run(3, directions=["minimize", "minimize"], storage=path)
    assert not path.exists()
