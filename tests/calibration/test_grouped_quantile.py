"""Online recalibration in groups: the bound in each, groups known in advance, and what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.calibration import Evidence, GroupedQuantile, OnlineQuantile
from calibo.calibration.online_quantile import DEFAULT_LEVELS
from calibo.data import Array
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.testing import CalibratorSuite

FIVE = (0.1, 0.25, 0.5, 0.75, 0.9)
UNIT = Gaussian(np.zeros(1), np.ones(1))
SHOWN = np.linspace(0.005, 0.995, 199)


class TestGroupedQuantile(CalibratorSuite):
    #: Which group a distribution belongs to depends on its units.
    equivariant = False
    tolerance = 0.12

    def recalibrator(self) -> GroupedQuantile:
        return GroupedQuantile(eta=0.05, trust=20.0)


def evidence(pits: Sequence[float] | Array, std: Sequence[float] | Array, mean: float = 0.0) -> Evidence:
    """Gaussian forecasts of some spreads whose outcomes have the PITs."""
    std = np.asarray(std, dtype=float)
    z = ndtri(np.clip(np.asarray(pits, dtype=float), 1e-16, 1.0 - 1e-16))
    return Evidence(np.zeros((len(z), 1)), mean + std * z, Gaussian(np.full(len(z), mean), std))


def errors_by_group(recipe: GroupedQuantile, past: Evidence) -> list[tuple[Array, Array]]:
    """Long-run errors of each group, `T x K`, and the bound after each of its outcomes, T."""
    plain, group, pit = OnlineQuantile(recipe.eta, recipe.levels), recipe.groups(past), past.pit
    found = list[tuple[Array, Array]]()
    for g in range(len(recipe.edges) + 1):
        own = pit[group == g]
        count = np.arange(1, len(own) + 1)
        hits = own[:, None] <= plain.run(own).played[:-1]
        bound = np.array([plain.bound(int(t)) for t in count])
        found.append((np.abs(np.cumsum(hits, axis=0) / count[:, None] - np.asarray(recipe.levels)), bound))
    return found


def adversary(recipe: GroupedQuantile, spreads: Sequence[float], choices: Sequence[int]) -> Evidence:
    """A stream whose every outcome is chosen in sight of what is played in the group of its forecast."""
    past = evidence([], [])
    for spread, choice in zip(spreads, choices, strict=True):
        # The group of the next forecast, which does not depend on its outcome.
        ahead = _appended(past, 0.0, spread)
        played = recipe.played(past)[recipe.groups(ahead)[-1]] if len(past) else np.asarray(recipe.levels)
        inside = played[(played >= 0.0) & (played <= 1.0)]
        options = sorted({0.0, 1.0, *inside.tolist(), *np.minimum(np.nextafter(inside, 2.0), 1.0).tolist()})
        errors = _summed_errors(recipe, past, int(recipe.groups(ahead)[-1]))
        # One in three outcomes is led by hypothesis, the others hurt most.
        greedy = max(options, key=lambda u: float(np.abs(errors + recipe.levels - (u <= played)).max()))
        pit = options[choice % len(options)] if choice % 3 == 0 else greedy
        past = _appended(past, spread * float(ndtri(np.clip(pit, 1e-16, 1.0 - 1e-16))), spread)
    return past


def _appended(past: Evidence, y: float, spread: float) -> Evidence:
    n, std = len(past) + 1, np.append(past.distribution.std, spread)
    return Evidence(np.zeros((n, 1)), np.append(past.y, y), Gaussian(np.zeros(n), std))


def _summed_errors(recipe: GroupedQuantile, past: Evidence, group: int) -> Array:
    own = past.pit[recipe.groups(past) == group] if len(past) else np.empty(0)
    played = OnlineQuantile(recipe.eta, recipe.levels).run(own).played[:-1]
    return (np.asarray(recipe.levels) - (own[:, None] <= played)).sum(axis=0)


# --- the bound --------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    eta=st.sampled_from([0.05, 0.2, 1.0, 5.0]),
    levels=st.sampled_from([FIVE, (0.98, 0.99), DEFAULT_LEVELS]),
    stream=st.lists(
        st.tuples(st.sampled_from([0.01, 0.1, 0.5, 1.0, 30.0]), st.integers(0, 10**6)), min_size=1, max_size=40
    ),
)
def test_the_bound_holds_in_each_group_against_an_adversary(
    eta: float, levels: tuple[float, ...], stream: list[tuple[float, int]]
) -> None:
    recipe = GroupedQuantile(eta, levels)
    past = adversary(recipe, *zip(*stream, strict=True))
    for errors, bound in errors_by_group(recipe, past):
        assert (errors <= bound[:, None] * (1.0 + 1e-9)).all()


@settings(max_examples=60)
@given(
    eta=st.sampled_from([0.05, 0.3, 2.0, 10.0]),
    seed=st.integers(0, 10**6),
    pits=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), min_size=1, max_size=120),
)
def test_the_bound_holds_in_each_group_on_any_stream(eta: float, seed: int, pits: list[float]) -> None:
    spreads = 10.0 ** np.random.default_rng(seed).uniform(-3.0, 2.0, len(pits))
    recipe = GroupedQuantile(eta)
    for errors, bound in errors_by_group(recipe, evidence(pits, spreads)):
        assert (errors <= bound[:, None] * (1.0 + 1e-9)).all()


def test_the_bound_of_one_group_does_not_pay_for_another() -> None:
    """Near forecasts always too wide, far ones always too narrow: both are right in the long run, one map is for neither."""
    rng = np.random.default_rng(0)
    far = np.arange(400) % 2 == 1
    factor, std = np.where(far, 3.0, 0.3), np.where(far, 3.0, 0.05)
    pits = np.clip(evidence(rng.random(400), np.ones(400)).y * factor, -8.0, 8.0)
    past = Evidence(np.zeros((400, 1)), pits * std, Gaussian(np.zeros(400), std))
    recipe = GroupedQuantile()
    groups = recipe.groups(past)
    assert set(groups[40:][far[40:]]) == {1} and set(groups[40:][~far[40:]]) == {0}
    played = recipe.played(past)
    at = [recipe.levels.index(0.1), recipe.levels.index(0.9)]
    near_width, far_width = (np.diff(ndtri(np.clip(played[g][at], 1e-6, 1 - 1e-6)))[0] / 2.56 for g in (0, 1))
    assert near_width < 0.6 and far_width > 1.8


# --- what is known before -----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    cut=st.integers(1, 29),
    size=st.sampled_from([1e-300, 1.0, 1e13, 1e300]),
)
def test_later_outcomes_change_neither_groups_nor_what_was_played(seed: int, cut: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    past = evidence(rng.random(30), 10.0 ** rng.uniform(-2.0, 1.0, 30))
    changed = replace(past, y=np.concatenate([past.y[:cut], size * rng.standard_normal(30 - cut)]))
    recipe = GroupedQuantile()
    np.testing.assert_array_equal(recipe.groups(past)[: cut + 1], recipe.groups(changed)[: cut + 1])
    first = Evidence(past.X[:cut], past.y[:cut], Gaussian(past.distribution.mean[:cut], past.distribution.std[:cut]))
    np.testing.assert_array_equal(recipe.groups(past)[:cut], recipe.groups(first))


@given(seed=st.integers(0, 10**6), spread=st.floats(-4.0, 4.0))
def test_a_forecast_is_shown_the_map_of_the_group_that_will_learn_from_it(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    past = evidence(rng.random(12), 10.0 ** rng.uniform(-2.0, 1.0, 12))
    recipe = GroupedQuantile(1.0, trust=1e-9)
    std = 10.0**spread
    group = recipe.groups(_appended(past, 7.0, std))[-1]
    shown = recipe.fit(past)(Gaussian(np.zeros(1), np.full(1, std)), np.zeros((1, 1)))
    expected = OnlineQuantile(1.0, recipe.levels).fit(_only(past, recipe.groups(past) == group))(UNIT, np.zeros((1, 1)))
    for u in (0.1, 0.5, 0.8):
        np.testing.assert_allclose(shown.icdf(u) / std, expected.icdf(u), rtol=1e-5, atol=1e-6)


def _only(past: Evidence, kept: np.ndarray) -> Evidence:
    return Evidence(past.X[kept], past.y[kept], Gaussian(past.distribution.mean[kept], past.distribution.std[kept]))


# --- what is shown --------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    eta=st.sampled_from([0.05, 0.5, 10.0]),
    trust=st.sampled_from([1e-6, 5.0, 200.0]),
    stream=st.lists(
        st.tuples(st.sampled_from([0.01, 1.0, 30.0]), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))),
        min_size=1,
        max_size=60,
    ),
)
def test_shown_quantiles_increase_strictly(eta: float, trust: float, stream: list[tuple[float, float]]) -> None:
    spreads, pits = zip(*stream, strict=True)
    level_map = GroupedQuantile(eta, trust=trust).fit(evidence(pits, spreads))
    shown = level_map(Gaussian(np.zeros(4), np.array([0.01, 0.3, 1.0, 50.0])), np.zeros((4, 1)))
    quantiles = shown.over_samples().icdf(SHOWN[:, None])
    assert (np.diff(quantiles, axis=0) > 0.0).all()


def test_shown_is_the_mean_of_the_levels_played_and_the_models_own() -> None:
    pits = np.random.default_rng(0).random(50)
    past = evidence(0.3 + 0.3 * pits, np.full(50, 0.01))
    recipe = GroupedQuantile(0.05, FIVE, trust=50.0)
    played = recipe.played(past)[0]
    assert (np.diff(played) > 1e-6).all(), "no pools, so that nothing is spread"
    group = recipe.groups(past)
    count = int((group == 0).sum())
    shown = recipe.fit(past)(Gaussian(np.zeros(1), np.full(1, 1e-5)), np.zeros((1, 1)))
    weight = count / (count + 50.0)
    for p, r in zip(FIVE, played, strict=True):
        level = weight * r + (1.0 - weight) * p
        np.testing.assert_allclose(shown.icdf(p), 1e-5 * ndtri(level), rtol=1e-6, atol=1e-12)


def test_latent_values_are_left_as_they_are() -> None:
    level_map = GroupedQuantile().fit(evidence(np.full(40, 0.5), np.ones(40)))
    latent = Gaussian(np.zeros(2), np.ones(2), noise_std=0.1)
    assert level_map(latent, np.zeros((2, 1))) is latent


def test_batches_are_mapped_point_by_point() -> None:
    level_map = GroupedQuantile(trust=1.0).fit(evidence(np.full(40, 0.5), np.repeat([0.01, 3.0], 20)))
    std = np.array([[0.001, 9.0, 0.4], [9.0, 0.001, 9.0]])
    batch = level_map(Gaussian(np.zeros((2, 3)), std), np.zeros((2, 3, 1)))
    flat = level_map(Gaussian(np.zeros(6), std.ravel()), np.zeros((6, 1)))
    np.testing.assert_allclose(batch.icdf(0.9).ravel(), flat.icdf(0.9))
    np.testing.assert_allclose(batch.over_samples().icdf(np.array([[0.1], [0.9]]))[:, 1], batch.icdf(0.9))
    np.testing.assert_allclose(batch.negated().icdf(0.1), -batch.icdf(0.9))
    assert batch.draws(np.zeros((5, 3))).shape == (2, 5, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"eta": 0.0},
        {"levels": (0.5, 0.4)},
        {"edges": ()},
        {"edges": (0.6, 0.2)},
        {"edges": (0.0, 1.0)},
        {"trust": -1.0},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        GroupedQuantile(**wrong)  # type: ignore[arg-type]
