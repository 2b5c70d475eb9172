"""Model-based strategies: what a plan holds, and how it changes by what the model learned from an exploration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from calibo.acquisition import AcquisitionRule, ExpectedImprovement, Feasibility, ThompsonSampling, UpperQuantile
from calibo.calibration import Calibrated, ConformalBayes, LeaveOneOut, OnlineQuantile, Temperature
from calibo.calibration.density_ratio import (
    DensityRatio,
    Ratio,
    Unshifted,
    effective_sample_size,
    importance_weights,
)
from calibo.data import Dataset
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, SuccessModel
from calibo.models.base import Capability, Model, Surrogate, SurrogateWrapper
from calibo.models.gp_posterior import Posterior
from calibo.optimize import ModelBased, Optimizer, suggest
from calibo.optimize.strategy import anchor_points
from calibo.search import (
    Dynamic,
    EpsilonGreedy,
    Langevin,
    MultiStart,
    MutatedBest,
    Plan,
    Pool,
    RandomCandidates,
    RandomDraw,
)
from calibo.spaces import Float, PoolSpace, ProductSpace

RNG = np.random.default_rng
GP_EI = ModelBased(GaussianProcess(), ExpectedImprovement())
NESTED = Calibrated(Calibrated(GaussianProcess(), by=Temperature()), by=OnlineQuantile(0.2))


def data(**options: object) -> Dataset:
    X = RNG(0).random((9, 2))
    return Dataset(X=X, Y=(np.sin(5 * X[:, 0]) - X[:, 1])[:, None], **options)  # type: ignore[arg-type]


def test_anchors_are_the_best_points_best_first() -> None:
    known = data()
    anchors = GP_EI.plan(known, rng=RNG(0)).anchors
    np.testing.assert_array_equal(anchors, known.X[np.argsort(-known.Y[:, 0])[: len(anchors)]])


def test_everything_tried_is_avoided_and_with_replication_only_what_is_pending() -> None:
    known = data(X_pending=np.array([[0.1, 0.1]]), X_failed=np.array([[0.2, 0.2]]))
    taken = GP_EI.plan(known, rng=RNG(0)).avoid
    assert {tuple(x) for x in taken} == {*map(tuple, known.X), (0.1, 0.1), (0.2, 0.2)}
    np.testing.assert_array_equal(replace(GP_EI, replicate=True).plan(known, rng=RNG(0)).avoid, known.X_pending)


@pytest.mark.parametrize(("surrogate", "stages"), [(GaussianProcess(), 1), (NESTED, 3)], ids=["raw", "nested"])
def test_forecasts_have_one_stage_for_each_calibrator(surrogate: object, stages: int) -> None:
    plan = ModelBased(surrogate, ExpectedImprovement()).plan(data(), rng=RNG(0))  # type: ignore[arg-type]
    assert plan.forecaster is not None and len(plan.models) == 1
    X = RNG(1).random((4, 2))
    forecasts = plan.forecaster(X)
    assert len(forecasts) == 4 and all(len(f) == 1 and len(f[0].stages) == stages for f in forecasts)
    distribution = plan.models[0].predict(X, latent=False)
    assert forecasts[2][0].calibrated.mean == pytest.approx(float(distribution.mean[2]))
    assert len(plan.hyperparameters) == 1 and len(plan.hyperparameters[0]) == 4


class TestWhatIsActedOn:
    """Objectives may be searched by the raw model; what is shown, and the probability of constraints, is calibrated."""

    TEMPERED = Calibrated(GaussianProcess(), by=Temperature(), evidence=LeaveOneOut())
    X = RNG(1).random((6, 2))

    def both(self, known: Dataset) -> tuple[Plan, Plan, Plan]:
        """Return the plans of the bare model, of what acts on it, and of what acts on the calibrated one."""
        on_raw = ModelBased(self.TEMPERED, ExpectedImprovement(), acts_on="raw")
        strategies = (GP_EI, on_raw, replace(on_raw, acts_on="calibrated"))
        return tuple(one.plan(known, rng=RNG(0)) for one in strategies)  # type: ignore[return-value]

    @pytest.mark.parametrize("objectives", [1, 2])
    def test_objectives(self, objectives: int) -> None:
        known = data()
        known = replace(known, Y=np.column_stack([known.Y, known.X[:, 0] ** 2][:objectives]))
        bare, on_raw, on_calibrated = self.both(known)
        np.testing.assert_array_equal(on_raw.acquisition(self.X), bare.acquisition(self.X))
        assert not np.allclose(on_calibrated.acquisition(self.X), bare.acquisition(self.X), rtol=1e-3)
        assert on_raw.forecaster is not None and on_calibrated.forecaster is not None
        assert on_raw.forecaster(self.X) == on_calibrated.forecaster(self.X)

    def test_constraints(self) -> None:
        goals = data()
        slack = np.sin(9.0 * goals.X[:, :1])
        known = Dataset(X=goals.X, Y=np.column_stack([goals.Y, slack]), constraints=1)
        assert 0 < known.feasible.sum() < 9
        bare, on_raw, _ = self.both(known)
        feasibility = [Feasibility(plan.models[1:]).log(self.X) for plan in (bare, on_raw)]
        assert not np.allclose(*feasibility, rtol=1e-3)
        acquired = [plan.acquisition(self.X) - log for plan, log in zip((bare, on_raw), feasibility, strict=True)]
        np.testing.assert_allclose(*acquired, atol=1e-9)


@pytest.mark.parametrize("rule", [ExpectedImprovement(), UpperQuantile(), ThompsonSampling()], ids=["ei", "ucb", "ts"])
def test_failures_steer_away(rule: object) -> None:
    rng = RNG(3)
    failed = np.column_stack([0.75 + 0.25 * rng.random(12), rng.random(12)])
    known = data(X_failed=failed)
    strategy = ModelBased(GaussianProcess(), rule)  # type: ignore[arg-type]
    X = rng.random((400, 2))
    where = X[:, 0] > 0.75
    ratio = []
    for d in (known, replace(known, X_failed=np.empty((0, 2)), Y_failed=np.empty((0, 1)))):
        values = strategy.plan(d, rng=RNG(0)).acquisition(X)
        best = np.argsort(-values)[:100]
        ratio.append(where[best].mean())
    assert ratio[0] < ratio[1] or ratio == [0.0, 0.0]


def test_the_search_suits_the_space_and_the_rule() -> None:
    cube, pool = ProductSpace({"x": Float(0, 1)}), PoolSpace([{"x": 1}, {"x": 2}])
    thompson = ModelBased(GaussianProcess(), ThompsonSampling())
    assert isinstance(GP_EI.searcher(cube), MultiStart) and isinstance(GP_EI.searcher(pool), Pool)
    assert isinstance(thompson.searcher(cube), RandomDraw) and isinstance(thompson.searcher(pool), Pool)
    mine = MultiStart(scored=7)
    assert replace(GP_EI, search=mine).searcher(cube) is mine


def test_the_search_explores_if_the_surrogate_learns() -> None:
    cube, pool = ProductSpace({"x": Float(0, 1)}), PoolSpace([{"x": 1}, {"x": 2}])
    learning = ModelBased(ConformalBayes(GaussianProcess(), ratio=DensityRatio()), ExpectedImprovement())
    assert learning.searcher(cube) == Langevin(then=MultiStart()) and learning.searcher(pool) == Langevin(then=Pool())
    wrapped = replace(learning, surrogate=Calibrated(learning.surrogate, by=Temperature()), rule=ThompsonSampling())
    assert wrapped.searcher(cube) == Langevin(then=RandomDraw())
    for idle in (MultiStart(), EpsilonGreedy(MultiStart(), 0.1)):
        with pytest.raises(RecipeError, match=r"use search=Langevin\(then=...\), or .*ratio=None"):
            replace(learning, search=idle)
    for exploring in (Langevin(then=RandomDraw()), EpsilonGreedy(Langevin(), 0.1)):
        assert replace(learning, search=exploring).search is exploring


@dataclass(frozen=True)
class Minimal(AcquisitionRule):
    """A rule with nothing but its acquisition function."""

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Any:
        return lambda X: model.predict(X, latent=True).mean.reshape(len(X), -1)[:, -1]


def test_a_rule_needs_only_to_build() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, ModelBased(GaussianProcess(), Minimal()), seed=0, n_initial=2)
    for _ in range(4):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"])
    assert not Minimal.logarithmic and Minimal.smooth


@dataclass(frozen=True)
class WeighedProcess(Surrogate):
    """A Gaussian process less certain the fewer of its data speak for where the search goes."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> WeighedModel:
        return WeighedModel(GaussianProcess().fit(data, rng=rng), data.X, Unshifted())


@dataclass(frozen=True, eq=False)
class WeighedModel(Model):
    base: Posterior
    X: np.ndarray
    ratio: Ratio

    def predict(self, X: np.ndarray, *, latent: bool) -> Gaussian:
        distribution = self.base.predict(X, latent=latent)
        return replace(
            distribution, std=distribution.std * np.sqrt(len(self.X) / effective_sample_size(self.ratio(self.X)))
        )

    def learned(self, proposals: np.ndarray, *, rng: np.random.Generator) -> WeighedModel:
        return replace(self, ratio=DensityRatio().fit(self.X, proposals, previous=self.ratio, rng=rng))

    def in_distribution(self, X: np.ndarray) -> np.ndarray:
        last = importance_weights(self.ratio(self.X), self.ratio(X))[1]
        return 1.0 / (1.0 + np.exp((last - 0.3) / 0.02))


SQUARE = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
RULES = pytest.mark.parametrize("rule", [ExpectedImprovement(), UpperQuantile()], ids=["ei", "ucb"])


def corner() -> np.ndarray:
    """Proposals where the data hardly are."""
    return 0.85 + 0.15 * RNG(4).random((120, 2))


def test_only_a_model_that_learns_gets_a_plan_that_does() -> None:
    learning, plain = (s.plan(data(), rng=RNG(0)) for s in (ModelBased(WeighedProcess(), ExpectedImprovement()), GP_EI))
    both = {Capability.LEARNS_FROM_PROPOSALS, Capability.IN_DISTRIBUTION}
    assert learning.models[0].capabilities == both and learning.learn is not None
    assert not plain.models[0].capabilities & both and plain.learned(corner(), rng=RNG(0)) is plain


@RULES
@pytest.mark.parametrize(("failures", "pending"), [(0, 0), (4, 2)])
def test_building_again_gives_the_same_acquisition(rule: object, failures: int, pending: int) -> None:
    known = data(X_failed=0.9 + 0.1 * RNG(1).random((failures, 2)), X_pending=RNG(2).random((pending, 2)))
    plan = ModelBased(WeighedProcess(), rule).plan(known, rng=RNG(0))  # type: ignore[arg-type]
    X = RNG(5).random((30, 2))
    before = plan.acquisition(X)
    same = plan.learned(np.empty((0, 2)), rng=RNG(7)).acquisition
    np.testing.assert_array_equal(same(X), before)
    assert np.abs(plan.learned(corner(), rng=RNG(7)).acquisition(X) - before).max() > 1e-3
    np.testing.assert_array_equal(plan.acquisition(X), before)


@RULES
@pytest.mark.parametrize("failures", [0, 4])
def test_weights_out_of_distribution_and_of_success(rule: object, failures: int) -> None:
    """Out of distribution the value is the mean outcome, of a failure the worst one; up to a constant."""
    known = data(X_failed=0.15 * RNG(1).random((failures, 2)))
    plan = ModelBased(WeighedProcess(), rule).plan(known, rng=RNG(0))  # type: ignore[arg-type]
    learned = plan.learned(corner(), rng=RNG(1))
    (model,) = learned.models
    assert isinstance(model, WeighedModel)
    X = RNG(5).random((300, 2))
    values = rule.build(model, known, rng=RNG(0))(X)  # type: ignore[attr-defined]
    inside = model.in_distribution(X)
    assert inside.min() < 1e-2 and inside.max() > 0.9
    weights = [(inside, float(known.Y.mean()))]
    if failures:
        weights.append((SuccessModel.of(known, rng=RNG(0))(X), float(known.Y.min())))
    floor = 0.0
    for number, (chance, lowest) in enumerate(weights):
        gain = values - lowest
        if rule.logarithmic:  # type: ignore[attr-defined]
            values = values + np.log(chance)
        else:
            # A loss does not shrink because its measurement is likely to fail.
            kept = gain * chance if number == 0 else np.where(gain > 0, gain * chance, gain / chance)
            values, floor = lowest + kept, lowest
    np.testing.assert_allclose(learned.acquisition(X), values - floor, rtol=1e-7)


def test_a_learned_plan() -> None:
    plan = ModelBased(WeighedProcess(), ExpectedImprovement()).plan(data(), rng=RNG(0))
    plan = replace(plan, repeats=plan.avoid[:1], replicates=3)
    after = plan.learned(corner(), rng=RNG(1))
    assert plan.forecaster is not None and after.forecaster is not None
    # What a wrapper has added to the plan stays.
    np.testing.assert_array_equal(after.repeats, plan.repeats)
    assert after.replicates == 3
    np.testing.assert_array_equal(after.avoid, plan.avoid)
    assert after.hyperparameters == plan.hyperparameters
    X = RNG(2).random((3, 2))
    before, now = (forecaster(X) for forecaster in (plan.forecaster, after.forecaster))
    distribution = after.models[0].predict(X, latent=False)
    assert [f[0].calibrated.std for f in now] == pytest.approx(list(distribution.std))
    assert all(b[0].calibrated.std < n[0].calibrated.std for b, n in zip(before, now, strict=True))
    assert [f[0].stage_names for f in now] == [f[0].stage_names for f in before]


@RULES
def test_one_call_explores_learns_and_suggests(rule: object) -> None:
    """The forecast stored is that of the model as learned, so a wider one; also if only the fitted model says it learns."""
    known = data()
    assert WeighedProcess().capabilities is None
    strategy = ModelBased(WeighedProcess(), rule)  # type: ignore[arg-type]
    searches = (Langevin(), None, MultiStart())
    found = [
        suggest(known, source=SQUARE, strategy=replace(strategy, search=search), q=1, rng=RNG(1))[0]
        for search in searches
    ]
    for suggestion in found[1:]:
        np.testing.assert_array_equal(suggestion.x, found[0].x)
    raw = GaussianProcess().fit(known, rng=RNG(0))
    plain = float(raw.predict(found[0].x[None, :], latent=False).std[0])
    assert found[0].forecasts[0].calibrated.std > 1.01 * plain  # type: ignore[index]


def test_a_search_that_copies_few_points_sees_all_of_a_front() -> None:
    """Of two objectives the first anchors are the ends of the front, then what lies between."""
    x = np.linspace(0.0, 1.0, 21)[:, None]
    data = Dataset(X=x, Y=np.column_stack([x[:, 0], 1.0 - x[:, 0]]))
    anchors = anchor_points(data)[:, 0]
    assert set(anchors[:2]) == {0.0, 1.0} and 0.3 < anchors[2] < 0.7
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize(
    ("search", "count"), [(None, 5), (Dynamic(budget=160), 8), (EpsilonGreedy(MutatedBest(parents=9), 0.1), 9)]
)
def test_a_search_has_as_many_anchors_as_it_copies(search: Any, count: int) -> None:
    data = Dataset(X=RNG(0).random((40, 2)), Y=RNG(1).random((40, 1)))
    assert len(replace(GP_EI, search=search).plan(data, rng=RNG(0)).anchors) == count


@pytest.mark.parametrize(
    ("part", "bad", "message"),
    [
        ("surrogate", "gp", r"such as GaussianProcess\(\), got 'gp'"),
        ("surrogate", GaussianProcess, r"the class GaussianProcess, which needs \(\)"),
        ("rule", "ei", r"such as ExpectedImprovement\(\), got 'ei'"),
        ("search", Pool, "the class Pool"),
        ("tradeoff", "ehvi", r"such as HypervolumeImprovement\(\), got 'ehvi'"),
        ("anchors", 2.5, "anchors must be a whole number"),
        ("replicate", "yes", "replicate must be True or False"),
        ("acts_on", "shown", "acts_on must be one of .*calibrated.*raw"),
    ],
)
def test_bad_parts_are_refused(part: str, bad: object, message: str) -> None:
    parts: dict[str, Any] = {"surrogate": GaussianProcess(), "rule": ExpectedImprovement(), part: bad}
    with pytest.raises(RecipeError, match=message):
        ModelBased(**parts)


@pytest.mark.parametrize("search", [Dynamic(), EpsilonGreedy(Dynamic(), 0.1)], ids=["alone", "inside"])
def test_a_search_that_counts_points_is_refused_where_they_may_be_tried_again(search: Any) -> None:
    with pytest.raises(RecipeError, match=r"choose at random for ever. Use MutatedBest\(\)"):
        ModelBased(GaussianProcess(), ExpectedImprovement(), search, replicate=True)
    for allowed in (MutatedBest(), RandomCandidates()):
        assert ModelBased(GaussianProcess(), ExpectedImprovement(), allowed, replicate=True).search is allowed


class Forgetful(Surrogate):
    """A surrogate whose fit has no return statement."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("surrogate", "named"),
    [(Forgetful(), r"Forgetful\.fit returns"), (Calibrated(Forgetful(), by=Temperature()), "inside CalibratedModel")],
)
def test_a_fit_that_returns_no_model_is_named(surrogate: Surrogate, named: str) -> None:
    with pytest.raises(RecipeError, match=rf"{named} must be a Model .*got None"):
        ModelBased(surrogate, ExpectedImprovement()).plan(data(), rng=RNG(0))


class Unwrapped(SurrogateWrapper):
    """A wrapper that returns the model inside, without a stage of its own."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return self.surrogate.fit(data, rng=rng)


def test_a_wrapper_whose_model_adds_no_stage_is_named() -> None:
    surrogate = Calibrated(Unwrapped(GaussianProcess()), by=Temperature())
    with pytest.raises(
        RecipeError, match="stages GaussianProcess, Unwrapped, Temperature, but .* must return a ModelWrapper"
    ):
        ModelBased(surrogate, ExpectedImprovement()).plan(data(), rng=RNG(0))
