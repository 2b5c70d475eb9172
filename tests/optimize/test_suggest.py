"""Suggestions: pure, seeded, first those of the initial design, then the strategy's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement
from calibo.calibration import Calibrated, ConformalBayes, DensityRatio, Temperature
from calibo.calibration.conformal_bayes import ShiftedModel
from calibo.calibration.density_ratio import Ratio, RatioEstimator, Unshifted
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.methods import cbo, gp_ei, ocbo
from calibo.models import GaussianProcess
from calibo.optimize import ModelBased, Plan, SpaceSource, Strategy, choose, generator, propose, suggest
from calibo.optimize.design import initial_size
from calibo.optimize.replicated import Replicated
from calibo.optimize.turbo import TuRBO
from calibo.search import EpsilonGreedy, Langevin, MultiStart, Search
from calibo.spaces import Categorical, Float, Int, ProductSpace, Space

SPACE = ProductSpace({"x": Float(-5, 5), "n": Int(1, 9), "c": Categorical(["a", "b"])})
RNG = np.random.default_rng


def data(n: int, **options: object) -> Dataset:
    X = SPACE.sample(n, RNG(0))
    return Dataset(X=X, Y=-np.square(X - 0.4).sum(axis=1)[:, None], categories=SPACE.categories, **options)  # type: ignore[arg-type]


def test_suggest_is_pure_and_a_suggestion_complete() -> None:
    known = data(9)
    before = known.X.copy(), known.Y.copy()
    one, other = (suggest(known, source=SPACE, strategy=ocbo(), q=2, rng=RNG(1)) for _ in range(2))
    assert [s.params for s in one] == [s.params for s in other]
    np.testing.assert_array_equal(known.X, before[0])
    np.testing.assert_array_equal(known.Y, before[1])
    np.testing.assert_allclose(SPACE.encode([one[0].params])[0], one[0].x, atol=1e-12)
    # Five of the Gaussian process, whether outcomes were transformed, and when that was chosen.
    assert one[0].forecasts is not None and len(one[0].hyperparameters[0]) == 8
    fitted_at, shape, chosen_at = one[0].hyperparameters[0][5:]
    assert shape in (0.0, 1.0) and fitted_at == chosen_at == 9.0


@pytest.mark.parametrize("known", [0, 1, 3, 5])
def test_the_design_comes_first(known: int) -> None:
    size = initial_size(3)
    found = propose(data(known), space=SPACE, strategy=gp_ei(), seed=0, number=known, q=size + 2)
    assert [s.number for s in found] == list(range(known, known + size + 2))
    assert len({tuple(s.x) for s in found}) == size + 2
    with_forecast = [s.forecasts is not None for s in found]
    # Forecasts begin as soon as there are three outcomes to learn from, or with the model's own suggestions.
    assert all(with_forecast) if known >= 3 else not any(with_forecast[: size - known])


def test_the_design_goes_on_until_there_is_an_outcome_and_failures_count_as_tried() -> None:
    busy = replace(data(0), X_pending=SPACE.sample(30, RNG(1)))
    found = propose(busy, space=SPACE, strategy=gp_ei(), seed=0, number=30, q=3)
    assert len(found) == 3 and all(s.forecasts is None for s in found)
    failed = replace(data(1), X_failed=SPACE.sample(5, RNG(1)))
    assert propose(failed, space=SPACE, strategy=gp_ei(), seed=0, number=6)[0].forecasts is not None


def test_randomness_comes_from_the_seed_and_the_number_alone() -> None:
    known = data(9)
    params = lambda seed, number: propose(known, space=SPACE, strategy=gp_ei(), seed=seed, number=number)[0].params
    assert params(0, 9) == params(0, 9)
    draws = [generator(s, n).random() for s in (0, 1) for n in (0, 1)]
    assert len(set(draws)) == 4 and generator(0, 1).random() == draws[1]


@dataclass(frozen=True)
class Fleeing:
    """An acquisition function without a model: the distance from where the search has gone."""

    seen: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.linalg.norm(X - self.seen.mean(axis=0), axis=-1)


@dataclass(frozen=True)
class Flight(Strategy):
    """A strategy without models whose acquisition function may learn."""

    learns: bool = True

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        learn = lambda plan, proposals, rng: replace(plan, acquisition=Fleeing(proposals))
        return Plan(Fleeing(np.zeros((1, 3))), anchors=data.X[:2], avoid=data.X, learn=learn if self.learns else None)

    def searcher(self, space: Space) -> Search:
        return Langevin()


def test_an_exploration_comes_before_the_search() -> None:
    """Towards (1, 1, 1) by itself; once its own way there is known, away from it."""
    values = {}
    source = SpaceSource(SPACE, Langevin(temperature=0.01))
    for learns in (True, False):
        (found,) = suggest(data(9), source=source, strategy=Flight(learns), q=1, rng=RNG(1))
        values[learns] = found.x
        assert found.forecasts is None
    assert values[False].mean() > 0.8 > values[True].mean()
    with pytest.raises(RecipeError, match=r"use search=Langevin\(then=...\)"):
        suggest(data(9), source=SpaceSource(SPACE, MultiStart()), strategy=Flight(), q=1, rng=RNG(1))


def test_a_search_that_explores_changes_nothing_for_other_methods() -> None:
    one, other = (
        suggest(data(9), source=SpaceSource(SPACE, search), strategy=gp_ei(), q=2, rng=RNG(1))
        for search in (Langevin(), MultiStart())
    )
    assert [s.params for s in one] == [s.params for s in other]


@dataclass(frozen=True)
class CountedRatio(RatioEstimator):
    """A density ratio estimator that counts its fits."""

    fits: list[int] = field(default_factory=list)

    def fit(
        self, data: np.ndarray, proposals: np.ndarray, *, previous: Ratio | None, rng: np.random.Generator
    ) -> Ratio:
        self.fits.append(len(proposals))
        return DensityRatio().fit(data, proposals, previous=previous, rng=rng)


LEARNING = {
    "cbo": lambda ratio: cbo(ratio=ratio),
    "replicated": lambda ratio: Replicated(cbo(ratio=ratio), 2),
    "turbo": lambda ratio: TuRBO(
        ConformalBayes(GaussianProcess(), ratio=ratio), ExpectedImprovement(), search=Langevin(), n_initial=5
    ),
    "turbo, default search": lambda ratio: TuRBO(
        ConformalBayes(GaussianProcess(), ratio=ratio), ExpectedImprovement(), n_initial=5
    ),
    "default search": lambda ratio: ModelBased(ConformalBayes(GaussianProcess(), ratio=ratio), ExpectedImprovement()),
    "epsilon": lambda ratio: cbo(ratio=ratio, search=EpsilonGreedy(Langevin())),
    "calibrated": lambda ratio: ModelBased(
        Calibrated(ConformalBayes(GaussianProcess(), ratio=ratio), by=Temperature()),
        ExpectedImprovement(),
        search=Langevin(),
    ),
}


@pytest.mark.filterwarnings("ignore::calibo.errors.FallbackWarning")
@pytest.mark.parametrize("name", LEARNING)
def test_every_composition_learns_its_density_ratio(name: str) -> None:
    ratio = CountedRatio()
    strategy = LEARNING[name](ratio)
    found = choose(data(9), source=SPACE, strategy=strategy, q=1, rng=RNG(0))
    assert len(ratio.fits) == 3
    # The plan that chose the point has the model that learned, and its out-of-distribution weight.
    conformal = found.plan.models[0].stages[1]
    assert isinstance(conformal, ShiftedModel) and not isinstance(conformal.ratio, Unshifted)
    inside = found.plan.models[0].in_distribution(SPACE.sample(200, RNG(1)))
    assert inside.min() < 0.9 or inside.max() - inside.min() > 0.0


def test_a_batch_of_the_design_does_not_repeat_itself() -> None:
    space = ProductSpace({"i": Int(0, 4)})
    empty = Dataset(X=np.empty((0, 1)), Y=np.empty((0, 1)), categories=space.categories)
    batch = propose(empty, space=space, strategy=gp_ei(), seed=0, number=0, q=5)
    assert sorted(s.params["i"] for s in batch) == [0, 1, 2, 3, 4]


def test_a_choice_beside_another_workers_point_is_another_one() -> None:
    data = Dataset(X=RNG(0).random((8, 1)), Y=RNG(1).standard_normal((8, 1)))
    space = ProductSpace({"x": Float(0.0, 1.0)})
    found = propose(data, space=space, strategy=gp_ei(), seed=0, number=8)
    other = found.beside(found.suggestions[0].x[None, :])
    assert other is not None
    assert other.number == 8
    assert abs(other.x - found.suggestions[0].x).max() > 1e-3


def test_a_point_that_is_due_again_is_not_served_to_two_workers() -> None:
    data = Dataset(X=np.array([[0.2], [0.2], [0.7]]), Y=np.array([[0.0], [0.1], [1.0]]))
    space, strategy = ProductSpace({"x": Float(0.0, 1.0)}), Replicated(gp_ei(replicate=True), times=2)
    found = propose(data, space=space, strategy=strategy, seed=0, number=3, n_initial=1)
    assert found.suggestions[0].x == pytest.approx([0.7])
    assert found.beside(found.suggestions[0].x[None, :]) is None
