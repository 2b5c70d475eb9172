"""Expected and probable improvement: closed forms, draws, pending points, and outcomes of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.acquisition import AcquisitionRule, ExpectedImprovement, ProbabilityOfImprovement, incumbent
from calibo.calibration import Calibrated, Isotonic, LeaveOneOut, OnlineQuantile
from calibo.data import Dataset
from calibo.models import GaussianProcess, Surrogate

RNG = np.random.default_rng
RULES = [ExpectedImprovement(), ProbabilityOfImprovement()]
CALIBRATED: list[Surrogate] = [
    GaussianProcess(),
    Calibrated(GaussianProcess(), by=OnlineQuantile(0.3), evidence=LeaveOneOut()),
    Calibrated(GaussianProcess(), by=Isotonic(), evidence=LeaveOneOut()),
]
IDS = ["raw", "online", "isotonic"]


def data(n: int = 12, scale: float = 1.0, **options: object) -> Dataset:
    X = RNG(0).random((n, 2))
    y = np.sin(5 * X[:, 0]) - X[:, 1] + 0.1 * RNG(9).standard_normal(n)
    return Dataset(X=X, Y=scale * y[:, None], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("surrogate", CALIBRATED, ids=IDS)
def test_single_points_have_the_closed_form(surrogate: Surrogate) -> None:
    told, X = data(), RNG(1).random((30, 2))
    model = surrogate.fit(told, rng=RNG(0))
    distribution, best = model.predict(X, latent=True), incumbent(model, told)
    ei = ExpectedImprovement().build(model, told, rng=RNG(0))(X)
    np.testing.assert_allclose(ei, distribution.log_expected_improvement(best))
    pi = ProbabilityOfImprovement(margin=0.0).build(model, told, rng=RNG(0))(X)
    np.testing.assert_allclose(np.exp(pi), distribution.probability_of_improvement(best), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("surrogate", CALIBRATED, ids=IDS)
def test_sets_of_one_agree_with_the_closed_form(surrogate: Surrogate) -> None:
    told, X = data(), RNG(1).random((40, 2))
    model = surrogate.fit(told, rng=RNG(0))
    draws = 20_000
    ei = ExpectedImprovement(draws=draws).build(model, told, rng=RNG(0))
    closed, sampled, spread = np.exp(ei(X)), np.exp(ei(X[:, None, :])), told.Y.std()
    # Five standard errors of 20 000 draws (a draw's improvement varies by about its std), and the smoothing, which adds
    # at most log(2) / 100 of the spread.
    error = 5 * model.predict(X, latent=True).std / np.sqrt(draws)
    assert np.all(np.abs(sampled - closed) < error + 0.007 * spread)
    pi = ProbabilityOfImprovement(draws=draws).build(model, told, rng=RNG(0))
    # The step is smoothed over one hundredth of the spread: compare where the distribution is much wider than that.
    wide = model.predict(X, latent=True).std > 0.05 * spread
    assert wide.sum() > 10
    np.testing.assert_allclose(
        np.exp(pi(X[:, None, :]))[wide], np.exp(pi(X))[wide], atol=5 * 0.5 / np.sqrt(draws) + 0.03
    )


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi"])
def test_a_pending_point_lowers_the_wish_to_go_there_again(rule: AcquisitionRule) -> None:
    told, X = data(), RNG(1).random((200, 2))
    model = GaussianProcess().fit(told, rng=RNG(0))
    free = rule.build(model, told, rng=RNG(0))
    best = X[[int(np.argmax(free(X)))]]
    busy = rule.build(model, replace(told, X_pending=best), rng=RNG(0))
    assert float(busy(best)[0]) < float(free(best)[0]) - 0.1
    # Somewhere else it changes less.
    other = X[[int(np.argmax(np.linalg.norm(X - best, axis=1)))]]
    assert float(free(best)[0] - busy(best)[0]) > float(free(other)[0] - busy(other)[0])


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi"])
def test_more_points_are_worth_no_less(rule: AcquisitionRule) -> None:
    told = data()
    model = GaussianProcess().fit(told, rng=RNG(0))
    sets = RNG(1).random((25, 4, 2))
    acquisition = rule.build(model, told, rng=RNG(0))
    values = np.stack([acquisition(sets[:, :q]) for q in (1, 2, 3, 4)])
    assert np.all(np.diff(values, axis=0) >= -1e-9)


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi"])
def test_the_same_generator_gives_the_same_values(rule: AcquisitionRule) -> None:
    told = data(X_pending=np.array([[0.2, 0.8]]))
    model = GaussianProcess().fit(told, rng=RNG(0))
    X = RNG(1).random((5, 2))
    one, other = (rule.build(model, told, rng=RNG(4)) for _ in range(2))
    np.testing.assert_array_equal(one(X), other(X))
    np.testing.assert_array_equal(one(X), one(X))  # and values may be compared between calls
    np.testing.assert_allclose(one(X)[2:4], one(X[2:4]), rtol=1e-9)


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi"])
@pytest.mark.parametrize("power", [-990, -100, 0, 100, 990])
@pytest.mark.parametrize("pending", [False, True])
def test_the_scale_of_the_outcomes_does_not_change_the_order(rule: AcquisitionRule, power: int, pending: bool) -> None:
    X = RNG(1).random((40, 2))
    busy = {"X_pending": np.array([[0.5, 0.5]])} if pending else {}
    values = []
    for scale in (1.0, 2.0**power):
        told = data(scale=scale, **busy)
        model = GaussianProcess().fit(told, rng=RNG(0))
        values.append(rule.build(model, told, rng=RNG(0))(X))
    assert np.isfinite(values).all()
    shift = power * np.log(2) if isinstance(rule, ExpectedImprovement) else 0.0
    np.testing.assert_allclose(values[1], values[0] + shift, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("rule", RULES, ids=["ei", "pi"])
@pytest.mark.parametrize("y", [[3.0] * 4, [0.0] * 4, [1e300, -1e300, 1e300, 0.0], [1e-300, 2e-300, 0.0, 1e-300]])
def test_odd_outcomes_give_finite_values(rule: AcquisitionRule, y: list[float]) -> None:
    for pending in (np.empty((0, 2)), np.array([[0.5, 0.5]])):
        told = Dataset(X=RNG(0).random((4, 2)), Y=np.array(y)[:, None], X_pending=pending)
        model = GaussianProcess().fit(told, rng=RNG(0))
        acquisition = rule.build(model, told, rng=RNG(0))
        assert np.isfinite(acquisition(RNG(1).random((20, 2)))).all()
        assert np.isfinite(acquisition(RNG(1).random((20, 3, 2)))).all()


def test_with_points_pending_certainty_is_not_mistaken_for_improvement() -> None:
    """Smoothing of sampled improvements must not make the incumbent itself look worth trying again."""
    x = np.linspace(0, 1, 15)[:, None]
    told = Dataset(X=x, Y=1e-2 * -np.square(x - 0.45) + np.where(x < 0.02, -10.0, 0.0), Y_var=np.full((15, 1), 1e-10))
    told = replace(told, X_pending=np.array([[0.0]]))
    model = GaussianProcess().fit(told, rng=RNG(0))
    busy = ExpectedImprovement(draws=2048).build(model, told, rng=RNG(0))
    free = ExpectedImprovement().build(model, replace(told, X_pending=np.empty((0, 1))), rng=RNG(0))
    grid = np.linspace(0.1, 1, 181)[:, None]
    # The pending point is far away and hopeless: it should hardly matter.
    found, wanted = grid[int(np.argmax(busy(grid)))], grid[int(np.argmax(free(grid)))]
    distribution = model.predict(np.stack([found, wanted]), latent=True)
    true = distribution.expected_improvement(incumbent(model, told))
    assert true[0] > 0.5 * true[1]


def test_probability_of_improvement_still_slopes_far_from_the_optimum() -> None:
    x = np.array([[0.0], [0.5], [1.0]])
    told = Dataset(X=x, Y=np.array([[0.0], [100.0], [-1.0]]), Y_var=np.full((3, 1), 1e-12))
    model = GaussianProcess().fit(told, rng=RNG(0))
    values = ProbabilityOfImprovement().build(model, told, rng=RNG(0))(np.array([[1e-6], [1e-5], [1e-4]]))
    assert np.all(np.diff(values) > 0)


def test_more_margin_more_courage() -> None:
    told, X = data(), RNG(1).random((100, 2))
    model = GaussianProcess().fit(told, rng=RNG(0))
    timid, bold = (ProbabilityOfImprovement(m).build(model, told, rng=RNG(0))(X) for m in (0.0, 1.0))
    assert np.all(bold <= timid) and np.any(bold < timid - 0.1)
