from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import norm

from calibo import methods
from calibo.acquisition import ScalarizedImprovement
from calibo.acquisition.scalarized import SampledScalarization
from calibo.calibration import ConformalBayes
from calibo.data import Array, Dataset
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Model
from calibo.optimize import choose
from calibo.pareto import pareto_mask
from calibo.scalarization import Tchebycheff
from calibo.spaces import Float, as_space

RNG = np.random.default_rng


def two_goals(n: int = 14, seed: int = 0, objectives: int = 2) -> Dataset:
    X = RNG(seed).random((n, 2))
    goals = [X[:, 0] - X[:, 1] ** 2, np.sin(5 * X[:, 1]) - X[:, 0], -np.abs(X[:, 0] - 0.5)]
    return Dataset(X=X, Y=np.column_stack(goals[:objectives]))


def fitted(data: Dataset, surrogate: GaussianProcess | ConformalBayes | None = None) -> tuple[Model, ...]:
    made = surrogate or GaussianProcess()
    return tuple(made.fit(data.outcome(i), rng=RNG(0)) for i in range(data.objectives))


def built(rule: ScalarizedImprovement, data: Dataset, seed: int = 1) -> SampledScalarization:
    acquisition = rule.build(fitted(data), data, rng=RNG(seed))
    assert isinstance(acquisition, SampledScalarization)
    return acquisition


@dataclass(frozen=True)
class Quadrature:
    """The expected improvement of max_j w_j g_j under independent normal values, as an integral over its level."""

    acquisition: SampledScalarization

    def __call__(self, x: Array) -> float:
        function = self.acquisition.function(0)
        best = float(function(self.acquisition.expected).max())
        predicted = [model.predict(x[None], latent=True) for model in self.acquisition.models]
        mean, std = (np.array([float(getattr(one, what)[0]) for one in predicted]) for what in ("mean", "std"))
        # -max_j w_j g_j exceeds t exactly where every objective exceeds best_j + t extent_j / w_j.
        levels = np.linspace(best, best + 4.0, 20_001)
        needed = 2.0 * (function.half_best + levels[:, None] * function.half_extent / function.weights)
        return float(np.trapezoid(norm.sf((needed - mean) / std).prod(axis=1), levels))


@pytest.mark.parametrize("objectives", [2, 3])
def test_draws_agree_with_an_integral(objectives: int) -> None:
    rule = ScalarizedImprovement(scalarization=Tchebycheff(0.0), draws=8192, smoothing=1e-6)
    acquisition = built(rule, two_goals(8, objectives=objectives))
    X = RNG(3).random((300, 2))
    exact = np.array([Quadrature(acquisition)(x) for x in X])
    high = exact > 0.02 * exact.max()
    assert high.sum() >= 5
    np.testing.assert_allclose(np.exp(acquisition(X[high])), exact[high], rtol=0.15)


def test_the_sum_counts_as_its_weight_says() -> None:
    """By draws of our own: at most 5 standard errors apart."""
    data, x = two_goals(), np.array([[0.4, 0.3]])
    rule = ScalarizedImprovement(scalarization=Tchebycheff(0.5), draws=8192, smoothing=1e-6)
    acquisition = built(rule, data)
    weights = acquisition.function(0).weights
    best, worst = (getattr(acquisition.expected[pareto_mask(acquisition.expected)], m)(axis=0) for m in ("max", "min"))

    def scalar(Y: Array) -> Array:
        g = weights * (best - Y) / (best - worst)
        return -(g.max(axis=1) + 0.5 * g.sum(axis=1))

    predicted = [model.predict(x, latent=True) for model in acquisition.models]
    drawn = np.stack([RNG(9 + j).normal(one.mean, one.std, 200_000) for j, one in enumerate(predicted)], axis=1)
    gains = np.maximum(scalar(drawn) - scalar(acquisition.expected).max(), 0.0)
    error = float(gains.std() * np.sqrt(1 / 200_000 + 1 / 8192))
    assert abs(float(np.exp(acquisition(x)[0])) - gains.mean()) < 5.0 * error


def test_every_suggestion_and_every_place_has_its_own_weights() -> None:
    data = two_goals()
    weights = [
        built(ScalarizedImprovement(), data, seed).function(place).weights for seed in (1, 2) for place in (0, 1)
    ]
    assert len({tuple(one) for one in weights}) == 4
    assert all(one.sum() == pytest.approx(1.0) for one in weights)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)), axis=-1).reshape(-1, 2)
    chosen = {int(np.argmax(built(ScalarizedImprovement(), data, seed)(grid))) for seed in range(12)}
    assert len(chosen) > 4


def test_a_batch_improves_on_the_points_before_the_last() -> None:
    acquisition = built(ScalarizedImprovement(), two_goals())
    X = RNG(4).random((200, 2))
    poor = X[int(np.argmin(acquisition(X)))]
    beside_poor = np.stack([np.broadcast_to(poor, X.shape), X], axis=1)
    best = X[int(np.argmax(acquisition(beside_poor)))]
    assert acquisition(np.array([[best, best]]))[0] < acquisition(beside_poor).max() - 1.0
    different = np.stack([X[6:12], X[:6]], axis=1)
    one_by_one = np.concatenate([acquisition(row[None]) for row in different])
    np.testing.assert_allclose(acquisition(different), one_by_one, rtol=1e-10)


def test_pending_points_count_as_reached() -> None:
    data, X = two_goals(), RNG(4).random((50, 2))
    free = built(ScalarizedImprovement(), data)(X)
    best = X[[int(np.argmax(free))]]
    awaited = built(ScalarizedImprovement(), replace(data, X_pending=best))
    assert awaited(best)[0] < free.max() - 1.0 and awaited(X[:0]).shape == (0,)


def test_the_noisy_version_gains_nothing_where_it_has_measured() -> None:
    data = two_goals(20)
    noisy = replace(data, Y=data.Y + 0.3 * RNG(5).standard_normal(data.Y.shape))
    plain, drawn = built(ScalarizedImprovement(), noisy), built(ScalarizedImprovement(noisy=True), noisy)
    places = drawn.fixed
    assert 0 < len(places) <= 16
    # Drawn jointly a point does not beat itself: no more is left than the smoothing of a gain of 0.
    nothing = np.log(1e-3 * np.log(2.0))
    assert (drawn(places) <= nothing + 1e-6).all() and plain(places).max() > nothing + 1.0


def test_conformal_sets_change_the_values_and_a_search_runs() -> None:
    data = two_goals()
    X = RNG(3).random((30, 2))
    rule = ScalarizedImprovement()
    conformal = rule.build(fitted(data, ConformalBayes(GaussianProcess(), 0.2, "in_sample")), data, rng=RNG(1))(X)
    assert np.isfinite(conformal).all() and not np.allclose(conformal, built(rule, data)(X))
    space = as_space({"a": Float(0, 1), "b": Float(0, 1)})
    for strategy in (methods.cbo(tradeoff=rule), methods.gp_ei(tradeoff=ScalarizedImprovement(noisy=True))):
        chosen = choose(data, source=space, strategy=strategy, q=2, rng=RNG(0))
        assert chosen.X.shape == (2, 2) and not np.allclose(chosen.X[0], chosen.X[1])


def test_wrong_settings_are_refused() -> None:
    for settings, word in (
        ({"draws": 1}, "draws"),
        ({"contenders": 0}, "contenders"),
        ({"smoothing": 0.0}, "smoothing"),
        ({"scalarization": 0.05}, "scalarization"),
    ):
        with pytest.raises(RecipeError, match=word):
            ScalarizedImprovement(**settings)  # type: ignore[arg-type]
