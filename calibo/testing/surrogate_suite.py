"""Tests that every surrogate must pass, to inherit::

class TestMySurrogate(SurrogateSuite):
    def surrogate(self):
        return MySurrogate(...)
"""

from __future__ import annotations

import warnings

import numpy as np

from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import FallbackWarning
from calibo.models import Surrogate
from calibo.testing.randomness import global_state


class SurrogateSuite:
    """Tests for pytest; a subclass whose name starts with `Test` gives the surrogate under test.

    Attributes:
        points: Number of points of the ordinary data.
        tolerance: How far predictions may move when nothing that matters has changed (units of the outcomes, order of
            the points), in standard deviations of the outcomes.
        order_matters: Whether the order of the points may change predictions (prequential evidence).
    """

    points: int = 16
    tolerance: float = 1e-4
    order_matters: bool = False

    def surrogate(self) -> Surrogate:
        """Return the surrogate under test; always a new one or always the same."""
        raise NotImplementedError("override surrogate() to return the surrogate under test")

    def data(self, n: int | None = None, d: int = 3, seed: int = 0) -> Dataset:
        """Return n points of a smooth function of d columns with a little noise."""
        rng = np.random.default_rng(seed)
        X = rng.random((n or self.points, d))
        y = np.sin(4.0 * X[:, 0]) + X.sum(axis=1) / np.sqrt(d) + 0.05 * rng.standard_normal(len(X))
        return Dataset(X=X, Y=y[:, None])

    def test_predictions_have_the_shape_of_the_points(self) -> None:
        distribution = self._distribution(self.data(), self._targets(3))
        for name, array in _arrays(distribution).items():
            assert array.shape == (6,), f"{name} has shape {array.shape}, expected (6,): one entry per point"
            assert array.dtype == np.float64, f"{name} is {array.dtype}, expected float64"
        values, log_weights = distribution.samples(np.random.default_rng(0).standard_normal((5, 6)))
        assert values.shape == (5, 6) and np.broadcast_shapes(log_weights.shape, (5, 6)) == (5, 6), (
            f"draws have shape {values.shape}, expected (5, 6)"
        )

    def test_batches_are_consistent_with_flat_points(self) -> None:
        model = self.surrogate().fit(self.data(), rng=np.random.default_rng(1))
        X = self._targets(3)
        for latent in (True, False):
            flat = model.predict(X, latent=latent)
            batched = model.predict(X.reshape(3, 2, -1), latent=latent)
            for name, array in _arrays(batched).items():
                np.testing.assert_allclose(array, _arrays(flat)[name].reshape(3, 2), rtol=1e-7, atol=1e-9, err_msg=name)
            values = batched.samples(np.random.default_rng(0).standard_normal((5, 2)))[0]
            assert values.shape == (3, 5, 2), f"draws have shape {values.shape}, expected batches x draws x points"
            assert np.isfinite(values).all()

    def test_one_by_one_is_the_same_as_all_at_once(self) -> None:
        model = self.surrogate().fit(self.data(), rng=np.random.default_rng(1))
        X = self._targets(3)
        together = _arrays(model.predict(X, latent=False))
        for i in range(len(X)):
            for name, array in _arrays(model.predict(X[[i]], latent=False)).items():
                np.testing.assert_allclose(array, together[name][[i]], rtol=1e-7, atol=1e-9, err_msg=name)

    def test_a_measurement_is_less_certain_than_its_mean(self) -> None:
        model = self.surrogate().fit(self.data(), rng=np.random.default_rng(1))
        latent, measured = (model.predict(self._targets(3), latent=flag) for flag in (True, False))
        np.testing.assert_allclose(latent.mean, measured.mean, atol=0.5 * float(np.max(measured.std)))
        assert (latent.std <= measured.std * (1.0 + 1e-12)).all(), "the std of f must not exceed that of f + noise"

    def test_the_same_seed_gives_the_same_predictions(self) -> None:
        first, second = (_arrays(self._distribution(self.data(), self._targets(3))) for _ in range(2))
        for name in first:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)

    def test_global_generators_are_left_alone(self) -> None:
        before = global_state()
        self._distribution(self.data(), self._targets(3)).samples(np.zeros((2, 6)))
        assert global_state() == before, "a global generator was used: draw from the one that is passed in"

    def test_the_data_are_not_changed(self) -> None:
        data = self.data()
        X, Y = data.X.copy(), data.Y.copy()
        self._distribution(data, self._targets(3))
        np.testing.assert_array_equal(data.X, X)
        np.testing.assert_array_equal(data.Y, Y)

    def test_units_of_the_outcomes_do_not_matter(self) -> None:
        data, X = self.data(), self._targets(3)
        plain, spread = _arrays(self._distribution(data, X)), float(data.Y.std())
        for factor, shift in ((1024.0, 0.0), (2.0**-20, 0.0), (3.0, 40.0), (1e6, -7e6)):
            distribution = self._distribution(Dataset(X=data.X, Y=factor * data.Y + shift), X)
            for name, array in _arrays(distribution).items():
                expected = factor * plain[name] + (0.0 if name == "std" else shift)
                error = float(np.max(np.abs(array - expected))) / (factor * spread)
                assert error <= self.tolerance, f"{name} of {factor} y + {shift} is off by {error:.2g} std"

    def test_the_order_of_the_points_does_not_matter(self) -> None:
        if self.order_matters:
            return
        data, X = self.data(), self._targets(3)
        shuffled = data.rows(np.random.default_rng(5).permutation(len(data)))
        plain, spread = _arrays(self._distribution(data, X)), float(data.Y.std())
        for name, array in _arrays(self._distribution(shuffled, X)).items():
            error = float(np.max(np.abs(array - plain[name]))) / spread
            assert error <= self.tolerance, f"shuffling the data moves {name} by {error:.2g} std"

    def test_choices_are_distinguished_and_unordered(self) -> None:
        rng = np.random.default_rng(2)
        choice = rng.integers(0, 3, 24)
        X = np.column_stack([rng.random(24), (choice + 0.5) / 3.0])
        Y = np.asarray(X[:, [0]] + np.array([[0.0], [5.0], [-5.0]])[choice], dtype=np.float64)
        data = Dataset(X=np.asarray(X, dtype=np.float64), Y=Y, categories=(0, 3))
        near, same, other = (self._distribution(data, np.array([[0.5, c]])) for c in (0.4, 0.6, 0.8))
        np.testing.assert_allclose(near.mean, same.mean, rtol=1e-9, err_msg="one choice at two places of its cell")
        assert abs(float(near.mean[0] - other.mean[0])) > 1.0, "different choices have the same prediction"

    def test_known_noise_is_accepted(self) -> None:
        data = self.data()
        known = np.full_like(data.Y, 0.01)
        with warnings.catch_warnings():
            # A surrogate that cannot use it may warn.
            warnings.simplefilter("ignore", FallbackWarning)
            self._sane(Dataset(X=data.X, Y=data.Y, Y_var=known))
            known[::2] = np.nan
            self._sane(Dataset(X=data.X, Y=data.Y, Y_var=known))

    def test_few_points(self) -> None:
        for n in (1, 2, 3):
            self._sane(self.data(n))

    def test_outcomes_that_are_all_equal(self) -> None:
        data = self.data()
        for value in (0.0, 1.0, -3e5, 1e-300):
            self._sane(Dataset(X=data.X, Y=np.full_like(data.Y, value)))

    def test_repeated_points(self) -> None:
        data = self.data()
        self._sane(Dataset(X=data.X[np.arange(len(data)) // 4], Y=data.Y))
        self._sane(Dataset(X=np.repeat(data.X[:1], 8, axis=0), Y=np.repeat(data.Y[:1], 8, axis=0)))

    def test_huge_and_tiny_outcomes(self) -> None:
        data = self.data()
        for scale in (1e300 / float(np.abs(data.Y).max()), 1e-300):
            self._sane(Dataset(X=data.X, Y=data.Y * scale))

    def test_an_outlier(self) -> None:
        data = self.data()
        Y = data.Y.copy()
        Y[3] = 1e12
        self._sane(Dataset(X=data.X, Y=Y))

    def test_one_and_fifty_dimensions(self) -> None:
        self._sane(self.data(d=1))
        self._sane(self.data(d=50))

    def test_a_column_that_never_changes(self) -> None:
        data = self.data()
        X = data.X.copy()
        X[:, 1] = 0.5
        self._sane(Dataset(X=X, Y=data.Y))

    def _targets(self, d: int) -> Array:
        """Return six points to predict at, among them corners of the cube."""
        X = np.random.default_rng(9).random((6, d))
        X[0], X[1] = 0.0, 1.0
        return X

    def _distribution(self, data: Dataset, X: Array, *, latent: bool = False) -> Distribution:
        return self.surrogate().fit(data, rng=np.random.default_rng(1)).predict(X, latent=latent)

    def _sane(self, data: Dataset) -> None:
        """Check that predictions at new points and at the data are finite, with positive deviations."""
        model = self.surrogate().fit(data, rng=np.random.default_rng(1))
        X = np.vstack([self._targets(data.X.shape[1]), data.X[:2]])
        for latent in (True, False):
            distribution = model.predict(X, latent=latent)
            for name, array in _arrays(distribution).items():
                assert np.isfinite(array).all(), f"{name} (latent={latent}) is not finite: {array}"
            assert (distribution.std > 0.0).all(), (
                f"standard deviations (latent={latent}) must be positive, got {distribution.std}"
            )
            low, high = distribution.interval(0.8)
            assert (low <= high).all(), "the lower end of an interval lies above its upper end"
            for end, unbacked in ((low, distribution.backed[0] > 0.1), (high, distribution.backed[1] < 0.9)):
                assert np.isfinite(end).all() or unbacked, "an interval is infinite though its levels are backed"
            draws = distribution.samples(np.random.default_rng(0).standard_normal((3, len(X))))[0]
            assert np.isfinite(draws).all(), f"joint draws (latent={latent}) are not finite"


def _arrays(distribution: Distribution) -> dict[str, Array]:
    # The values that draws use, which are finite also at levels that are not supported.
    return {
        "mean": distribution.mean,
        "std": distribution.std,
        "low": distribution.at_levels(0.05),
        "high": distribution.at_levels(0.95),
    }
