"""Networks as classifiers: convex functions, their losses, training and warm starts."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from calibo.classifiers import (
    MLP,
    BoreLabels,
    BySize,
    ChiSquared,
    History,
    Improvement,
    JensenShannon,
    KullbackLeibler,
    Labelled,
    Power,
    Probability,
    SquaredHellinger,
    WeightedLabels,
)
from calibo.classifiers.mlp import VariationalLoss, WarmNetwork
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.networks import Indicators

#: The functions f of s that the classes stand for, and f' and the conjugate at f' as functions of t = log s.
PLAIN: dict[Any, Any] = {
    JensenShannon(): (
        lambda s: s * np.log(s) - (1.0 + s) * np.log1p(s),
        lambda t: -np.logaddexp(0.0, -t),
        lambda t: np.logaddexp(0.0, t),
    ),
    KullbackLeibler(): (lambda s: s * np.log(s), lambda t: t + 1.0, np.exp),
    ChiSquared(): (lambda s: np.square(s - 1.0), lambda t: 2.0 * np.expm1(t), lambda t: np.expm1(2.0 * t)),
    SquaredHellinger(): (
        lambda s: np.square(np.sqrt(s) - 1.0),
        lambda t: -np.expm1(-0.5 * t),
        lambda t: np.expm1(0.5 * t),
    ),
}
FUNCTIONS = list(PLAIN)
every = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: type(f).__name__)
SMALL = MLP(hidden=8, steps=20, cold_steps=50)
X = np.random.default_rng(0).random((24, 2))
Y = -np.square(X - 0.4).sum(axis=1)


# --- convex functions and losses ---------------------------------------------------------------------------------------


@every
def test_the_steepness_is_that_of_the_function(f: Any) -> None:
    """By differences of f and f'; the conjugate sup_r v r - f(r) at v = f'(s) by a grid of r, up to a constant."""
    plain, slope, conjugate = PLAIN[f]
    t, h = np.linspace(-3.0, 3.0, 25), 1e-6
    s, r = np.exp(t), np.exp(np.linspace(-7.0, 7.0, 200_001))
    np.testing.assert_allclose(slope(t), (plain(s * (1 + h)) - plain(s * (1 - h))) / (2 * h * s), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(f.steepness(t), (slope(t + h) - slope(t - h)) / (2 * h), rtol=1e-6)
    assert (f.steepness(np.linspace(-30.0, 30.0, 99)) > 0.0).all()
    difference = conjugate(t) - [np.max(slope(at) * r - plain(r)) for at in t]
    np.testing.assert_allclose(difference, difference[0], atol=1e-6)


def mean_loss(f: Any, t: Array, labelled: Labelled) -> tuple[float, Array]:
    """Return the weighted mean loss of log utilities, N, and its slope in each of them, N."""
    z, w = labelled.z, labelled.weights
    _, slope, conjugate = PLAIN[f]
    losses = (1.0 - z) * conjugate(t) - z * slope(t)
    return float((w * losses).mean()), w * VariationalLoss(f).slope(t, z) / len(t)


@every
def test_no_slope_overflows(f: Any) -> None:
    t = np.array([-1e4, -40.0, 40.0, 1e4])
    for z in (0.0, 1.0):
        assert np.isfinite(VariationalLoss(f).slope(t, np.full(4, z))).all()


def test_classification_is_the_weighted_cross_entropy() -> None:
    """Corollary 3.5."""
    rng = np.random.default_rng(0)
    t, z, w = rng.normal(size=30), rng.integers(2, size=30).astype(np.float64), rng.random(30)
    loss, slope = mean_loss(JensenShannon(), t, Labelled(np.zeros((30, 1)), z, w, 0.0))
    C = expit(t)
    assert loss == pytest.approx(float(-(w * (z * np.log(C) + (1 - z) * np.log(1 - C))).mean()), rel=1e-12)
    np.testing.assert_allclose(slope, w * (C - z) / 30, atol=1e-14)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-5, 5)), min_size=3, max_size=60),
    st.floats(0.1, 0.6),
    st.sampled_from([Improvement(), Probability(), Power(2.0)]),
    st.sampled_from(FUNCTIONS),
)
def test_the_optimum_of_a_saturated_model_is_the_expected_utility(
    listed: list[tuple[int, float]], gamma: float, utility: Any, f: Any
) -> None:
    """Theorem 3.4 on five places, for every f: S = E[u | x] / mean(u) of the data, to 1e-6."""
    place, y = np.array([i for i, _ in listed]), np.array([v for _, v in listed])
    labelled = WeightedLabels(utility, gamma).label((place[:, None] + 0.5) / 5, y)
    if labelled is None:
        return
    u = utility(y, labelled.threshold)
    for i in np.unique(place):
        own = np.flatnonzero(labelled.X[:, 0] == (i + 0.5) / 5)
        found = solved(f, Labelled(labelled.X[own], labelled.z[own], labelled.weights[own], 0.0))
        assert found == pytest.approx(u[place == i].mean() / u.mean(), rel=1e-6, abs=1e-6)


def solved(f: Any, rows: Labelled) -> float:
    """The one S that is best for all of the rows: where the loss has no slope, and that is its minimum."""

    def loss(t: float) -> tuple[float, Array]:
        return mean_loss(f, np.full(len(rows), t), rows)

    if loss(-30.0)[1].sum() >= 0.0:
        # No utility here: the smaller, the better.
        return float(np.exp(-30.0))
    t: Any = brentq(lambda t: loss(t)[1].sum(), -30.0, 30.0, xtol=1e-12)
    searched = minimize_scalar(lambda t: loss(t)[0], bounds=(t - 1.0, t + 1.0), method="bounded")
    assert searched.x == pytest.approx(t, abs=1e-3)
    return float(np.exp(t))


# --- training ---------------------------------------------------------------------------------------------------------


def labelled(n: int = 24) -> Labelled:
    found = WeightedLabels().label(X[:n], Y[:n])
    assert found is not None
    return found


@every
def test_a_step_follows_the_gradient_of_the_loss(f: Any) -> None:
    """After one step Adam's sum of gradients is the gradient, taken here by differences of the loss itself."""
    recipe, rows, rng = MLP(hidden=4, layers=2, batch=1000, f=f), labelled(), np.random.default_rng(2)
    start = recipe.start(Indicators((0, 0)), rng)
    for layer in start.networks.layers:
        layer[...] = 0.5 * rng.normal(size=layer.shape)

    def loss() -> float:
        return mean_loss(f, start.networks(2.0 * rows.X - 1.0)[0, :, 0], rows)[0]

    found = recipe.trained(start, rows, Indicators((0, 0)), 1, rng)
    slopes = []
    for layer in start.networks.layers:
        for at in np.ndindex(layer.shape):
            plain, ends = layer[at], []
            for step in (1e-6, -1e-6):
                layer[at] = plain + step
                ends.append(loss())
            layer[at] = plain
            slopes.append((ends[0] - ends[1]) / 2e-6)
    np.testing.assert_allclose(found.mean, slopes, atol=1e-7)
    assert (start.steps, found.steps) == (0, 1)


@every
def test_the_network_learns_the_expected_utility(f: Any) -> None:
    """On three choices, where the network can be anything: E[u | x] / mean(u), to 5 %."""
    place = np.repeat([0, 1, 2], 8)
    y = np.concatenate([np.arange(8.0), np.arange(8.0) + 4.0, np.arange(8.0) - 4.0])
    rows = WeightedLabels().label((place[:, None] + 0.5) / 3, y)
    assert rows is not None
    fit = MLP(cold_steps=1500, batch=1000, learning_rate=5e-3, f=f).fit
    found = np.exp(fit(rows, categories=(3,), rng=np.random.default_rng(0))((np.arange(3)[:, None] + 0.5) / 3))
    u = np.maximum(y - rows.threshold, 0.0)
    expected = np.array([u[place == i].mean() for i in range(3)]) / u.mean()
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02)


def log_odds(classifier: Any, n: int = 24, seed: int = 0) -> Array:
    return classifier.fit(labelled(n), categories=(0, 0), rng=np.random.default_rng(seed))(X)


# --- warm starts ------------------------------------------------------------------------------------------------------


def resumed(n: int, recipe: Any = SMALL, member: int = 0, labels: Any = None) -> Any:
    return recipe.resumed(History(X[:n], Y[:n], labels or WeightedLabels()), categories=(0, 0), member=member)


@pytest.fixture
def trained_on(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of rows of each training."""
    rows: list[int] = []
    trained = MLP.trained
    monkeypatch.setattr(MLP, "trained", lambda self, *a: rows.append(len(a[1])) or trained(self, *a))
    return rows


def test_an_interrupted_history_gives_the_same_network() -> None:
    at_once = log_odds(resumed(24, MLP(hidden=8, steps=20)))
    recipe = MLP(hidden=8, steps=20)
    for n in (3, 10, 11, 24):
        step_by_step = resumed(n, recipe)
    np.testing.assert_array_equal(log_odds(step_by_step), at_once)
    assert not np.array_equal(log_odds(resumed(24, recipe, member=1)), at_once)
    assert not np.array_equal(log_odds(resumed(24, recipe, labels=BoreLabels())), at_once)
    assert not np.array_equal(log_odds(resumed(24, replace(recipe, f=KullbackLeibler()))), at_once)


def test_a_longer_history_continues_from_a_shorter_one(trained_on: list[int]) -> None:
    recipe = MLP(hidden=8, steps=5)
    resumed(20, recipe)
    before = len(trained_on)
    for _ in range(2):
        resumed(22, recipe)
        assert len(trained_on) == before + 2


def test_warm_starts_belong_to_one_recipe(trained_on: list[int]) -> None:
    """Nothing is shared between equal recipes, and copies are equal, printable and start with none."""
    recipe = MLP(hidden=8, steps=5)
    resumed(6, recipe)
    for other in (MLP(hidden=8, steps=5), copy.deepcopy(recipe), pickle.loads(pickle.dumps(recipe))):
        assert other == recipe and hash(other) == hash(recipe) and repr(other) == repr(recipe)
        before = len(trained_on)
        resumed(6, other)
        assert len(trained_on) == before + 5


def test_long_histories_are_learned_in_fewer_places(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(MLP, "trained", lambda self, state, *a: calls.append(len(a[0])) or state)
    long = np.random.default_rng(0).random((5000, 2))
    MLP().resumed(History(long, long[:, 0], WeightedLabels()), categories=(0, 0), member=0)
    assert 127 < len(calls) < 600


def test_nothing_to_learn_yet() -> None:
    assert SMALL.resumed(History(X[:4], np.zeros(4), WeightedLabels()), categories=(0, 0), member=0) is SMALL


def test_a_composite_recipe_forwards_warm_starts() -> None:
    found = resumed(9, BySize(few=SMALL))
    assert isinstance(found.few, WarmNetwork) and found.many == BySize().many


def test_a_utility_without_a_hash_gives_the_same_network() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, y: Array, tau: float) -> Array:
            return np.maximum(y - tau, 0.0)

    np.testing.assert_array_equal(log_odds(resumed(9, labels=WeightedLabels(Unhashable())), 9), log_odds(resumed(9), 9))


@pytest.mark.parametrize("bad", [{"hidden": 0}, {"steps": 0}, {"learning_rate": 0.0}])
def test_bad_settings(bad: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(bad))):
        MLP(**bad)
    with pytest.raises(RecipeError, match="KullbackLeibler"):
        MLP(f=np.exp)  # type: ignore[arg-type]


def test_features_may_go_from_0_to_1() -> None:
    """As in the paper; the recipe of a warm network keeps it."""
    points = np.array([[0.25, 0.5], [0.5, 0.9]])
    centred, plain = Indicators((0, 3)), Indicators((0, 3), centred=False)
    assert plain(points).tolist() == [[0.25, 0.0, 1.0, 0.0], [0.5, 0.0, 0.0, 1.0]]
    np.testing.assert_allclose(centred(points), 2.0 * plain(points) - 1.0)
    assert not np.allclose(log_odds(MLP(cold_steps=50)), log_odds(MLP(cold_steps=50, centred=False)))
