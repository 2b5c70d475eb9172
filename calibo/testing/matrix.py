"""The conformance matrix: every pair of wrappers around a surrogate, and every capability of the fitted model.

`examine` makes a composition, fits it and checks each capability against an independent computation; or the composition is
refused, when it is made or when it is fitted, with an error that says why. `matrix` does so for all pairs and writes the
table of docs/architecture.md::

    python -m calibo.testing.matrix docs/architecture.md
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from calibo.acquisition import ExpectedImprovement
from calibo.calibration import (
    Bootstrap,
    Calibrated,
    CalibratedModel,
    ConditionalQuantile,
    Conformal,
    ConformalBayes,
    DensityRatio,
    GroupedQuantile,
    Isotonic,
    KFold,
    LeaveOneOut,
    LocalizedOnline,
    LocalizedQuantile,
    OnlineQuantile,
    OutcomeScale,
    QuantileShift,
    ShapeAverage,
    Similarity,
    Split,
    StoredAndLeaveOneOut,
    Temperature,
    TimeSeries,
)
from calibo.calibration.conformal_bayes import ShiftedModel
from calibo.calibration.density_ratio import Unshifted
from calibo.calibration.resampling import Pooled
from calibo.calibration.shape_average import ShapeAverageModel
from calibo.data import Array, Dataset, Forecast
from calibo.distributions import Distribution
from calibo.errors import CapabilityError, FallbackWarning, RecipeError
from calibo.models import (
    Capability,
    GaussianMoments,
    GaussianProcess,
    Model,
    NearestNeighbourGP,
    Scheduled,
    Surrogate,
    Warped,
)
from calibo.models.gp_posterior import GaussianProcessModel, Posterior
from calibo.models.scheduled import ScheduledModel
from calibo.models.warped import WarpedModel
from calibo.optimize import ModelBased, Replicated, Strategy, TuRBO, choose
from calibo.search import EpsilonGreedy, Langevin, MultiStart
from calibo.spaces import Float, ProductSpace

Wrapper = Callable[[Surrogate], Surrogate]

#: One of each kind of wrapper, by the name it has in the matrix.
WRAPPERS: Mapping[str, Wrapper] = {
    "Temperature, leave-one-out": lambda s: Calibrated(s, by=Temperature(), evidence=LeaveOneOut()),
    "Isotonic, time series": lambda s: Calibrated(s, by=Isotonic(), evidence=TimeSeries()),
    "OnlineQuantile": lambda s: Calibrated(s, by=OnlineQuantile()),
    "LocalizedOnline": lambda s: Calibrated(s, by=LocalizedOnline()),
    "LocalizedQuantile": lambda s: Calibrated(s, by=LocalizedQuantile()),
    "GroupedQuantile": lambda s: Calibrated(s, by=GroupedQuantile()),
    "ConditionalQuantile": lambda s: Calibrated(s, by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut()),
    "Conformal, split": lambda s: Calibrated(s, by=Conformal(), evidence=Split()),
    "Conformal, folds, refit": lambda s: Calibrated(s, by=Conformal(QuantileShift()), evidence=KFold(3, refit=True)),
    "Conformal, CV+": lambda s: Calibrated(s, by=Conformal(plus=True), evidence=KFold(3)),
    "Temperature, bootstrap": lambda s: Calibrated(s, by=Temperature(), evidence=Bootstrap(4)),
    "GaussianMoments": GaussianMoments,
    "Scheduled": Scheduled,
    "Warped": lambda s: Warped(s, tolerance=100.0),
    # Of one shape: predictions by several do not follow from those of the raw model alone.
    "ShapeAverage": lambda s: ShapeAverage(Warped(s, tolerance=100.0), up_to=0),
    "ConformalBayes": lambda s: ConformalBayes(s, 0.3),
    "ConformalBayes, ratio": lambda s: ConformalBayes(s, 0.3, ratio=DensityRatio()),
}
_LANGEVIN = Langevin(
    chains=2, steps=6, burn_in=2, updates=1, then=MultiStart(scored=16, around=4, starts=1, iterations=1)
)
#: Strategies that wrap others, or whose search does, around a surrogate.
STRATEGIES: Mapping[str, Callable[[Surrogate], Strategy]] = {
    "ModelBased": lambda s: ModelBased(s, ExpectedImprovement(), search=_LANGEVIN),
    "ModelBased, EpsilonGreedy": lambda s: ModelBased(s, ExpectedImprovement(), search=EpsilonGreedy(_LANGEVIN)),
    "Replicated": lambda s: Replicated(ModelBased(s, ExpectedImprovement(), search=_LANGEVIN), 2),
    "TuRBO": lambda s: TuRBO(s, ExpectedImprovement(), search=_LANGEVIN, n_initial=5),
    "ModelBased, default search": lambda s: ModelBased(s, ExpectedImprovement()),
    "Replicated, default search": lambda s: Replicated(ModelBased(s, ExpectedImprovement()), 2),
    "TuRBO, default search": lambda s: TuRBO(s, ExpectedImprovement(), n_initial=5),
}
#: Letter of each capability in the matrix.
LETTERS: Mapping[Capability, str] = {
    Capability.HYPERPARAMETERS: "H",
    Capability.LENGTHSCALES: "L",
    Capability.NOISE: "N",
    Capability.LEAVE_ONE_OUT: "O",
    Capability.ONE_STEP_AHEAD: "S",
    Capability.AUGMENTATION: "A",
    Capability.LEARNS_FROM_PROPOSALS: "P",
    Capability.IN_DISTRIBUTION: "D",
    Capability.SIMILAR_FORECASTS: "F",
    Capability.DEPENDENCE: "C",
}
#: The generated part of a document stands between these lines.
MARKERS = ("<!-- conformance matrix: python -m calibo.testing.matrix -->", "<!-- end of the conformance matrix -->")


@dataclass(frozen=True, eq=False)
class NoisyPosterior(Posterior):
    """A Gaussian process that also has an estimate of its noise: all the capabilities that a raw model has."""

    def noise_variance(self, X: Array, *, level: float = 0.5) -> Array:
        """Return the noise variance of the process, the same at all points."""
        return np.full(X.shape[:-1], np.square(self.units.backward_std(np.sqrt(self.theta.noise))))


@dataclass(frozen=True)
class NoisyProcess(Surrogate):
    """A surrogate with every capability that a raw one has, and quick fits: what wrappers are examined around."""

    model_type: ClassVar = NoisyPosterior

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> NoisyPosterior:
        """Fit a Gaussian process by a single iteration."""
        fitted = GaussianProcess(max_iterations=1).fit(data, rng=rng)
        return NoisyPosterior(**{f.name: getattr(fitted, f.name) for f in fields(fitted)})


#: What single wrappers are examined around, by the name of the column; pairs are examined around the first.
SURROGATES: Mapping[str, Surrogate] = {
    "around the surrogate": NoisyProcess(),
    "around `NearestNeighbourGP`": NearestNeighbourGP(GaussianProcess(max_iterations=1), neighbours=4, core=4),
}


@dataclass(frozen=True)
class Finding:
    """What was found of a composition.

    Attributes:
        capabilities: Those that the fitted model has; all were checked. Empty if the composition was refused.
        refused: The message of the error; empty if there was none.
        at: When it was raised: `"construction"`, `"fitting"`, or empty.
    """

    capabilities: frozenset[Capability] = frozenset()
    refused: str = ""
    at: str = ""


def sample_data(n: int = 8) -> Dataset:
    """Return a small dataset of two columns, whose points were suggested with forecasts of three stages each."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    y = np.sin(5.0 * X[:, 0]) - X[:, 1] + 0.1 * rng.standard_normal(n)
    data = Dataset(X=X, Y=y[:, None])
    forecasts = GaussianProcess().fit(data, rng=rng).leave_one_out().marginals()
    return replace(data, forecasts=tuple((Forecast((marginal,) * 3),) for marginal in forecasts))


def examine(make: Callable[[], Surrogate], data: Dataset | None = None) -> Finding:
    """Make a surrogate, fit it and check its capabilities.

    Args:
        make: Makes the surrogate.
        data: The data to fit; by default `sample_data()`.

    Returns:
        What was found; a `RecipeError` from making or fitting is part of it.

    Raises:
        AssertionError: If the model has not what it declares, or does not say what it lacks.
    """
    data = sample_data() if data is None else data
    try:
        surrogate = make()
    except RecipeError as error:
        return Finding(refused=str(error), at="construction")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        try:
            model = surrogate.fit(data, rng=np.random.default_rng(1))
        except RecipeError as error:
            return Finding(refused=str(error), at="fitting")
        check_model(surrogate, model, data)
    return Finding(model.capabilities)


def check_model(surrogate: Surrogate, model: Model, data: Dataset) -> None:
    """Check that a fitted model predicts, and has the capabilities it declares and no others.

    Raises:
        AssertionError: If it does not.
    """
    declared = surrogate.capabilities
    assert declared is None or declared <= model.capabilities, f"{declared} were declared, got {model.capabilities}"
    assert len(model.stages) == len(surrogate.stage_names), f"{model.stages} are not {surrogate.stage_names}"
    last = _unscheduled(model)
    assert model.stages[-1] is last or model.stages == (last,), "a model is its own last stage"
    X = np.random.default_rng(2).random((3, data.X.shape[1]))
    measured, latent = model.predict(X, latent=False), model.predict(X, latent=True)
    assert np.isfinite(measured.mean).all() and (measured.std > 0.0).all()
    low, middle, high = (latent.at_levels(level) for level in (0.1, 0.5, 0.9))
    assert np.isfinite([low, high]).all() and (low <= middle).all() and (middle <= high).all() and (low < high).all()
    for capability, check in _CHECKS.items():
        if capability in model.capabilities:
            check(model, data, X)
        elif capability is Capability.HYPERPARAMETERS:
            assert model.hyperparameters == ()
        else:
            _check_refusal(model, capability, X)


def _check_refusal(model: Model, capability: Capability, X: Array) -> None:
    calls: dict[Capability, Callable[[], object]] = {
        Capability.LENGTHSCALES: lambda: model.lengthscales,
        Capability.NOISE: lambda: model.noise_variance(X),
        Capability.LEAVE_ONE_OUT: model.leave_one_out,
        Capability.ONE_STEP_AHEAD: model.one_step_ahead,
        Capability.AUGMENTATION: lambda: model.augmented(X, latent=False),
        Capability.LEARNS_FROM_PROPOSALS: lambda: model.learned(X, rng=np.random.default_rng(0)),
        Capability.IN_DISTRIBUTION: lambda: model.in_distribution(X),
        Capability.SIMILAR_FORECASTS: lambda: model.similar_forecasts(X),
        Capability.DEPENDENCE: lambda: model.dependence(X),
    }
    try:
        calls[capability]()
    except CapabilityError as error:
        assert capability.value in str(error), f"the error does not name {capability.value}: {error}"
    else:
        raise AssertionError(f"{type(model).__name__} does not declare {capability}, but it does not refuse it either")


def _check_hyperparameters(model: Model, data: Dataset, X: Array) -> None:
    # Each schedule adds the number of outcomes at the last fit, also to a model that has no hyperparameters itself; an
    # average of shapes two numbers, by which those of each shape are told apart.
    raw, stored = model.stages[0].hyperparameters, model.hyperparameters
    averages = sum(isinstance(stage, ShapeAverageModel) for stage in model.stages)
    assert stored[: len(raw)] == raw and (not raw or len(raw) > data.X.shape[1])
    assert len(raw) <= len(stored) <= len(raw) + 2 + 2 * averages and stored


def _check_lengthscales(model: Model, data: Dataset, X: Array) -> None:
    np.testing.assert_array_equal(model.lengthscales, model.stages[0].lengthscales)
    assert model.lengthscales.shape == (data.X.shape[1],) and (model.lengthscales > 0.0).all()


def _check_noise(model: Model, data: Dataset, X: Array) -> None:
    raw = model.stages[0]
    low, middle, high = (model.noise_variance(X, level=level) for level in (0.1, 0.5, 0.9))
    assert (low > 0.0).all() and (low <= middle).all() and (middle <= high).all()
    np.testing.assert_array_equal(middle, raw.noise_variance(X))
    added = [m.predict(X, latent=False).std ** 2 - m.predict(X, latent=True).std ** 2 for m in _members(raw)]
    np.testing.assert_allclose(middle, np.mean(added, axis=0), rtol=1e-6, err_msg="what noise adds to the variance")


def _members(model: Model) -> list[Model]:
    """Return the models that are averaged, all with the same weight."""
    return [m for part in model.models for m in _members(part)] if isinstance(model, Pooled) else [model]


def _check_held_out(
    model: Model, data: Dataset, found: Distribution, seen: Callable[[int], np.ndarray], tolerance: float = 1e-6
) -> None:
    """Compare predictions at the data with those of the raw process given some rows only, through all level maps."""
    raw, n = model.stages[0], len(data)
    assert found.mean.shape == (n,), f"expected predictions of {n} measurements, got {found.mean.shape}"
    for i in (n // 2, n - 1):
        part = _with_rows(raw, seen(i)).predict(data.X[[i]], latent=False)
        expected = _calibrated(model, part, data.X[[i]])
        for u in (0.2, 0.5, 0.8):
            value = found.at_levels(u)[i]
            np.testing.assert_allclose(value, expected.at_levels(u)[0], rtol=tolerance, atol=tolerance)


def _with_rows(raw: Model, rows: np.ndarray) -> Model:
    """Return a process given some of its measurements only, with the same hyperparameters and transform."""
    raw = _unscheduled(raw)
    if isinstance(raw, WarpedModel):
        return replace(raw, base=_with_rows(raw.base, rows))
    assert isinstance(raw, GaussianProcessModel)
    # That of nearest neighbours, too, is the exact one as long as all data are core or neighbours.
    X, y, noise = raw.X[rows], raw.y[rows], raw.noise[rows]
    return Posterior(raw.kernel, raw.features, raw.theta, X, y, noise, raw.units)


def _unscheduled(model: Model) -> Model:
    """Return the model inside a schedule, whose stages are its own."""
    return _unscheduled(model.base) if isinstance(model, ScheduledModel) else model


def _calibrated(model: Model, distribution: Distribution, X: Array) -> Distribution:
    """Pass a raw distribution through the level maps of a model's stages."""
    for stage in _calibrations(model):
        distribution = stage.level_map(distribution, X)
    return distribution


def _calibrations(model: Model) -> list[CalibratedModel]:
    """Return the calibrated models among the stages of a model; an average of one shape is that shape, calibrated."""
    stages = [stage.base if isinstance(stage, ShapeAverageModel) else stage for stage in model.stages]
    return [stage for stage in stages if isinstance(stage, CalibratedModel)]


def _check_augmentation(model: Model, data: Dataset, X: Array) -> None:
    """Compare the augmentation with a process that has one more measurement."""
    raw = model.stages[0]
    assert isinstance(raw, Posterior)
    distribution, augmentation = model.augmented(X, latent=False)
    np.testing.assert_allclose(distribution.mean, model.predict(X, latent=False).mean)
    y = distribution.mean[0] + 0.7 * distribution.std[0]
    noise = np.append(raw.noise, augmentation.own_noise)
    more = replace(raw, X=np.vstack([raw.X, X[:1]]), y=np.append(raw.y, y), noise=noise)
    e = (raw.units.forward(y) - augmentation.mean[0]) / augmentation.total[0]
    expected = np.append(augmentation.dual - augmentation.influence[0] * e, e)
    np.testing.assert_allclose(more.dual, expected, rtol=1e-6, atol=1e-9)


def _check_learning(model: Model, data: Dataset, X: Array) -> None:
    """Compare what a model learns with the conformal model inside it, learning alone."""
    proposals = 0.75 + 0.25 * np.random.default_rng(3).random((40, data.X.shape[1]))
    before = model.in_distribution(X)
    learned = model.learned(proposals, rng=np.random.default_rng(4))
    place, inside = next((i, s) for i, s in enumerate(model.stages) if isinstance(s, ShiftedModel))
    alone = inside.learned(proposals, rng=np.random.default_rng(4))
    assert type(learned) is type(model) and len(learned.stages) == len(model.stages)
    assert alone.effective_sample_size < len(data) - 0.1, "proposals in a corner must change the weights of the data"
    np.testing.assert_array_equal(learned.in_distribution(X), alone.in_distribution(X))
    np.testing.assert_array_equal(model.in_distribution(X), before, err_msg="the model itself must not change")
    for stage, own in ((learned.stages[place], alone), (learned, replace_stage(model, place, alone))):
        np.testing.assert_allclose(stage.predict(X, latent=False).median, own.predict(X, latent=False).median)


def replace_stage(model: Model, place: int, stage: Model) -> Model:
    """Return a model whose wrappers stand around another model at one of its stages."""
    for outer in model.stages[place + 1 :]:
        stage = replace(outer, base=stage)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return stage


def _check_in_distribution(model: Model, data: Dataset, X: Array) -> None:
    probability = model.in_distribution(X)
    assert probability.shape == (len(X),) and ((probability >= 0.0) & (probability <= 1.0)).all()


def _check_similar_forecasts(model: Model, data: Dataset, X: Array) -> None:
    """Compare with sums over the evidence of each calibration up to one that learns from them: the largest counts."""
    found = model.similar_forecasts(X)
    assert found.shape == (len(X),) and (found >= 0.0).all()
    calibrated = _calibrations(model)
    if any(isinstance(stage, Pooled) for outer in calibrated for stage in (outer, outer.base)):
        return
    expected = np.zeros(len(X))
    for stage in calibrated:
        if len(stage.evidence):
            scale, raw = OutcomeScale(stage.evidence.y), stage.base.predict(X, latent=False)
            past, at = scale.reach(stage.evidence.distribution), scale.reach(raw)
            spread = np.subtract.outer(at.log_spread, past.log_spread) / Similarity().spread
            rank = np.subtract.outer(at.rank, past.rank) / Similarity().rank
            away = 0.0
            if stage.evidence.log_distance is not None and stage.evidence.nearness is not None:
                # The data that the model inside was fitted to, which a split makes fewer.
                nearest = stage.evidence.nearness(X)
                away = np.subtract.outer(nearest, stage.evidence.log_distance) / Similarity().distance
            alike = np.exp(-0.5 * (spread**2 + rank**2 + away**2))
            # Several forecasts of one outcome count as the most similar of them.
            keys = [(*x, y) for x, y in zip(stage.evidence.X.tolist(), stage.evidence.y.tolist(), strict=True)]
            groups = [[i for i, own in enumerate(keys) if own == key] for key in dict.fromkeys(keys)]
            expected = np.maximum(expected, sum(alike[:, group].max(axis=1) for group in groups))
        if stage.by.learns_from_similar:
            # What is around it says nothing of similar forecasts.
            break
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def _check_dependence(model: Model, data: Dataset, X: Array) -> None:
    """Compare with the copula of joint draws: of unit vectors these are the rows of the correlations' Cholesky factor."""
    factor = model.predict(X[None], latent=True).copula_samples(np.eye(len(X)))[0].T
    np.testing.assert_allclose(model.dependence(X)(X), factor @ factor.T, atol=1e-6)


_CHECKS: Mapping[Capability, Callable[[Model, Dataset, Array], None]] = {
    Capability.HYPERPARAMETERS: _check_hyperparameters,
    Capability.LENGTHSCALES: _check_lengthscales,
    Capability.NOISE: _check_noise,
    Capability.LEAVE_ONE_OUT: lambda model, data, _: _check_held_out(
        model, data, model.leave_one_out(), lambda i: np.delete(np.arange(len(data)), i)
    ),
    Capability.ONE_STEP_AHEAD: lambda model, data, _: _check_held_out(model, data, model.one_step_ahead(), np.arange),
    Capability.AUGMENTATION: _check_augmentation,
    Capability.LEARNS_FROM_PROPOSALS: _check_learning,
    Capability.IN_DISTRIBUTION: _check_in_distribution,
    Capability.SIMILAR_FORECASTS: _check_similar_forecasts,
    Capability.DEPENDENCE: _check_dependence,
}


def examine_pair(outer: str, inner: str) -> Finding:
    """Examine a wrapper of `WRAPPERS` around one of `SURROGATES`, or around another wrapper and a `NoisyProcess`."""
    try:
        return examine(
            lambda: WRAPPERS[outer](SURROGATES[inner] if inner in SURROGATES else WRAPPERS[inner](NoisyProcess()))
        )
    except AssertionError as error:
        raise AssertionError(f"{outer} around {inner}: {error}") from error


def examine_strategy(name: str, surrogate: Surrogate) -> Finding:
    """Choose a point by a strategy of `STRATEGIES` around a surrogate that learns from proposals.

    Raises:
        AssertionError: If its models do not learn where the search goes, or a forecast misses a stage.
    """
    data, space = sample_data(), ProductSpace({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        chosen = choose(data, source=space, strategy=STRATEGIES[name](surrogate), q=1, rng=np.random.default_rng(5))
        forecast = chosen.plan.forecaster(chosen.X)[0][0] if chosen.plan.forecaster else None
    model = chosen.plan.models[0]
    inside = next(stage for stage in model.stages if isinstance(stage, ShiftedModel))
    assert not isinstance(inside.ratio, Unshifted), f"{name} did not let {type(model).__name__} learn its density ratio"
    assert forecast is not None and len(forecast.stages) == len(surrogate.stage_names)
    assert chosen.plan.hyperparameters[0] == model.hyperparameters != ()
    return Finding(model.capabilities)


def matrix() -> str:
    """Examine every pair of wrappers, and the strategies that wrap others around models that learn.

    Returns:
        The matrix as Markdown: one row per outer wrapper, one column per inner one, with the letters of the capabilities that
        the fitted model has, and the reasons of refusals below.
    """
    columns = [*SURROGATES, *WRAPPERS]
    reasons: list[str] = []
    numbers = [f"({i})" for i in range(1, len(WRAPPERS) + 1)]
    lines = [
        f"| outer wrapper | {' | '.join(SURROGATES)} | {' | '.join(numbers)} |",
        "|---|" + "---|" * len(columns),
    ]
    for number, outer in zip(numbers, WRAPPERS, strict=True):
        cells = [_cell(examine_pair(outer, inner), reasons) for inner in columns]
        lines.append(f"| {number} {outer} | " + " | ".join(cells) + " |")
    letters = ", ".join(f"**{letter}** `{capability.value}`" for capability, letter in LETTERS.items())
    notes = [f"- {chr(ord('a') + i)}: {reason}" for i, reason in enumerate(reasons)]
    head = f"Capabilities of the fitted model: {letters}. Letters in parentheses: refused, for the reasons below."
    return "\n".join([head, "", *lines, "", *notes, "", *_strategy_lines()])


def _strategy_lines() -> list[str]:
    surrogates = {
        "ConformalBayes, ratio": WRAPPERS["ConformalBayes, ratio"](NoisyProcess()),
        "Temperature around it": Calibrated(WRAPPERS["ConformalBayes, ratio"](NoisyProcess()), by=Temperature()),
        "GaussianMoments around it": GaussianMoments(WRAPPERS["ConformalBayes, ratio"](NoisyProcess())),
    }
    rows = [[_cell(examine_strategy(name, s), []) for s in surrogates.values()] for name in STRATEGIES]
    return [
        "After one suggestion, once the models have learned from the search:",
        "",
        "| strategy | " + " | ".join(surrogates) + " |",
        "|---|" + "---|" * len(surrogates),
        *(f"| {name} | " + " | ".join(row) + " |" for name, row in zip(STRATEGIES, rows, strict=True)),
    ]


def _cell(found: Finding, reasons: list[str]) -> str:
    if not found.refused:
        return "".join(letter for capability, letter in LETTERS.items() if capability in found.capabilities) or "none"
    reason = f"at {found.at}: {found.refused}"
    if reason not in reasons:
        reasons.append(reason)
    return f"({chr(ord('a') + reasons.index(reason))})"


def with_matrix(text: str, table: str) -> str:
    """Return a document with the table between its markers."""
    before, rest = text.split(MARKERS[0])
    return f"{before}{MARKERS[0]}\n{table}\n{MARKERS[1]}{rest.split(MARKERS[1])[1]}"


def main() -> None:
    """Write the matrix into the document that is named on the command line, or print it."""
    table = matrix()
    if len(sys.argv) < 2:
        sys.stdout.write(f"{table}\n")
        return
    path = Path(sys.argv[1])
    path.write_text(with_matrix(path.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main()
