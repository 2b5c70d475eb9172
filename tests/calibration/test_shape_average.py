"""Averaged forecasts of several shapes of the outcomes: weights, what is passed on, what is stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo import Optimizer
from calibo.acquisition import ExpectedImprovement
from calibo.calibration import Calibrated, ConditionalQuantile, GroupedQuantile, ShapeAverage, StoredAndLeaveOneOut
from calibo.calibration.shape_average import ShapeAverageModel, _weights, joined, separated
from calibo.data import Array, Dataset
from calibo.distributions import QuantileAverage
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, QuantileTrees, Scheduled, Surrogate, Warped
from calibo.models.outcome_transforms import OutcomeShape
from calibo.models.warped import WarpedModel
from calibo.optimize import ModelBased
from calibo.optimize.strategy import fit_models
from calibo.spaces import Float
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng


def skewed(n: int = 30, seed: int = 0, power: float = 0.7) -> Dataset:
    """Outcomes over orders of magnitude, as of a loss."""
    X = RNG(seed).random((n, 2))
    return Dataset(X=X, Y=-np.exp(power * (np.sin(5.0 * X[:, :1]) + 2.0 * X[:, 1:])))


def fitted(data: Dataset, **settings: object) -> ShapeAverageModel:
    return ShapeAverage(Warped(GaussianProcess()), **settings).fit(data, rng=RNG(0))  # pyright: ignore[reportArgumentType]


class TestShapeAverage(SurrogateSuite):
    """With data of which one shape is left."""

    def test_one_is_left(self) -> None:
        assert fitted(self.data()).others == ()

    def surrogate(self) -> Surrogate:
        return ShapeAverage(Warped(GaussianProcess()))


class TestSkewedOutcomes(SurrogateSuite):
    """With data of which both shapes are averaged."""

    points = 30
    tolerance = 1e-3

    def surrogate(self) -> Surrogate:
        return ShapeAverage(Warped(GaussianProcess()))

    def data(self, n: int | None = None, d: int = 3, seed: int = 0) -> Dataset:
        plain = super().data(n, d, seed)
        return replace(plain, Y=-np.exp(1.5 * plain.Y))

    def test_both_are_averaged(self) -> None:
        assert isinstance(self._distribution(self.data(), self._targets(3)), QuantileAverage)


# --- what is averaged ------------------------------------------------------------------------------------------------------


def by_hand(data: Dataset, shape: OutcomeShape) -> WarpedModel:
    return Warped(GaussianProcess(), shapes=(shape,)).fit(data, rng=RNG(0))


def test_weights_are_those_of_both_scores_left_out() -> None:
    data = skewed()
    y, rows = data.Y[:, 0], np.arange(len(data))
    judged = {s: by_hand(data, s).judged(y, rows) for s in (OutcomeShape.IDENTITY, OutcomeShape.LOWER_TAIL)}
    weight = {shape: np.exp(score / len(y)) / loss**2 for shape, (score, loss) in judged.items()}
    model = fitted(data)
    chosen = OutcomeShape(int(model.base.base.hyperparameters[-2]))  # pyright: ignore[reportAttributeAccessIssue]
    assert model.weights[0] == pytest.approx(weight[chosen] / sum(weight.values()), rel=1e-9)


def test_quantiles_are_averages_of_those_of_the_calibrated_shapes() -> None:
    data, X = skewed(), RNG(5).random((4, 2))
    model = fitted(data)
    parts = [
        Calibrated(
            Warped(GaussianProcess(), shapes=(shape,)), by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut()
        )
        .fit(data, rng=RNG(0))
        .predict(X, latent=False)
        for shape in (OutcomeShape.IDENTITY, OutcomeShape.LOWER_TAIL)
    ]
    chosen = int(model.base.base.hyperparameters[-2])  # pyright: ignore[reportAttributeAccessIssue]
    first = model.weights[0] if chosen == OutcomeShape.IDENTITY.value else model.weights[1]
    for u in (0.05, 0.5, 0.8):
        expected = first * parts[0].icdf(u) + (1.0 - first) * parts[1].icdf(u)
        np.testing.assert_allclose(model.predict(X, latent=False).icdf(u), expected, rtol=1e-9)


def test_latent_values_are_those_of_the_chosen_shape() -> None:
    data, X = skewed(), RNG(5).random((4, 2))
    model = fitted(data)
    assert len(model.others) == 1
    np.testing.assert_array_equal(model.predict(X, latent=True).median, model.base.predict(X, latent=True).median)


def test_ordinary_outcomes_and_many_have_one_shape() -> None:
    X = np.linspace(0.0, 1.0, 30)[:, None]
    ordinary = Dataset(X=X, Y=np.sin(20.0 * X))
    assert OutcomeShape.LOWER_TAIL.transform(ordinary.Y[:, 0]) is None and fitted(ordinary).others == ()
    assert fitted(skewed(), up_to=29).others == () and fitted(skewed(), up_to=29).weights == (1.0,)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e30])
@pytest.mark.parametrize("seed", range(4))
def test_one_huge_outcome_does_not_stop_a_search(size: float, seed: int) -> None:
    """The shape that had been chosen before it may suit no longer, and then does not count."""
    optimizer = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, "auto", seed=seed)
    for i in range(31):
        suggestion = optimizer.ask()
        value = np.exp(0.7 * (np.sin(5.0 * suggestion.params["x"]) + 2.0 * suggestion.params["y"]))
        optimizer.tell(suggestion, size if i == 29 else float(value))
    shown = optimizer.predict([{"x": 0.2, "y": 0.3}, {"x": 0.9, "y": 0.9}])
    assert np.isfinite(shown[["mean", "measured_low_80", "measured_high_80"]].to_numpy()).all()


def test_a_model_that_predicts_nothing_left_out_has_no_weight() -> None:
    class Judged:
        def __init__(self, score: float, loss: float) -> None:
            self.judgement = score, loss

        def judged(self, y: Array, rows: Array) -> tuple[float, float]:
            return self.judgement

    def weights(*judgements: tuple[float, float]) -> list[float]:
        return _weights([Judged(*one) for one in judgements], np.zeros(10)).tolist()  # pyright: ignore[reportArgumentType]

    assert weights((0.0, 1.0), (0.0, 1.0)) == [0.5, 0.5]
    assert weights((0.0, 1.0), (np.nan, 1.0)) == weights((0.0, 1.0), (-np.inf, 1.0)) == [1.0, 0.0]
    assert weights((0.0, 1e30), (0.0, 1.0)) == [0.0, 1.0]
    assert weights((0.0, 0.0), (0.0, 0.0)) == [0.5, 0.5]
    # Each is hopeless by one of the two: the loss decides.
    assert weights((-1e9, 1e-200), (1e9, 1e200)) == [1.0, 0.0]


def test_outcomes_that_are_constant_but_one_are_forecast() -> None:
    Y = np.zeros((12, 1))
    Y[3] = -1e6
    shown = fitted(Dataset(X=RNG(0).random((12, 2)), Y=Y)).predict(RNG(1).random((3, 2)), latent=False)
    low, high = shown.interval(0.8)
    assert np.isfinite(low).all() and (low < high).all()


def test_fresh_points_of_a_converged_search_are_held_better() -> None:
    """A search near the optimum of a function over orders of magnitude: outcomes as they are say too much far away."""
    rng, inside = RNG(3), list[Array]()
    value = lambda X: -np.exp(9.0 * np.square(X - 0.6).sum(axis=1, keepdims=True))
    for _ in range(4):
        X = np.vstack([rng.random((6, 3)), 0.6 + 0.05 * rng.standard_normal((24, 3))])
        data, fresh = Dataset(X=X, Y=value(X)), rng.random((200, 3))
        plain = Calibrated(
            Warped(GaussianProcess(), shapes=(OutcomeShape.IDENTITY,)),
            by=ConditionalQuantile(),
            evidence=StoredAndLeaveOneOut(),
        )
        y = value(fresh)[:, 0]
        ends = [
            s.fit(data, rng=RNG(0)).predict(fresh, latent=False).interval(0.8)
            for s in (plain, ShapeAverage(Warped(GaussianProcess())))
        ]
        inside.append(np.array([np.mean((low <= y) & (y <= high)) for low, high in ends]))
    alone, averaged = np.mean(inside, axis=0)
    assert averaged > alone


# --- stages, hyperparameters, refusals ----------------------------------------------------------------------------------


def test_its_stage_stands_in_place_of_that_of_the_calibration() -> None:
    surrogate = ShapeAverage(Warped(GaussianProcess()))
    model, X = surrogate.fit(skewed(), rng=RNG(0)), RNG(1).random((3, 2))
    assert surrogate.stage_names == ("WarpedGaussianProcess", "ConditionalQuantile")
    assert [type(stage) for stage in model.stages] == [WarpedModel, ShapeAverageModel]
    raw, own = model.predict_stages(X)
    np.testing.assert_array_equal(raw.median, model.stages[0].predict(X, latent=False).median)
    np.testing.assert_allclose(own.median, model.predict(X, latent=False).median, rtol=1e-12)


def test_each_shape_starts_where_its_last_fit_ended() -> None:
    """With stored hyperparameters that are kept, nothing changes, whichever shape stands first."""
    surrogate = ShapeAverage(Warped(Scheduled(GaussianProcess(), always_below=0, growth=2.0)))
    data, X = skewed(), RNG(1).random((5, 2))
    first = surrogate.fit(data, rng=RNG(0))
    shown = first.predict(X, latent=False).median
    again = surrogate.fit(replace(data, hyperparameters=(first.hyperparameters,)), rng=RNG(1))
    assert again.hyperparameters == first.hyperparameters and len(first.others) == 1
    assert again.predict(X, latent=False).median == pytest.approx(shown, rel=1e-12)
    swapped = joined(separated((first.hyperparameters,))[::-1])
    other = surrogate.fit(replace(data, hyperparameters=(swapped,)), rng=RNG(1))
    assert other.weights == pytest.approx(first.weights[::-1], rel=1e-9)
    assert other.predict(X, latent=False).median == pytest.approx(shown, rel=1e-9)


@pytest.mark.parametrize(
    "stored", [(0.0,), (1.0,), (0.1, 0.2, 0.3, 2.0), (0.1, 0.2, 1.0, -1.0), (0.5, 1.0, 9.0, 1.0), (2.5, 1.5)]
)
def test_hyperparameters_of_others_are_no_obstacle(stored: tuple[float, ...]) -> None:
    known = replace(skewed(), hyperparameters=(stored,))
    assert len(fitted(known).others) == 1


def test_a_search_may_act_on_the_raw_model() -> None:
    strategy = ModelBased(ShapeAverage(Warped(GaussianProcess())), ExpectedImprovement(), acts_on="raw")
    optimizer = Optimizer({"x": Float(0, 1)}, strategy, seed=0)
    for _ in range(12):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, np.exp(8.0 * abs(suggestion.params["x"] - 0.3)))
    assert abs(optimizer.best[0]["x"] - 0.3) < 0.05


def test_slacks_of_constraints_have_one_shape() -> None:
    data = skewed()
    both = replace(data, Y=np.hstack([data.Y, data.Y + 1.0]), constraints=1)
    goal, slack = fit_models(
        Calibrated(ShapeAverage(Warped(GaussianProcess())), by=GroupedQuantile()), both, rng=RNG(0)
    )
    assert [len(model.base.others) for model in (goal, slack)] == [1, 0]  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_not_of_transformed_outcomes_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"surrogate must be a Warped such as Warped\(GaussianProcess\(\)\)"):
        ShapeAverage(GaussianProcess())


def test_models_without_predictions_left_out_have_one_shape() -> None:
    model = ShapeAverage(Warped(QuantileTrees())).fit(skewed(), rng=RNG(0))
    assert model.others == ()
