"""Adaptive conformal inference: the long-run bound on any stream, shifts that are followed, experts that are weighed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.calibration import ACI, AgACI, DtACI, Evidence, Recalibrator
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.testing import CalibratorSuite

#: Streams made to hurt: arbitrary, constant, and answering to the state by lying just inside or outside.
streams = st.one_of(
    st.lists(st.floats(0, 1), min_size=1, max_size=150),
    st.builds(lambda u, n: [u] * n, st.floats(0, 1), st.integers(1, 150)),
)


class TestACI(CalibratorSuite):
    tolerance = 0.15
    finite = False

    def recalibrator(self) -> Recalibrator:
        return ACI()


class TestDtACI(TestACI):
    def recalibrator(self) -> Recalibrator:
        return DtACI()


class TestAgACI(TestACI):
    def recalibrator(self) -> Recalibrator:
        return AgACI()


def misses(pit: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Share of outcomes outside the central interval that was asked for, for every target."""
    return np.mean(2 * np.minimum(pit, 1 - pit)[:, None] < asked[:-1], axis=0)


@settings(max_examples=150, deadline=None)
@given(streams, st.floats(0.005, 3.0))
def test_the_share_of_misses_is_within_the_bound(stream: list[float], gamma: float) -> None:
    aci, pit = ACI(gamma), np.array(stream)
    shares = misses(pit, aci.run(pit))
    for alpha, share in zip(aci.alphas, shares, strict=True):
        assert abs(share - alpha) <= aci.bound(alpha, len(pit)) + 1e-12


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 120), st.floats(0.01, 1.0), st.booleans())
def test_the_bound_holds_against_an_adversary(steps: int, gamma: float, outside: bool) -> None:
    """The adversary of one interval puts every outcome just outside (or inside) it, as long as there is room."""
    aci = ACI(gamma, (0.2,))
    pit: list[float] = []
    for _ in range(steps):
        asked = float(aci.run(np.array(pit))[-1, 0])
        beta = asked - 1e-6 if outside else asked + 1e-6
        pit.append(float(np.clip(beta, 0.0, 1.0)) / 2)
    share = misses(np.array(pit), aci.run(np.array(pit)))[0]
    assert abs(share - 0.2) <= aci.bound(0.2, steps) + 1e-12


def test_two_steps_of_dtaci_by_hand() -> None:
    """Weights by the formulas of Gibbs and Candes, written out for one interval and two experts."""
    recipe = DtACI((0.1, 0.4), interval=10, alphas=(0.2,))
    pit = np.array([0.02, 0.5])
    eta = np.sqrt(3 / 10 * (np.log(2 * 10) + 2) / (0.8**2 * 0.2**3 + 0.2**2 * 0.8**3))
    experts = [np.array([0.2, 0.2]), np.array([0.2 - 0.1 * 0.8, 0.2 - 0.4 * 0.8])]
    experts.append(experts[1] + np.array([0.1, 0.4]) * 0.2)
    weights, played = np.array([0.5, 0.5]), []
    for beta, states in zip((0.04, 1.0), experts, strict=False):
        played.append(weights @ states)
        loss = 0.2 * (beta - states) - np.minimum(0, beta - states)
        weights = weights * np.exp(-eta * loss)
        weights = 0.95 * weights / weights.sum() + 0.05 / 2
    played.append(weights @ experts[2])
    np.testing.assert_allclose(recipe.run(pit)[:, 0], played)


def test_two_steps_of_agaci_by_hand() -> None:
    """Bernstein online aggregation, written out for the lower end of one interval and two experts."""
    recipe = AgACI((0.1, 0.4), alphas=(0.2,))
    pit = np.array([0.02, 0.5, 0.9])
    experts = np.stack([ACI(g, (0.2,)).run(pit)[:, 0] for g in recipe.gammas], axis=1) / 2
    gain, square, largest, weights, played = np.zeros(2), np.zeros(2), np.full(2, 1e-12), np.full(2, 0.5), []
    for u, states in zip(pit, experts, strict=False):
        played.append(weights @ states)
        better = ((u <= played[-1]) - 0.1) * (played[-1] - states)
        largest, square = np.maximum(largest, np.abs(better)), square + better**2
        eta = np.minimum(0.5 / largest, np.sqrt(np.log(3) / np.maximum(square, 1e-300)))
        gain = gain + better - eta * better**2
        weights = eta * np.exp(eta * gain)
        weights /= weights.sum()
    played.append(weights @ experts[3])
    np.testing.assert_allclose(recipe.run(pit)[0][:, 0], played)


def test_one_step_by_hand() -> None:
    states = ACI(0.1, (0.2, 0.5)).run(np.array([0.05, 0.5]))
    np.testing.assert_allclose(states, [[0.2, 0.5], [0.12, 0.45], [0.14, 0.5]])


def test_experts_of_one_step_size_are_that_aci() -> None:
    pit = np.random.default_rng(0).beta(0.5, 0.5, size=80)
    alone = ACI(0.03).run(pit)
    np.testing.assert_allclose(DtACI((0.03,)).run(pit), alone)
    below, above = AgACI((0.03,)).run(pit)
    np.testing.assert_allclose(2 * below, alone)
    np.testing.assert_allclose(2 * (1 - above), alone)


@pytest.mark.parametrize("method", [DtACI(), AgACI()], ids=lambda m: type(m).__name__)
def test_experts_follow_a_shift_faster_than_the_slowest_and_stay_steadier_than_the_fastest(
    method: DtACI | AgACI,
) -> None:
    rng = np.random.default_rng(1)
    right, wrong = rng.random(300), np.clip(rng.beta(0.25, 0.25, size=300), 1e-6, 1 - 1e-6)
    pit = np.concatenate([right, wrong])
    played = method.run(pit)
    asked = played if isinstance(played, np.ndarray) else 2 * played[0]
    at = list(method.alphas).index(0.2)
    slow, fast = (ACI(g).run(pit)[:, at] for g in (method.gammas[0], method.gammas[-1]))
    beta = 2 * np.minimum(pit, 1 - pit)
    late = slice(400, 600)
    coverage = {name: np.mean(beta[late] >= a[late]) for name, a in (("slow", slow), ("own", asked[:-1, at]))}
    assert abs(coverage["own"] - 0.8) < abs(coverage["slow"] - 0.8) - 0.05
    assert np.std(asked[100:300, at]) < 0.7 * np.std(fast[100:300])


@settings(max_examples=60, deadline=None)
@given(streams)
def test_aggregated_states_lie_between_the_experts(stream: list[float]) -> None:
    pit = np.array(stream)
    each = np.stack([ACI(g).run(pit) for g in DtACI().gammas])
    low, high = each.min(axis=0) - 1e-9, each.max(axis=0) + 1e-9
    played = DtACI().run(pit)
    below, above = AgACI().run(pit)
    for states in (played, 2 * below, 2 * (1 - above)):
        assert np.isfinite(states).all() and (states >= low).all() and (states <= high).all()


def test_bad_recipes_are_refused() -> None:
    for make in (
        lambda: ACI(0.0),
        lambda: ACI(0.1, (0.5, 0.2)),
        lambda: DtACI(()),
        lambda: DtACI(interval=0),
        lambda: AgACI((0.1, -0.1)),
    ):
        with pytest.raises(RecipeError):
            make()


@pytest.mark.parametrize("recalibrator", [ACI(), DtACI(), AgACI()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_intervals_that_are_shown_hold_however_wrong_the_model_is(recalibrator: Recalibrator, factor: float) -> None:
    """Outcomes ten times as spread as predicted, or a tenth: 80 % intervals hold 80 %, infinite ones among them.

    Ten times too far out no finite interval of the model would do, and most are infinite: more is held, never less.
    """
    z = np.random.default_rng(0).standard_normal(300) * factor
    held = []
    for t in range(20, 300, 8):
        evidence = Evidence(np.zeros((t, 1)), z[:t], Gaussian(np.zeros(t), np.ones(t)))
        low, high = recalibrator.fit(evidence)(Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1))).interval(0.8)
        held.append(bool(low[0] <= z[t] <= high[0]))
    assert 0.75 < np.mean(held) < 0.98


def test_the_whole_line_is_shown_as_infinite_and_draws_stay_finite() -> None:
    evidence = Evidence(np.zeros((30, 1)), np.full(30, 1e6), Gaussian(np.zeros(30), np.ones(30)))
    distribution = ACI().fit(evidence)(Gaussian(np.zeros(1), np.ones(1)), np.zeros((1, 1)))
    assert np.isinf(distribution.interval(0.8)).all() and distribution.backed[0] > 0.1
    assert np.isfinite(distribution.draws(np.random.default_rng(0).standard_normal((100, 1)))).all()
    assert np.isfinite([distribution.mean, distribution.std, distribution.log_expected_improvement(0.0)]).all()
    assert np.isinf(distribution.negated().interval(0.8)).all()
    (stored,) = distribution.marginals()
    assert stored.backed == distribution.backed
