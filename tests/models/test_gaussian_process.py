"""The fitted surrogate: its gradient, its optimum, its warm start, and data that have nothing to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from calibo.data import Array, Dataset
from calibo.errors import RecipeError
from calibo.models import RBF, GaussianProcess, InputWarping, Kernel, Matern32, Matern52, NoisePrior
from calibo.models.gaussian_process import NegativeLogPosterior
from calibo.models.gp_posterior import Features
from calibo.models.kernel_features import kernel_features
from calibo.models.subsets import representative
from calibo.models.trend import TRENDS, PolynomialTrend

RNG = np.random.default_rng


def smooth_data(n: int = 25, d: int = 3, seed: int = 0, noise: float = 0.05) -> Dataset:
    rng = RNG(seed)
    X = rng.random((n, d))
    y = np.sin(5 * X[:, 0]) + (X[:, -1] - 0.3) ** 2 + noise * rng.standard_normal(n)
    return Dataset(X=X, Y=y[:, None])


def objective(
    kernel: Kernel,
    categories: tuple[int, ...],
    known: str,
    n: int = 14,
    *,
    warping: InputWarping | None = None,
    trend: str = "constant",
    noise_prior: NoisePrior | None = None,
) -> NegativeLogPosterior:
    rng = RNG(1)
    X = rng.random((n, len(categories)))
    for j, k in enumerate(categories):
        if k:
            X[:, j] = (rng.integers(k, size=n) + 0.5) / k
    noise = np.full(n, np.nan)
    noise[{"none": slice(0), "some": slice(5), "all": slice(None)}[known]] = 0.02
    z = np.sin(4 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    z, line = (z - z.mean()) / z.std(), PolynomialTrend.named(trend, categories)
    return NegativeLogPosterior(kernel, Features(categories), X, z, noise, warping, line, noise_prior or NoisePrior())


@pytest.mark.parametrize("kernel", [Matern52(), RBF()], ids=["matern", "rbf"])
@pytest.mark.parametrize("categories", [(0,), (0, 0, 0), (0, 3, 0, 2), (4,)], ids=str)
@pytest.mark.parametrize("known", ["none", "some", "all"])
def test_gradient_against_finite_differences(kernel: Kernel, categories: tuple[int, ...], known: str) -> None:
    f = objective(kernel, categories, known)
    rng, d = RNG(2), len(categories)
    for _ in range(3):
        raw = np.concatenate([rng.uniform(-1.5, 1.0, d), rng.uniform(-0.5, 0.5, 1), rng.uniform(-5, -1, 1)])
        _, gradient = f(raw)
        numeric = approx_fprime(raw, lambda v: f(v)[0], 1e-6)
        backward = approx_fprime(raw, lambda v: f(v)[0], -1e-6)
        np.testing.assert_allclose(gradient, (numeric + backward) / 2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("categories", [(0,), (0, 3, 0), (2, 0), (3,)], ids=str)
@pytest.mark.parametrize("warping", [None, InputWarping(0.7)], ids=["plain", "warped"])
@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("kernel", [Matern32(), RBF()], ids=["matern32", "rbf"])
def test_gradient_with_warping_and_trend(
    categories: tuple[int, ...], warping: InputWarping | None, trend: str, kernel: Kernel
) -> None:
    f = objective(kernel, categories, "some", warping=warping, trend=trend, noise_prior=NoisePrior(-5.0, 2.0))
    rng, size = RNG(2), len(f.bounds())
    data = Dataset(X=np.empty((0, len(categories))), Y=np.empty((0, 1)), categories=categories)
    assert size == GaussianProcess(warping=warping, trend=trend).stored_size(data)
    for _ in range(3):
        raw = rng.uniform(-0.8, 0.8, size)
        raw[-1] -= 3.0
        value, gradient = f(raw)
        assert value == pytest.approx(f.value(raw), rel=1e-12)
        step = 1e-5 * np.eye(size)
        numeric = [(f.value(raw + e) - f.value(raw - e)) / 2e-5 for e in step]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


def test_points_on_the_border_of_the_cube_have_a_gradient() -> None:
    f = objective(Matern52(), (0, 0), "none", warping=InputWarping())
    f.X[:4] = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.3]]
    raw = np.array([-0.5, 0.3, 0.4, -0.6, -0.5, 0.7, 0.1, -3.0])
    step = 1e-5 * np.eye(8)
    numeric = [(f.value(raw + e) - f.value(raw - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(f(raw)[1], numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("warping", [None, InputWarping()], ids=["plain", "warped"])
def test_the_posterior_is_the_one_whose_likelihood_was_maximized(trend: str, warping: InputWarping | None) -> None:
    data = smooth_data(15)
    process = GaussianProcess(trend=trend, warping=warping)
    model, f = process.fit(data, rng=RNG(0)), process.objective(data)
    raw = np.array(model.hyperparameters)
    likelihood = -model.log_marginal_likelihood() - 7.5 * np.log(2 * np.pi)
    assert f.value(raw) == pytest.approx(likelihood + f._prior(raw)[0], rel=1e-9)
    assert len(raw) == process.stored_size(data)


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "some_known"])
@pytest.mark.parametrize(
    "process",
    [
        GaussianProcess(warping=InputWarping(), trend="quadratic"),
        GaussianProcess(noise=NoisePrior.wide()),
        GaussianProcess(subset=8),
        GaussianProcess(subset=16),
    ],
    ids=["parts", "wide", "fewer", "all"],
)
def test_the_factor_of_the_posterior_is_that_of_its_own_covariances(
    process: GaussianProcess, known: bool, refit: bool
) -> None:
    data = smooth_data(16)
    if known:
        # Below the least variance, too.
        data = replace(data, Y_var=np.where(np.arange(16) < 5, np.geomspace(1e-12, 0.1, 16), np.nan)[:, None])
    stored = process.fit(data, rng=RNG(0)).hyperparameters
    model = process.fit(replace(data, hyperparameters=(stored,), refit=refit), rng=RNG(0))
    raw = np.array(model.hyperparameters)
    again, other = (process.posterior(d, process.objective(data), raw) for d in (data, data.rows(slice(3, 12))))
    moved = process.posterior(replace(data, X=data.X[::-1]), process.objective(data), raw)
    for found in (model, again, other, moved, replace(model, X=data.X[::-1])):
        covariance = found.between(found.scaled, found.scaled) + np.diag(found.noise)
        np.testing.assert_allclose(found.cholesky @ found.cholesky.T, covariance, rtol=1e-9, atol=1e-12)


def test_warping_by_the_identity_is_none() -> None:
    data, X = smooth_data(20), RNG(1).random((6, 3))
    plain, process = GaussianProcess().fit(data, rng=RNG(0)), GaussianProcess(warping=InputWarping())
    raw, f = np.array(plain.hyperparameters), process.objective(data)
    still = np.concatenate([raw[:3], np.zeros(6), raw[3:]])
    value, gradient = GaussianProcess().objective(data)(raw)
    assert f(still)[0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(np.delete(f(still)[1], range(3, 9)), gradient, rtol=1e-6, atol=1e-8)
    found = process.posterior(data, f, still)
    for latent in (True, False):
        ours, theirs = (m.predict(X, latent=latent) for m in (found, plain))
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9)
        np.testing.assert_allclose(ours.std, theirs.std, rtol=1e-9)


def test_warping_finds_where_the_outcome_varies() -> None:
    X = np.linspace(0.01, 0.99, 30)[:, None]
    data = Dataset(X=X, Y=np.sin(12 * X**3))
    model = GaussianProcess(warping=InputWarping()).fit(data, rng=RNG(0))
    assert np.exp(model.hyperparameters[1]) > 1.5  # a: the column is stretched at its end
    new = RNG(0).random((50, 1))
    errors = [
        np.abs(m.predict(new, latent=True).mean - np.sin(12 * new[:, 0] ** 3)).mean()
        for m in (model, GaussianProcess().fit(data, rng=RNG(0)))
    ]
    assert errors[0] < 0.5 * errors[1]


def test_a_trend_goes_on_beyond_the_data() -> None:
    X = RNG(0).uniform(0.0, 0.5, (15, 2))
    data = Dataset(X=X, Y=(8 * X[:, [0]] - 3 * X[:, [1]]))
    corner = np.array([[1.0, 0.2]])
    errors = {
        trend: abs(GaussianProcess(trend=trend).fit(data, rng=RNG(0)).predict(corner, latent=True).mean[0] - 7.4)
        for trend in ("constant", "linear")
    }
    assert errors["linear"] < 0.5 * errors["constant"]


def test_an_unknown_trend_is_refused() -> None:
    with pytest.raises(RecipeError, match="constant.*linear.*quadratic"):
        GaussianProcess(trend="cubic")


PROCESSES = [
    GaussianProcess(),
    GaussianProcess(warping=InputWarping()),
    GaussianProcess(trend="linear"),
    GaussianProcess(warping=InputWarping(), trend="quadratic"),
]


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
def test_stored_hyperparameters_are_those_of_the_same_process_only(before: int, after: int) -> None:
    data = smooth_data(12)
    stored = PROCESSES[before].fit(data, rng=RNG(0)).hyperparameters
    kept = PROCESSES[after].fit(replace(data, hyperparameters=(stored,), refit=False), rng=RNG(0))
    expected = stored if before == after else PROCESSES[after].fit(data, rng=RNG(0)).hyperparameters
    assert kept.hyperparameters == expected


def test_as_many_numbers_of_something_else_are_no_hyperparameters() -> None:
    data = smooth_data(12, d=1)
    # Two more numbers, as a warped outcome stores them, are as many as those of a warping of one column.
    stored = (*GaussianProcess().fit(data, rng=RNG(0)).hyperparameters, 1.0, 12.0)
    process = GaussianProcess(warping=InputWarping())
    assert len(stored) == process.stored_size(data)
    found = process.fit(replace(data, hyperparameters=(stored,), refit=False), rng=RNG(0))
    assert found.hyperparameters == process.fit(data, rng=RNG(0)).hyperparameters


def test_value_is_the_likelihood_and_the_priors() -> None:
    data = smooth_data(12)
    model = GaussianProcess().fit(data, rng=RNG(0))
    units = model.units
    f = NegativeLogPosterior(Matern52(), Features((0, 0, 0)), data.X, units.forward(data.Y[:, 0]), np.full(12, np.nan))
    raw = np.array(model.hyperparameters)
    lengths, scale, noise = raw[:3], raw[3], raw[4]
    location = np.sqrt(2) + np.log(3) / 2
    prior = np.sum(lengths + (lengths - location) ** 2 / 6) + scale**2 / 2 + (noise + 5) ** 2 / 2
    expected = -model.log_marginal_likelihood() - 6 * np.log(2 * np.pi) + prior
    assert f(raw)[0] == pytest.approx(expected, rel=1e-9)


def test_the_value_alone_is_the_same() -> None:
    f = objective(Matern52(), (0, 3), "some")
    raw = np.array([-1.0, -0.5, 0.1, -3.0])
    assert f.value(raw) == pytest.approx(f(raw)[0], rel=1e-12)


def test_the_mean_is_the_best_constant() -> None:
    f = objective(Matern52(), (0, 0), "none")
    raw = np.array([-1.0, -0.5, 0.1, -3.0])
    theta = f.hyperparameters(raw)
    s = np.square((f.X[:, None] - f.X[None]) / theta.lengthscales).sum(axis=-1)
    A = theta.outputscale * Matern52().correlation(s) + theta.noise * np.eye(len(f.z))
    ones = np.ones(len(f.z))
    assert theta.mean == pytest.approx((ones @ np.linalg.solve(A, f.z)) / (ones @ np.linalg.solve(A, ones)))


@pytest.mark.parametrize("kernel", [Matern52(), RBF()], ids=["matern", "rbf"])
def test_the_fit_is_as_good_as_the_optimum(kernel: Kernel) -> None:
    data = smooth_data()
    model = GaussianProcess(kernel, max_iterations=200).fit(data, rng=RNG(0))
    f = NegativeLogPosterior(kernel, Features((0,) * 3), data.X, model.units.forward(data.Y[:, 0]), np.full(25, np.nan))
    raw = np.array(model.hyperparameters)
    value = f(raw)[0]
    found = [minimize(f, start, jac=True, bounds=f.bounds(), options={"ftol": 1e-12}) for start in (raw, *f.starts())]
    assert value <= min(one.fun for one in found) + 0.02


@dataclass(frozen=True)
class Counting(Kernel):
    """A kernel that counts how often the likelihood is evaluated."""

    calls: list[int] = field(default_factory=list)

    def correlation(self, s: Array) -> Array:
        return Matern52().correlation(s)

    def with_derivative(self, s: Array) -> tuple[Array, Array]:
        self.calls.append(1)
        return Matern52().with_derivative(s)


def test_a_warm_start_reaches_the_same_optimum_sooner() -> None:
    data = smooth_data(30)
    cold_kernel, warm_kernel = Counting(), Counting()
    cold = GaussianProcess(cold_kernel).fit(data, rng=RNG(0))
    warm = GaussianProcess(warm_kernel).fit(replace(data, hyperparameters=(cold.hyperparameters,)), rng=RNG(0))
    np.testing.assert_allclose(warm.hyperparameters, cold.hyperparameters, atol=0.05)
    assert warm.log_marginal_likelihood() == pytest.approx(cold.log_marginal_likelihood(), abs=1e-2)
    assert len(warm_kernel.calls) < len(cold_kernel.calls)


@pytest.mark.parametrize("stored", [(), (1.0,), (1e9,) * 5, (-1e9,) * 5])
def test_hyperparameters_that_do_not_fit_do_no_harm(stored: tuple[float, ...]) -> None:
    data = smooth_data(10)
    plain = GaussianProcess().fit(data, rng=RNG(0))
    model = GaussianProcess().fit(replace(data, hyperparameters=(stored,)), rng=RNG(0))
    X = RNG(1).random((5, 3))
    np.testing.assert_allclose(model.predict(X, latent=True).mean, plain.predict(X, latent=True).mean, atol=0.05)


def test_without_refit_stored_hyperparameters_are_taken_as_they_are() -> None:
    before, after = smooth_data(20), smooth_data(25)
    stored = GaussianProcess().fit(before, rng=np.random.default_rng(0)).hyperparameters
    kept = replace(after, hyperparameters=(stored,), refit=False)
    kernel = Counting()
    model = GaussianProcess(kernel).fit(kept, rng=np.random.default_rng(0))
    assert model.hyperparameters == stored and not kernel.calls
    assert len(model.y) == 25  # the data are the new ones
    without = replace(after, refit=False)
    assert (
        GaussianProcess().fit(without, rng=np.random.default_rng(0)).hyperparameters
        == GaussianProcess().fit(after, rng=np.random.default_rng(0)).hyperparameters
    )


def test_it_predicts() -> None:
    train, test = smooth_data(40, noise=0.02), smooth_data(200, seed=9, noise=0.0)
    distribution = GaussianProcess().fit(train, rng=RNG(0)).predict(test.X, latent=False)
    error = test.Y[:, 0] - distribution.mean
    assert np.sqrt(np.mean(error**2)) < 0.1 * test.Y.std()
    assert 0.8 < np.mean(np.abs(error) < 2 * distribution.std) <= 1.0


def test_latent_laws_are_narrower_by_the_noise() -> None:
    model = GaussianProcess().fit(smooth_data(120, noise=0.3), rng=RNG(0))
    X = RNG(1).random((6, 3))
    f, y = model.predict(X, latent=True), model.predict(X, latent=False)
    np.testing.assert_array_equal(f.mean, y.mean)
    noise = float(model.units.backward_std(np.sqrt(model.theta.noise)))
    np.testing.assert_allclose(y.std**2 - f.std**2, noise**2, rtol=1e-9)
    assert noise == pytest.approx(0.3, rel=0.5)


def test_a_wave_that_a_fit_takes_for_noise_is_found_if_noise_is_doubted() -> None:
    X = RNG(4).random((45, 3))
    X[8:, 1:] = 0.0

    def wave(x: Array) -> Array:
        return x * np.sin(10.0 * np.pi * x)

    data = Dataset(X=X, Y=(wave(X[:, 0]) + 4.0 * X[:, 1:].sum(axis=1))[:, None])
    trusting = GaussianProcess(noise=NoisePrior.wide())
    doubting = replace(trusting, doubts_noise=True)
    line = np.column_stack([np.linspace(0.0, 1.0, 50), np.zeros((50, 2))])
    noises, errors = [], []
    for process in (trusting, doubting):
        # What was stored by a fit that trusts the noise keeps the next one there.
        model = process.fit(
            replace(data, hyperparameters=(trusting.fit(data, rng=RNG(0)).hyperparameters,)), rng=RNG(0)
        )
        noises.append(model.theta.noise)
        errors.append(float(np.std(model.predict(line, latent=True).mean - wave(line[:, 0]))))
    assert noises[0] > 1e-2 and noises[1] < 1e-5
    assert errors[1] < 0.3 * errors[0]


def test_doubted_noise_that_is_there_is_kept() -> None:
    data = smooth_data(40, noise=0.3)
    trusting = GaussianProcess(noise=NoisePrior.wide())
    found, doubted = (one.fit(data, rng=RNG(0)) for one in (trusting, replace(trusting, doubts_noise=True)))
    assert found.hyperparameters == doubted.hyperparameters
    known = replace(data, Y_var=np.full((40, 1), 0.09))
    f, raw = trusting.objective(known), np.array(found.hyperparameters)
    assert trusting.objective(data).may_be_rough(raw) and not f.may_be_rough(raw), "known noise is not doubted"


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_noise_is_neither_invented_nor_explained_away_by_a_wide_prior(share: float) -> None:
    rng, process = RNG(0), GaussianProcess(noise=NoisePrior.wide())
    X = rng.random((60, 4))
    f = np.sin(3 * X[:, 0]) + X[:, 1] - X[:, 2] * X[:, 3]
    y = f + share * f.std() * rng.standard_normal(60)
    cold = process.fit(Dataset(X=X, Y=y[:, None]), rng=RNG(0))
    stored: tuple[float, ...] = ()
    for n in range(6, 61, 6):
        data = Dataset(X=X[:n], Y=y[:n, None], hyperparameters=(stored,) if stored else ())
        stored = process.fit(data, rng=RNG(0)).hyperparameters
    truth = (share * f.std() / y.std()) ** 2
    for noise in (cold.theta.noise, np.exp(stored[-1])):
        assert noise < 1e-5 if share == 0.0 else 0.5 * truth < noise < 2.0 * truth


def test_known_noise_is_believed() -> None:
    data = smooth_data(20, noise=0.0)
    Y_var = np.full((20, 1), 1e-8)
    Y_var[0] = 25.0
    spoiled = data.Y.copy()
    spoiled[0] += 5.0
    model = GaussianProcess().fit(replace(data, Y=spoiled, Y_var=Y_var), rng=RNG(0))
    distribution = model.predict(data.X, latent=True)
    assert abs(float(distribution.mean[0] - data.Y[0, 0])) < 1.0
    np.testing.assert_allclose(distribution.mean[1:], data.Y[1:, 0], atol=0.05)


def test_partly_known_noise_learns_the_rest() -> None:
    data = smooth_data(30, noise=0.2)
    Y_var = np.full((30, 1), np.nan)
    Y_var[::2] = 0.04
    model = GaussianProcess().fit(replace(data, Y_var=Y_var), rng=RNG(0))
    units = model.units
    np.testing.assert_allclose(model.noise[::2], units.forward_variance(Y_var[::2, 0]))
    np.testing.assert_allclose(model.noise[1::2], model.theta.noise)


def test_the_fit_draws_nothing() -> None:
    rng = RNG(7)
    GaussianProcess().fit(smooth_data(8), rng=rng)
    assert rng.bit_generator.state == RNG(7).bit_generator.state


def degenerate() -> dict[str, Callable[[], Dataset]]:
    """Data that the suite of surrogates does not have."""
    rng = RNG(0)
    X = rng.random((6, 2))
    y = rng.standard_normal((6, 1))
    return {
        "all zero": lambda: Dataset(X=X, Y=np.zeros((6, 1))),
        "contradicting duplicates": lambda: Dataset(X=np.repeat(X[:1], 6, axis=0), Y=y),
        "huge and tiny": lambda: Dataset(X=X, Y=np.array([[1e300], [-1e-300], [0.0], [1.0], [-1e300], [1e10]])),
        "large offset": lambda: Dataset(X=X, Y=1e12 + y),
        "one choice": lambda: Dataset(X=np.column_stack([X, np.full(6, 0.5)]), Y=y, categories=(0, 0, 1)),
        "exact": lambda: Dataset(X=X, Y=y, Y_var=np.zeros((6, 1))),
        "hopeless": lambda: Dataset(X=X, Y=y, Y_var=np.full((6, 1), 1e30)),
        "corners": lambda: Dataset(X=np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), Y=y[:3]),
    }


@pytest.mark.parametrize(
    "process",
    [*PROCESSES, GaussianProcess(RBF()), GaussianProcess(Matern32())],
    ids=["plain", "warped", "linear", "both", "rbf", "matern32"],
)
@pytest.mark.parametrize("case", sorted(degenerate()))
def test_degenerate_data(case: str, process: GaussianProcess) -> None:
    data = degenerate()[case]()
    model = process.fit(data, rng=RNG(0))
    X = RNG(1).random((20, data.X.shape[1]))
    for points in (X, data.X):
        for latent in (True, False):
            distribution = model.predict(points, latent=latent)
            assert np.isfinite([distribution.mean, distribution.std]).all() and np.all(distribution.std > 0)
            assert np.isfinite(distribution.log_expected_improvement(float(data.Y.max()))).all()
    assert np.isfinite(model.predict(X, latent=True).samples(RNG(2).standard_normal((4, 20)))[0]).all()
    for distribution in (model.leave_one_out(), model.one_step_ahead()):
        assert np.isfinite(distribution.mean).all() and np.all(distribution.std > 0)


def test_repeats_lower_the_doubt() -> None:
    x = np.array([[0.3], [0.9]])
    once = Dataset(X=x, Y=np.array([[0.0], [1.0]]), Y_var=np.full((2, 1), 0.1))
    often = once.rows(np.repeat([0, 1], [8, 1]))
    std = [float(GaussianProcess().fit(d, rng=RNG(0)).predict(x[:1], latent=True).std[0]) for d in (once, often)]
    assert std[1] < std[0]


def test_hyperparameters_of_a_subset() -> None:
    data = smooth_data(60)
    rows = representative(data.X, data.Y[:, 0], 30)
    model, part = GaussianProcess(subset=30).fit(data, rng=RNG(0)), GaussianProcess().fit(data.rows(rows), rng=RNG(0))
    assert len(model.y) == 60
    # They differ by the units: those of all outcomes.
    np.testing.assert_allclose(model.lengthscales, part.lengthscales, rtol=0.05)
    assert (
        GaussianProcess(subset=60).fit(data, rng=RNG(0)).hyperparameters
        == GaussianProcess().fit(data, rng=RNG(0)).stored
    )


@pytest.mark.parametrize("warping", [None, InputWarping(0.7)], ids=["plain", "warped"])
def test_gradient_with_descriptors(warping: InputWarping | None) -> None:
    plain = objective(Matern52(), (0, 4, 0), "some", warping=warping)
    rows = RNG(5).standard_normal((4, 2))
    f = replace(plain, features=kernel_features((0, 4, 0), None, (None, rows, None)))
    raw = RNG(3).uniform(-0.8, 0.8, len(f.bounds()))
    assert len(f.bounds()) == len(plain.bounds()) + 1
    numeric = [(f.value(raw + e) - f.value(raw - e)) / 2e-5 for e in 1e-5 * np.eye(len(raw))]
    np.testing.assert_allclose(f(raw)[1], numeric, rtol=1e-5, atol=1e-5)
