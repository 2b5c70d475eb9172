"""Masks of sampled outcomes of Stanton et al. 2023: reference masks, refits, and agreement with the exact sets."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibo.calibration.conformal_set import conformal_sets, in_sample_score
from calibo.data import Array
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization

RNG = np.random.default_rng
SPEC = spec_from_file_location("masks", Path(__file__).parents[2] / "reproductions" / "stanton2023" / "masks.py")
assert SPEC is not None and SPEC.loader is not None
MASKS = module_from_spec(SPEC)
SPEC.loader.exec_module(MASKS)
conformity_scores, relaxed_masks = MASKS.conformity_scores, MASKS.relaxed_masks


def p_values(scores: Array, weights: Array) -> Array:
    return (scores <= scores[..., -1:]) @ weights


def toy(reference: dict[str, Any]) -> Posterior:
    X, y, noise = np.array(reference["X"]), np.array(reference["y"]), reference["noise_variance"]
    theta = Hyperparameters(np.full(X.shape[1], reference["lengthscale"]), reference["outputscale"], noise)
    return Posterior(Matern52(), Features((0,)), theta, X, y, np.full(len(y), noise), Standardization(1.0, 0.0, 1.0))


def uneven() -> Posterior:
    """With a known noise of each measurement."""
    rng = RNG(0)
    theta = Hyperparameters(np.full(2, 0.4), 1.5, 0.1, 0.3)
    noise = rng.uniform(0.01, 0.5, 9)
    y = rng.standard_normal(9)
    return Posterior(Matern52(), Features((0, 0)), theta, rng.random((9, 2)), y, noise, Standardization(1.0, 0.0, 1.0))


def test_reference_scores_and_masks(golden: Callable[[str], Any]) -> None:
    reference = golden("cbo_masks")
    augmentation = toy(reference["toy"]).augmented(np.array([[reference["x"]]]), latent=False)[1]
    scores = conformity_scores(augmentation, np.array(reference["scores_yhat"]))[0]
    np.testing.assert_allclose(scores, reference["scores_rows_are_train_then_new"], atol=1e-8)
    scores = conformity_scores(augmentation, np.array(reference["grid"]))[0]
    alpha, uniform, ratio = (
        reference["alpha"],
        np.array(reference["weights_uniform"]),
        np.array(reference["weights_ratio"]),
    )
    for weights, name in ((uniform, "hard_uniform"), (ratio, "hard_ratio")):
        np.testing.assert_array_equal(relaxed_masks(scores, weights, alpha, 0.0), reference[name])
        np.testing.assert_array_equal(p_values(scores, weights) > alpha, np.array(reference[name]) > 0.5)
        assert 0 < np.sum(reference[name]) < len(reference[name])
    soft = relaxed_masks(scores, uniform, alpha, 0.01)
    np.testing.assert_allclose(soft, reference["soft_uniform_temp_0p01_no_rescale"], atol=1e-8)
    soft = relaxed_masks(scores, uniform, alpha, 0.01, rescaled=True)
    np.testing.assert_allclose(soft, reference["soft_uniform_temp_0p01_repo_rescaled"], atol=1e-8)


@pytest.mark.parametrize("alpha", [0.25, 0.35, 0.62, 0.85])
def test_hard_masks_are_membership_in_the_exact_set(alpha: float) -> None:
    augmentation = uneven().augmented(RNG(1).random((6, 2)), latent=False)[1]
    weights = RNG(3).dirichlet(np.full(10, 3.0))
    sets = conformal_sets(augmentation, in_sample_score, weights[:-1], np.full(6, weights[-1]), alpha)
    std = np.sqrt(augmentation.total)[:, None]
    outcomes = augmentation.mean[:, None] + std * np.linspace(-6.0, 6.0, 501)
    masks = relaxed_masks(conformity_scores(augmentation, outcomes), weights, alpha, 0.0)
    y = outcomes[:, :, None]
    inside = ((sets.low[:, None] <= y) & (y <= sets.high[:, None])).any(axis=-1)
    assert not sets.unseen.any() and inside.any()
    assert np.mean(masks != inside) == 0.0


def scores() -> Array:
    """Of 61 outcomes around the mean amid nine measurements of a smooth function."""
    X = np.linspace(0.0, 1.0, 9)[:, None]
    y = np.sin(5.0 * X[:, 0]) + 0.2 * RNG(4).standard_normal(9)
    theta = Hyperparameters(np.full(1, 0.4), 1.0, 0.04)
    model = Posterior(Matern52(), Features((0,)), theta, X, y, np.full(9, 0.04), Standardization(1.0, 0.0, 1.0))
    augmentation = model.augmented(np.array([[0.43]]), latent=False)[1]
    return conformity_scores(augmentation, augmentation.mean[:, None] + np.linspace(-1.5, 1.5, 61))[0]


def test_soft_masks_become_hard_ones() -> None:
    s, weights, alpha = scores(), np.full(10, 0.1), 0.35
    hard = relaxed_masks(s, weights, alpha, 0.0)
    previous = np.inf
    for temperature in (1.0, 0.1, 0.01, 1e-4):
        soft = relaxed_masks(s, weights, alpha, temperature)
        assert ((soft >= 0.0) & (soft <= 1.0)).all()
        error = float(np.abs(soft - hard).mean())
        assert error < previous
        previous = error
    assert previous < 0.05


def test_rescaled_masks_count_exactly() -> None:
    s, weights = scores(), np.full(10, 0.1)
    soft = relaxed_masks(s, weights, 0.35, 0.05, rescaled=True)
    exact = 1.0 / (1.0 + np.exp(-(p_values(s, weights) - 0.35) / 0.05))
    np.testing.assert_allclose(soft, exact)


def test_randomised_masks_accept_the_edge_in_the_right_share_of_draws() -> None:
    """Of p-values between alpha and alpha + w_new, the share (p - alpha) / w_new: exactly valid on average.

    4,000 draws for each of at most ten p-values: a deviation of 5 standard errors has a chance below 1e-5.
    """
    weights, alpha, draws = np.append(np.full(9, 0.085), 0.235), 0.3, 4000
    s = np.broadcast_to(scores(), (draws, 61, 10))
    masks = relaxed_masks(s, weights, alpha, 0.0, rng=RNG(0))
    share = np.clip((p_values(scores(), weights) - alpha) / 0.235, 0.0, 1.0)
    assert ((share > 0.05) & (share < 0.95)).any()
    np.testing.assert_allclose(masks.mean(axis=0), share, atol=5 * 0.5 / np.sqrt(draws))
    np.testing.assert_array_equal(masks, relaxed_masks(s, weights, alpha, 0.0, rng=RNG(0)))
    soft = relaxed_masks(s, weights, alpha, 0.01, rng=RNG(0))
    assert ((soft >= 0.0) & (soft <= 1.0)).all()
