"""Synthetic problems: reference values, known optima, and look-up by name."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from calibo.errors import RecipeError
from calibo.problems import problem
from calibo.problems import synthetic as module

FIXED = (
    *("forrester", "branin", "six_hump_camel", "beale", "mccormick", "cosines", "cross_in_tray", "drop_wave"),
    *("hartmann3", "hartmann6"),
)
FAMILIES = ("levy1", "levy20", "ackley2", "ackley20", "rastrigin4", "alpine1_10", "powers2", "powers7", "rosenbrock3")
NAMES = FIXED + FAMILIES


@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_is_attained_where_it_is_said_to_be(name: str) -> None:
    p = problem(name)
    low, high = p.bounds.T
    X = np.array(p.optimizers)
    assert X.shape[1] == p.dimension
    assert np.all((low <= X) & (high >= X))
    np.testing.assert_allclose(p(X), p.optimum, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_better_than_the_optimum(name: str) -> None:
    p = problem(name)
    rng = np.random.default_rng(0)
    U = rng.uniform(size=(2000, p.dimension))
    near = np.array(p.optimizers)[:1] + 1e-4 * rng.normal(size=(500, p.dimension))
    X = np.concatenate([p.from_unit(U), np.clip(near, *p.bounds.T)])
    assert p(X).min() >= p.optimum - 1e-12


@pytest.mark.parametrize("name", FIXED)
def test_a_local_search_from_the_best_of_many_finds_the_optimum(name: str) -> None:
    p = problem(name)
    X = p.from_unit(np.random.default_rng(1).uniform(size=(100_000, p.dimension)))
    starts = X[np.argsort(p(X))[:5]]
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}
    ends = [
        minimize(lambda x: float(p(x[None])[0]), x, method="Nelder-Mead", bounds=p.bounds, options=options).fun
        for x in starts
    ]
    assert min(ends) == pytest.approx(p.optimum, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_points_are_evaluated_independently(name: str) -> None:
    p = problem(name)
    X = p.from_unit(np.random.default_rng(2).uniform(size=(7, p.dimension)))
    values = p(X)
    assert values.shape == (7,)
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, [p(x[None])[0] for x in X], rtol=1e-12, atol=1e-14)
    assert p(X[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("name", "x", "value"),
    [
        ("branin", [2.5, 7.5], 24.129964413622268),
        ("levy5", [0.0] * 5, 0.9883782164678979),
        ("six_hump_camel", [-1.5, -1.0], 3.6656249999999986),
        ("forrester", [0.0], 4 * np.sin(-4)),
        ("beale", [1.0, 1.0], 1.5**2 + 2.25**2 + 2.625**2),
        ("mccormick", [0.0, 0.0], 1.0),
        ("cosines", [1.0, 1.0], 2 * (1.1**2 - 0.3 * np.cos(3.3 * np.pi)) - 1),
        ("powers3", [0.5, -0.5, 0.5], 0.25 + 0.125 + 0.0625),
        ("cross_in_tray", [0.0, 3.0], -0.0001),
        ("rastrigin2", [0.5, 0.0], 20.25),
        ("rosenbrock2", [0.0, 1.0], 101.0),
        ("alpine1_2", [np.pi, -np.pi], 0.2 * np.pi),
        ("hartmann3", [0.5] * 3, -0.6280220150648268),
    ],
)
def test_values_known_beforehand(name: str, x: list[float], value: float) -> None:
    assert problem(name)([x])[0] == pytest.approx(value, abs=1e-10)


REFERENCES = {
    "branin": "branin",
    "levy5": "levy5",
    "levy20": "levy20",
    "ackley2": "ackley2",
    "ackley20": "ackley20",
    "hartmann3": "hartmann3",
    "hartmann6": "hartmann6",
    "sixhumpcamel": "six_hump_camel",
    "dropwave": "drop_wave",
}


@pytest.mark.parametrize("key", [key for key in REFERENCES if key != "hartmann6"])
def test_reference_file(key: str, golden: Callable[[str], Any]) -> None:
    case = golden("botorch_test_functions")["functions"][key]
    p = problem(key)
    assert p.name == REFERENCES[key]
    np.testing.assert_allclose(p(case["x"]), case["f"], atol=1e-10)
    np.testing.assert_allclose(p.bounds, case["bounds"], rtol=1e-7)
    np.testing.assert_allclose(p.from_unit(case["unit_x"]), case["x"], rtol=1e-7, atol=1e-12)
    assert p.optimum == pytest.approx(case["optimal_value"], abs=1e-4)


def test_reference_file_hartmann6_up_to_its_single_precision_constants(golden: Callable[[str], Any]) -> None:
    # The reference keeps the scales in float32; with ours rounded the same way the values agree to the last digits.
    case = golden("botorch_test_functions")["functions"]["hartmann6"]
    X, f = np.array(case["x"]), np.array(case["f"])
    np.testing.assert_allclose(problem("hartmann6")(X), f, atol=1e-9)
    rounded = module._HARTMANN6_SCALES.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(module._hartmann(X, rounded, module._HARTMANN6_CENTRES), f, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_names_lead_back_to_the_problem(name: str) -> None:
    assert problem(name).name == name
    assert problem(problem(name).name) == problem(name)
    assert problem(name.upper().replace("_", "-")) == problem(name)
    assert problem("cross in tray") == problem("CrossInTray") and problem("levy_20") == problem("levy20")


@pytest.mark.parametrize("name", ["levi13", "levy", "alpine10", "", "hartmann4", "levy2.5"])
def test_unknown_names_are_told_the_known_ones(name: str) -> None:
    with pytest.raises(RecipeError, match="unknown problem.*branin.*hartmann6.*levy5.*alpine1_5"):
        problem(name)


@pytest.mark.parametrize("name", ["levy0", "rosenbrock1"])
def test_dimensions_that_cannot_be(name: str) -> None:
    with pytest.raises(RecipeError, match="dimension of at least"):
        problem(name)


def test_a_problem_is_a_record_that_travels() -> None:
    p = problem("levy4")
    assert pickle.loads(pickle.dumps(p)) == p
    assert hash(p) == hash(problem("levy4"))
    assert p.direction == "minimize"
    assert p.noise_std == 0.0
