"""What models and wrappers declare, and what they say about what they cannot do."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement
from calibo.calibration import Calibrated, Temperature
from calibo.data import Dataset
from calibo.errors import CapabilityError, RecipeError
from calibo.models import Capability, GaussianProcess, HeteroscedasticGP, Model, QuantileTrees
from calibo.optimize import ModelBased

RNG = np.random.default_rng
DATA = Dataset(X=np.array([[0.1], [0.5], [0.8]]), Y=np.array([[0.0], [1.0], [0.5]]))


def test_implementing_a_member_declares_the_capability() -> None:
    found = {type(s).__name__: s.capabilities for s in (GaussianProcess(), HeteroscedasticGP(), QuantileTrees())}
    closed = {Capability.LEAVE_ONE_OUT, Capability.ONE_STEP_AHEAD, Capability.AUGMENTATION}
    fitted = {Capability.HYPERPARAMETERS, Capability.LENGTHSCALES, Capability.DEPENDENCE}
    assert found == {
        "GaussianProcess": closed | fitted,
        "HeteroscedasticGP": fitted | {Capability.NOISE},
        "QuantileTrees": frozenset(),
    }
    assert GaussianProcess().fit(DATA, rng=RNG(0)).capabilities == found["GaussianProcess"]


def test_a_missing_capability_says_what_to_use_instead() -> None:
    model = QuantileTrees().fit(DATA, rng=RNG(0))
    X = DATA.X
    calls = {
        "HeteroscedasticGP": lambda: model.noise_variance(X),
        "GaussianProcess": lambda: model.lengthscales,
        "LeaveOneOut": lambda: model.leave_one_out(),
        "TimeSeries": lambda: model.one_step_ahead(),
        "use GaussianProcess": lambda: model.augmented(X, latent=True),
        "DensityRatio": lambda: model.learned(X, rng=RNG(0)),
        "ratio=": lambda: model.in_distribution(X),
        r"similar_forecasts: use Calibrated\(": lambda: model.similar_forecasts(X),
    }
    for remedy, call in calls.items():
        with pytest.raises(CapabilityError, match=f"QuantileModel has no .*{remedy}"):
            call()
    assert model.hyperparameters == ()


def test_a_hidden_capability_says_why() -> None:
    model = Calibrated(GaussianProcess(), by=Temperature()).fit(DATA, rng=RNG(0))
    with pytest.raises(CapabilityError, match=r"CalibratedModel has no augmented \(a calibrated distribution is not"):
        model.augmented(DATA.X, latent=True)


def test_surrogates_are_checked_where_they_are_given() -> None:
    for given in ("gp", GaussianProcess, object()):
        with pytest.raises(RecipeError, match=r"surrogate must be a Surrogate such as GaussianProcess\(\)"):
            ModelBased(given, ExpectedImprovement())  # type: ignore[arg-type]
        with pytest.raises(RecipeError, match="surrogate must be a Surrogate"):
            Calibrated(given, by=Temperature())  # type: ignore[arg-type]


def test_fitting_many_is_fitting_each() -> None:
    subsets = [np.array([0, 1]), np.array([1, 2, 2])]
    for rows, model in zip(subsets, GaussianProcess().fit_many(DATA, subsets, rng=RNG(0)), strict=True):
        assert isinstance(model, Model)
        np.testing.assert_array_equal(
            model.predict(DATA.X, latent=False).mean,
            GaussianProcess().fit(DATA.rows(rows), rng=RNG(0)).predict(DATA.X, latent=False).mean,
        )


def test_the_innermost_surrogate_can_be_changed() -> None:
    inside = Calibrated(Calibrated(GaussianProcess(), by=Temperature(0.1)), by=Temperature())
    changed = inside.with_innermost(lambda innermost: QuantileTrees())
    assert changed == Calibrated(Calibrated(QuantileTrees(), by=Temperature(0.1)), by=Temperature())
    assert GaussianProcess().with_innermost(lambda innermost: QuantileTrees()) == QuantileTrees()
