"""Architecture search through the optimizer: cells, batches, the thesis's compositions, features that reach the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import calibo
from calibo import Optimizer
from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, UpperBound, UpperQuantile
from calibo.calibration import Bootstrap, Conformal, KFold, QuantileShift, Split
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian
from calibo.methods import bananas, bananas_cp, conformal_trees, lfbo
from calibo.models import Model, NeuralEnsemble, Perceptron, QuantileForest, QuantileNetwork, QuantileTrees, Surrogate
from calibo.search import Dynamic, RandomCandidates
from calibo.spaces import CellSpace, GraphCellSpace

CELL = CellSpace()
QUICK = Perceptron(layers=2, width=8, epochs=5, fewest_steps=20)
ENSEMBLE, QUANTILES = NeuralEnsemble(3, QUICK), QuantileNetwork(network=QUICK)
#: The five configurations of Chen 2025.
CONFIGURATIONS = {
    "split ensemble": bananas_cp(surrogate=ENSEMBLE),
    "folds ensemble": bananas_cp(surrogate=ENSEMBLE, evidence=KFold(3)),
    "bootstrap ensemble": bananas_cp(surrogate=NeuralEnsemble(1, QUICK), evidence=Bootstrap(6)),
    "split quantiles": bananas_cp(surrogate=QUANTILES, by=Conformal(QuantileShift()), evidence=Split()),
    "folds quantiles": bananas_cp(surrogate=QUANTILES, by=Conformal(QuantileShift()), evidence=KFold(3)),
}


def accuracy(params: Mapping[str, Any]) -> float:
    """More convolutions are better, and one on the direct edge best of all."""
    return sum(op == "nor_conv_3x3" for op in params.values()) + 2.0 * (params["op3"] == "nor_conv_3x3")


def searched(method: Any, rounds: int = 4, q: int = 8, seed: int = 0) -> Optimizer:
    optimizer = Optimizer(CELL, method, direction="maximize", seed=seed)
    for _ in range(rounds):
        for suggestion in optimizer.ask(q):
            optimizer.tell(suggestion, accuracy(suggestion.params))
    return optimizer


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_five_configurations_search_and_forecast(name: str) -> None:
    optimizer = searched(CONFIGURATIONS[name])
    X = optimizer.data().X
    assert len(np.unique(X, axis=0)) == 32, "no cell is tried twice"
    forecasts = [f[0] for f in optimizer.data().forecasts if f is not None and f[0] is not None]
    assert len(forecasts) >= 20 and all(len(f.stages) == 2 and f.stage_names[-1] == "Conformal" for f in forecasts)
    assert optimizer.calibration().rows[0].of == len(forecasts)
    assert optimizer.best[1] > np.median(optimizer.data().Y)


@pytest.mark.parametrize(
    "options",
    [
        {"rule": rule}
        for rule in (UpperQuantile(0.75), UpperBound(0.5), ProbabilityOfImprovement(), ExpectedImprovement())
    ]
    + [{"search": search, "anchors": 10} for search in (RandomCandidates(50), Dynamic(budget=30, candidates=50))],
    ids=repr,
)
def test_every_acquisition_and_every_source_of_candidates_of_the_thesis(options: Any) -> None:
    assert searched(bananas_cp(surrogate=ENSEMBLE, **options), rounds=3, q=8).best[1] >= 3


def test_a_search_finds_what_chance_does_not() -> None:
    found = searched(bananas_cp(surrogate=ENSEMBLE), rounds=10, q=10).best[1]
    by_chance = [max(map(accuracy, CELL.decode(CELL.sample(100, np.random.default_rng(s))))) for s in range(20)]
    assert found > np.mean(by_chance) + 0.5


def test_the_same_seed_gives_the_same_cells() -> None:
    np.testing.assert_array_equal(*(searched(CONFIGURATIONS["folds ensemble"], rounds=3).data().X for _ in range(2)))


class Watching(Model, Surrogate):
    """A surrogate that remembers the features it was given."""

    def __init__(self) -> None:
        self.seen: list[Array] = []

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        assert data.features is not None
        self.seen.append(data.features(data.X))
        return self  # type: ignore[return-value]

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        return Gaussian(np.zeros(X.shape[:-1]), np.ones(X.shape[:-1]))


def test_models_see_the_paths_of_a_cell_by_ask_and_tell_and_in_a_study() -> None:
    watching = Watching()
    searched(bananas(surrogate=watching), rounds=3, q=6)
    result = calibo.maximize(accuracy, CELL, 14, method=bananas(surrogate=watching), seed=0, progress=False)
    assert all(features.shape[1] == 155 for features in watching.seen) and len(watching.seen[-1]) == 13
    assert CELL.valid(CELL.encode([result.best_params]))[0]


@pytest.mark.parametrize("method", ["gp_ei", "cqr", bananas(surrogate=ENSEMBLE)], ids=["gp_ei", "cqr", "bananas"])
def test_graphs_are_valid_whatever_the_method(method: Any) -> None:
    space = GraphCellSpace(5)
    optimizer = Optimizer(space, method, direction="maximize", seed=0)
    for _ in range(12):
        suggestion = optimizer.ask()
        value = sum(v for name, v in suggestion.params.items() if name.startswith("e"))
        optimizer.tell(suggestion, value + (suggestion.params["op2"] == "maxpool3x3"))
    assert space.valid(optimizer.data().X).all()


def test_forecasts_beside_a_method_that_has_none() -> None:
    """Conformalized trees make forecasts for what LFBO suggests, and change nothing of it."""
    trees = conformal_trees(surrogate=QuantileTrees(QuantileForest(10)))
    plain, beside = searched(lfbo(), 3, 6), searched(lfbo(forecaster=trees), 3, 6)
    np.testing.assert_array_equal(plain.data().X, beside.data().X)
    assert all(f is None for f in plain.data().forecasts)
    last = beside.data().forecasts[-1]
    assert last is not None and last[0] is not None and last[0].stage_names == ("QuantileTrees", "Conformal")
    half, most = beside.calibration().rows[:2]
    assert half.of >= 8 and half.of + half.unbounded == most.of + most.unbounded
