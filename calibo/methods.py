"""The methods by name: functions that compose a strategy from its parts.

Every method takes its main settings, its parts, and as ``options`` the further settings of its strategy: ``ModelBased``,
``TuRBO``, ``LikelihoodFree`` or ``CompositeLikelihoodFree``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from calibo.acquisition import (
    AcquisitionRule,
    ExpectedImprovement,
    HypervolumeByNoise,
    ImprovementByNoise,
    NoisyExpectedImprovement,
    PenalizedEI,
    RiskAverseUCB,
    ThompsonSampling,
    UpperQuantile,
)
from calibo.arguments import checked
from calibo.calibration import (
    Calibrated,
    ConditionalQuantile,
    Conformal,
    ConformalBayes,
    DensityRatio,
    GroupedQuantile,
    LocalizedOnline,
    LocalizedQuantile,
    OnlineQuantile,
    QuantileShift,
    RatioEstimator,
    Recalibrator,
    Resampler,
    ShapeAverage,
    ShrinkingAlpha,
    Split,
    StoredAndLeaveOneOut,
)
from calibo.checks import did_you_mean, shown
from calibo.classifiers import BoreLabels, BySize, Classifier, Improvement, Utility, WeightedLabels
from calibo.classifiers.composite import CompositeNetwork, Outer
from calibo.errors import RecipeError
from calibo.models import (
    GaussianProcess,
    GPBySize,
    HeteroscedasticGP,
    NearestNeighbourGP,
    NeuralEnsemble,
    NoisePrior,
    QuantileTrees,
    Scheduled,
    Surrogate,
    Warped,
)
from calibo.models.outcome_transforms import OutcomeShape
from calibo.optimize.auto import Auto
from calibo.optimize.likelihood_free import CompositeLikelihoodFree, LikelihoodFree
from calibo.optimize.replicated import Replicated
from calibo.optimize.strategy import ANCHORS, ModelBased, Strategy
from calibo.optimize.turbo import TuRBO
from calibo.search import Langevin, MutatedBest, Mutation, Search

#: Outcomes after which what is shown is half of what localized online recalibrators play, whose guarantees are for the
#: long run.
_TRUST = 200.0
#: Number of results above which Gaussian processes are no longer exact.
_LARGE = 1000
#: Number of results below which hyperparameters are fitted at every step: of models that the search acts on, and of those
#: that are only shown, of which coverage and CRPS are the same with a fit whenever the data have grown by 5 %.
_ALWAYS, _ALWAYS_SHOWN = 100, 20
#: Search of methods whose predictions cost more than those of a Gaussian process: fewer candidates than Mutation()'s, and a
#: shortlist for the further points of a batch.
_FEWER = Mutation(1200, 800, shortlist=256)


@checked
def auto(*, search: Search | None = None, replicate: bool = False, anchors: int = ANCHORS) -> Auto:
    """Compose the default method: a rule chooses the parts that suit the data, and says why.

    Forecasts are those of ``ocbo``, right wherever they are shown, up to 300 results averaged over two shapes of the
    outcomes. The search for the best value of one objective acts on a model of its own, of outcomes whose worse half counts
    by its order only; it maximizes the expected improvement, in turns with its noisy form where measurements are noisy,
    and may measure a point again there. Where outcomes come in steps it acts on them as they are, by the noisy form
    alone. docs/choosing.md has the rule and what it rests on.

        >>> from calibo import Float, Optimizer
        >>> optimizer = Optimizer({"x": Float(-1, 1)}, "auto", seed=0)
        >>> for _ in range(10):
        ...     suggestion = optimizer.ask()
        ...     optimizer.tell(suggestion, suggestion.params["x"] ** 2)
        >>> suggestion.why_method  # doctest: +ELLIPSIS
        'exact Gaussian process; bad outcomes count by rank, as how bad they are tells little; ...'

    Its other parts are what the rule chooses; to change them compose a method of your own, such as ``ocbo(rule=...)``.

    Args:
        search: Maximizes the acquisition function; by default chosen by the space.
        replicate: Whether a point may be suggested again also where measurements do not look noisy.
        anchors: How many of the best observations are searched around.
    """
    shown = ShapeAverage(Warped(_process(NoisePrior.wide(), always_below=_ALWAYS_SHOWN)))
    doubting = ShapeAverage(Warped(_process(NoisePrior.wide(), always_below=_ALWAYS_SHOWN, doubts_noise=True)))
    options = {"search": search, "replicate": replicate, "anchors": anchors}
    acting = Warped(_process(NoisePrior.wide()), shapes=(OutcomeShape.HALF_RANK,))
    method = _tracked(shown, ImprovementByNoise(), acting=acting, **options)
    rows = _tracked(shown, ExpectedImprovement(), **options)
    steps = _tracked(shown, NoisyExpectedImprovement(draws=64), **options)
    several = _tracked(doubting, ExpectedImprovement(), tradeoff=HypervolumeByNoise(), **options)
    return Auto(method, rows, steps, several, large=_LARGE, always_below=_ALWAYS)


@checked
def gp_ei(*, surrogate: Surrogate | None = None, rule: AcquisitionRule | None = None, **options: Any) -> ModelBased:
    """Compose Gaussian process and log expected improvement, without calibration: the reference method.

        >>> from calibo import Float, Optimizer, methods
        >>> optimizer = Optimizer({"x": Float(-1, 1)}, methods.gp_ei(), seed=0)
        >>> for _ in range(8):
        ...     suggestion = optimizer.ask()
        ...     optimizer.tell(suggestion, suggestion.params["x"] ** 2)
        >>> abs(optimizer.best[0]["x"]) < 0.05
        True

    Args:
        surrogate: Model of each outcome; by default ``Scheduled(GPBySize())``, a Gaussian process.
        rule: Acquisition rule; by default ``ExpectedImprovement()``.
        **options: Further settings of ``ModelBased``, such as ``search`` or ``replicate``.
    """
    return ModelBased(surrogate or _process(), rule or ExpectedImprovement(), name="gp_ei", **options)


@checked
def ocbo(
    *,
    eta: float = 0.2,
    paper: bool = False,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> ModelBased:
    """Compose online calibrated Bayesian optimization: intervals that are right wherever they are shown.

    Forecasts are corrected by how earlier forecasts of the same reach came out (near the data, between them, far away), from
    stored forecasts and leave-one-out predictions together; then each quantile is tracked online in each group of
    forecasts: the levels tracked are right in the long run on any sequence of outcomes, and those shown follow them as
    results arrive. The suggestion maximizes the expected
    improvement under the model itself: what is learned of intervals where the search has been must not stop it.

    ``paper=True`` composes the method as in Deshpande et al. (2024): one online level map for all points, learned from the
    stored forecasts, and the suggestion maximizes the calibrated 90 % quantile. Its intervals are right at the points that
    the search chooses, not elsewhere.

        >>> from calibo import Float, Optimizer, methods
        >>> optimizer = Optimizer({"x": Float(0, 1)}, methods.ocbo(eta=0.1), direction="maximize", seed=0)
        >>> for _ in range(8):
        ...     suggestion = optimizer.ask()
        ...     optimizer.tell(suggestion, 1.0 - (suggestion.params["x"] - 0.6) ** 2)
        >>> low, high = optimizer.ask().forecasts[0].calibrated.interval(0.8)
        >>> low < high
        True

    Args:
        eta: Step size of the online recalibration.
        paper: Whether to compose the method as its paper does.
        surrogate: Model of each outcome; by default ``Warped(Scheduled(GPBySize()))`` with a wide prior of the noise, in the
            paper's form ``GaussianProcess()``.
        rule: Acquisition rule; by default ``ExpectedImprovement()``, in the paper's form ``UpperQuantile(0.9)``.
        **options: Further settings of ``ModelBased``.
    """
    if paper:
        calibrated = Calibrated(surrogate or GaussianProcess(), by=OnlineQuantile(eta, pooled=True))
        return ModelBased(calibrated, rule or UpperQuantile(0.9), name="ocbo", **options)
    return _tracked(_by_reach(surrogate), rule, eta, **options)


@checked
def locbo(
    *,
    alpha: float = 0.2,
    kappa: float = 0.5,
    length_scale: float | Literal["auto"] = "auto",
    eta0: float = 0.1,
    paper: bool = False,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> ModelBased:
    """Compose localized online conformal Bayesian optimization: 1 - alpha intervals that are right at every reach.

    Forecasts are corrected by how earlier forecasts of the same reach came out, as in ``ocbo``, then a threshold that depends
    on the reach is tracked online. ``paper=True`` composes the method as in Kim et al. (2025): a threshold that depends on
    the place in the space, on the forecasts of the model itself.

    The defaults differ from those of ``LocalizedOnline``: an optimization has tens of outcomes, not thousands, so the
    threshold moves in larger steps (``eta0`` 0.1 instead of 0.05) and localizes less (``kappa`` 0.5 instead of 1).

    Args:
        alpha: Miscoverage of the intervals.
        kappa: Scale of the localized part against the constant part.
        length_scale: Length of a region on the unit cube (by reach: in units of 4 in the log spread); "auto" weights
            several by their recent loss.
        eta0: First step size of the online recalibration.
        paper: Whether to compose the method as its paper does.
        surrogate: Model of each outcome; by default ``Warped(Scheduled(GPBySize()))``, in the paper's form
            ``GaussianProcess()``.
        rule: Acquisition rule; by default ``ExpectedImprovement()``.
        **options: Further settings of ``ModelBased``.
    """
    # It acts on what it shows, and with the wide prior of the noise went on trying where evaluations had failed.
    inner, settings = _localized(surrogate or (None if paper else Warped(_process())), paper)
    by = LocalizedOnline(alpha=alpha, kappa=kappa, length_scale=length_scale, eta0=eta0, **settings)
    return ModelBased(Calibrated(inner, by=by), rule or ExpectedImprovement(), name="locbo", **options)


@checked
def ocbo_local(
    *,
    eta: float = 0.1,
    kappa: float = 1.0,
    length_scale: float | Literal["auto"] = "auto",
    paper: bool = False,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> ModelBased:
    """Compose OCBO with an online level map that changes smoothly with the reach of a forecast (OCBO-L).

    ``paper=True`` composes the method as in Kim et al. (2025): a level map that depends on the place in the space, on the
    forecasts of the model itself.

    Args:
        eta: Step size of the online recalibration.
        kappa: Scale of the localized part against the constant part.
        length_scale: As in ``locbo``.
        paper: Whether to compose the method as its paper does.
        surrogate: Model of each outcome; by default ``Warped(Scheduled(GPBySize()))`` with a wide prior of the noise, in the
            paper's form ``GaussianProcess()``.
        rule: Acquisition rule; by default ``ExpectedImprovement()``, in the paper's form ``UpperQuantile(0.9)``.
        **options: Further settings of ``ModelBased``.
    """
    inner, settings = _localized(surrogate, paper)
    by = LocalizedQuantile(eta=eta, kappa=kappa, length_scale=length_scale, pooled=paper, **settings)
    if paper:
        return ModelBased(Calibrated(inner, by=by), rule or UpperQuantile(0.9), name="ocbo_local", **options)
    options = {"acts_on": "raw", **options}
    return ModelBased(Calibrated(inner, by=by), rule or ExpectedImprovement(), name="ocbo_local", **options)


def _process(
    noise: NoisePrior = NoisePrior(),  # noqa: B008 (frozen)
    always_below: int = _ALWAYS,
    doubts_noise: bool = False,
) -> Scheduled:
    """Return the Gaussian process of methods for any number of results, with a prior of the noise."""
    few, many = (GaussianProcess(noise=noise, subset=subset, doubts_noise=doubts_noise) for subset in (400, 300))
    return Scheduled(GPBySize(few, NearestNeighbourGP(many), exact_below=_LARGE), always_below=always_below)


def _by_reach(surrogate: Surrogate | None) -> Calibrated:
    """Return a surrogate that is calibrated by how earlier forecasts of the same reach came out."""
    inner = surrogate or Warped(_process(NoisePrior.wide()))
    return Calibrated(inner, by=ConditionalQuantile(), evidence=StoredAndLeaveOneOut())


def _tracked(by_reach: Surrogate, rule: AcquisitionRule | None, eta: float = 0.2, **options: Any) -> ModelBased:
    """Return the method that tracks quantiles of a surrogate calibrated by reach, and acts on the model inside it."""
    calibrated = Calibrated(by_reach, by=GroupedQuantile(eta))
    return ModelBased(calibrated, rule or ExpectedImprovement(), name="ocbo", **{"acts_on": "raw", **options})


def _localized(surrogate: Surrogate | None, paper: bool) -> tuple[Surrogate, dict[str, Any]]:
    """Return the surrogate inside a localized method, and the settings of its recalibrator that differ from its paper's."""
    if paper:
        return surrogate or GaussianProcess(), {}
    return _by_reach(surrogate), {"localize": "reach", "trust": _TRUST}


@checked
def cbo(
    *,
    alpha: float | Callable[[int], float] = ShrinkingAlpha(),  # noqa: B008 (frozen)
    score: Literal["in_sample", "loo"] = "loo",
    ratio: RatioEstimator | None = DensityRatio(),  # noqa: B008 (frozen)
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Compose conformal Bayesian optimization: full conformal sets of a Gaussian process under covariate shift.

    The data are weighted by a density ratio that Langevin chains learn while searching. ``ratio=None``, the default of
    ``ConformalBayes``, does without weights and chains, and is faster.

    Args:
        alpha: Miscoverage of the sets: a number, or a function of the number of observations.
        score: Conformity score: "loo", leave-one-out densities, whose sets are bounded, or the paper's "in_sample".
        ratio: Estimates the density ratio; ``None`` for equal weights.
        surrogate: Model of each outcome; by default ``GaussianProcess()``.
        rule: Acquisition rule; by default ``ExpectedImprovement()``.
        search: By default ``Langevin()`` with a ratio; without one, chosen by the space.
        **options: Further settings of ``ModelBased``.
    """
    conformal = ConformalBayes(surrogate or GaussianProcess(), alpha, score, ratio)
    search = search or (None if ratio is None else Langevin())
    return ModelBased(conformal, rule or ExpectedImprovement(), search, name="cbo", **options)


@checked
def turbo(
    *,
    batch_size: int = 1,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> TuRBO:
    """Compose TuRBO-1: a trust region around the best point that grows with success and shrinks with failure.

    Args:
        batch_size: Points suggested and judged together.
        surrogate: Model of the outcome; by default ``GaussianProcess()``.
        rule: Acquisition rule; by default ``ThompsonSampling()``.
        **options: Further settings of ``TuRBO``.
    """
    surrogate = surrogate or GaussianProcess()
    return TuRBO(surrogate, rule or ThompsonSampling(), batch_size=batch_size, name="turbo", **options)


@checked
def risk_averse(*, level: float = 0.9, aversion: float = 1.0, replicates: int = 3, **options: Any) -> Replicated:
    """Compose RAHBO: maximize the mean minus a multiple of the noise variance, both learned from replicates.

    Args:
        level: Level of the upper confidence bound of the mean.
        aversion: Cost of a unit of noise variance.
        replicates: Measurements of each point.
        **options: Further settings of ``ModelBased``.
    """
    return _replicated(RiskAverseUCB(level, aversion), "risk_averse", replicates, options)


@checked
def penalized_ei(*, aversion: float = 1.0, replicates: int = 3, **options: Any) -> Replicated:
    """Compose expected improvement minus a multiple of the noise's standard deviation, learned from replicates.

    Args:
        aversion: Cost of a unit of the standard deviation of the noise.
        replicates: Measurements of each point.
        **options: Further settings of ``ModelBased``.
    """
    return _replicated(PenalizedEI(aversion), "penalized_ei", replicates, options)


def _replicated(rule: AcquisitionRule, name: str, replicates: int, options: dict[str, Any]) -> Replicated:
    surrogate = HeteroscedasticGP(replicates_follow=replicates > 1)
    return Replicated(ModelBased(surrogate, rule, name=name, **options), replicates)


@checked
def lfbo(
    *,
    classifier: Classifier | None = None,
    utility: Utility = Improvement(),  # noqa: B008 (frozen)
    gamma: float = 1.0 / 3.0,
    forecaster: Surrogate | None = None,
    **options: Any,
) -> LikelihoodFree:
    """Compose likelihood-free Bayesian optimization: a classifier weighted by the utility of the outcomes.

    There is no model, and so no forecasts without a ``forecaster``.

    Args:
        classifier: By default ``BySize()``, which depends on the number of observations.
        utility: Utility of an outcome above the threshold.
        gamma: Share of the observations above the threshold.
        forecaster: A surrogate that makes forecasts without influence on the suggestions, such as
            ``conformal_trees()``.
        **options: Further settings of ``LikelihoodFree``.
    """
    labels = WeightedLabels(utility, gamma)
    return LikelihoodFree(labels, classifier or BySize(), forecaster=forecaster, name="lfbo", **options)


@checked
def bore(
    *,
    classifier: Classifier | None = None,
    gamma: float = 1.0 / 3.0,
    forecaster: Surrogate | None = None,
    **options: Any,
) -> LikelihoodFree:
    """Compose BORE: maximize the probability of being among the best observations, unweighted.

    Args:
        classifier: By default ``BySize()``, which depends on the number of observations.
        gamma: Share of the observations that counts as the best.
        forecaster: A surrogate that makes forecasts without influence on the suggestions.
        **options: Further settings of ``LikelihoodFree``.
    """
    return LikelihoodFree(BoreLabels(gamma), classifier or BySize(), forecaster=forecaster, name="bore", **options)


@checked
def composite_lfbo(*, outer: Outer | None = None, gamma: float = 0.1, **options: Any) -> CompositeLikelihoodFree:
    """Compose likelihood-free optimization of g(h(x)) with measured vectors h: a network of h with g as its last layer.

    Args:
        outer: The known function g, larger is better; without it g is given as ``composite=``, in the sign of the
            direction.
        gamma: Share of the observations that counts as good.
        **options: Further settings of ``CompositeLikelihoodFree``.
    """
    return CompositeLikelihoodFree(outer, CompositeNetwork(gamma=gamma), name="composite_lfbo", **options)


@checked
def bananas(
    *,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Compose BANANAS: architecture search by a neural ensemble and independent Thompson draws, uncalibrated.

    Args:
        surrogate: By default ``NeuralEnsemble()``.
        rule: By default ``ThompsonSampling(joint=False)``.
        search: By default ``MutatedBest()``: edited copies of the best architectures.
        **options: Further settings of ``ModelBased``.
    """
    rule = rule or ThompsonSampling(joint=False)
    return ModelBased(surrogate or NeuralEnsemble(), rule, search or MutatedBest(), name="bananas", **options)


@checked
def bananas_cp(
    *,
    surrogate: Surrogate | None = None,
    by: Recalibrator = Conformal(),  # noqa: B008 (frozen)
    evidence: Resampler = Split(),  # noqa: B008 (frozen)
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Compose BANANAS with conformal intervals, or another calibration.

    The ensembles of the thesis (Chen 2025) are ``evidence=Split()``, ``KFold(3)``, and ``surrogate=NeuralEnsemble(1),
    by=Conformal(Residual(scaled=False)), evidence=Bootstrap()``; quantile regression is ``surrogate=QuantileNetwork(),
    by=Conformal(QuantileShift())`` with ``Split()`` or ``KFold(3)``. ``by=OnlineQuantile(), evidence=Prequential()``
    learns from how the search's own forecasts came out.

    Args:
        surrogate: By default ``NeuralEnsemble()``.
        by: Recalibrates the forecasts.
        evidence: Where the forecasts come from that it learns from.
        rule: By default ``ThompsonSampling(joint=False)``.
        search: By default ``MutatedBest()``: edited copies of the best architectures.
        **options: Further settings of ``ModelBased``.
    """
    calibrated = Calibrated(surrogate or NeuralEnsemble(), by=by, evidence=evidence)
    rule = rule or ThompsonSampling(joint=False)
    return ModelBased(calibrated, rule, search or MutatedBest(), name="bananas_cp", **options)


@checked
def conformal_ensemble(
    *,
    surrogate: Surrogate | None = None,
    by: Conformal = Conformal(),  # noqa: B008 (frozen)
    evidence: Resampler = Split(0.3),  # noqa: B008 (frozen)
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Compose a neural ensemble with conformal intervals for any space: many columns, choices, or a space's features.

    Args:
        surrogate: By default ``NeuralEnsemble()``.
        by: Recalibrates the forecasts.
        evidence: Where the forecasts come from that it learns from; by default 30 % of the data are held out, fewer than
            ``Split()``'s half, since here the model needs them more.
        rule: By default ``ExpectedImprovement()``.
        search: By default mutations of the best points, fewer than ``Mutation()``'s, since predictions are slower.
        **options: Further settings of ``ModelBased``.
    """
    calibrated = Calibrated(surrogate or NeuralEnsemble(), by=by, evidence=evidence)
    rule = rule or ExpectedImprovement()
    return ModelBased(calibrated, rule, search or _FEWER, name="conformal_ensemble", **options)


@checked
def conformal_trees(
    *,
    surrogate: Surrogate | None = None,
    by: Conformal = Conformal(QuantileShift()),  # noqa: B008 (frozen)
    evidence: Resampler = Split(0.3),  # noqa: B008 (frozen)
) -> Calibrated:
    """Compose conformalized quantile regression with trees: a surrogate for large, discrete or high-dimensional spaces.

    It is the surrogate of ``cqr``, and makes forecasts for methods without a model:
    ``lfbo(forecaster=conformal_trees())``.

    Args:
        surrogate: By default ``QuantileTrees()``.
        by: Recalibrates the quantiles.
        evidence: Where the forecasts come from that it learns from; by default 30 % of the data are held out.
    """
    return Calibrated(surrogate or QuantileTrees(), by=by, evidence=evidence)


@checked
def cqr(
    *,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Compose conformalized quantile regression with trees: the practical choice for large or discrete spaces.

    Args:
        surrogate: By default ``conformal_trees()``.
        rule: By default ``ExpectedImprovement()``.
        search: By default mutations of the best points, fewer than ``Mutation()``'s, since predictions are slower.
        **options: Further settings of ``ModelBased``.
    """
    rule = rule or ExpectedImprovement()
    return ModelBased(surrogate or conformal_trees(), rule, search or _FEWER, name="cqr", **options)


@dataclass(frozen=True)
class Method:
    """A method that can be chosen by its name.

    Attributes:
        make: Composes its strategy.
        summary: One line about it.
        paper: Where it was published.
    """

    make: Callable[..., Strategy]
    summary: str
    paper: str


METHODS: dict[str, Method] = {
    "auto": Method(auto, "the default: parts of ocbo and others, chosen by the data", "docs/choosing.md"),
    "ocbo": Method(ocbo, "GP calibrated by reach, then online", "after Deshpande, Marx, Kuleshov, AISTATS 2024"),
    "locbo": Method(
        locbo, "GP calibrated by reach, then one interval online, denoised", "after Kim et al., IEEE TSP 2025"
    ),
    "ocbo_local": Method(
        ocbo_local, "GP calibrated by reach, then all levels online, smooth in reach", "after Kim et al., IEEE TSP 2025"
    ),
    "cbo": Method(
        cbo, "GP with full conformal prediction under covariate shift", "Stanton, Maddox, Wilson, AISTATS 2023"
    ),
    "turbo": Method(turbo, "GP in a trust region, uncalibrated", "Eriksson et al., NeurIPS 2019"),
    "risk_averse": Method(risk_averse, "GP of mean and noise, averse to noise", "Makarova et al., NeurIPS 2021"),
    "penalized_ei": Method(penalized_ei, "GP of mean and noise, EI minus the noise", "Griffiths et al. 2019"),
    "lfbo": Method(lfbo, "a weighted classifier instead of a model, without forecasts", "Song et al., ICML 2022"),
    "composite_lfbo": Method(composite_lfbo, "a network of measured vectors, for composite=", "Song et al., ICML 2022"),
    "bore": Method(bore, "a classifier of the best points, without forecasts", "Tiao et al., ICML 2021"),
    "cqr": Method(cqr, "quantile trees with conformal intervals, for large spaces", "Salinas et al., ICML 2023"),
    "conformal_ensemble": Method(conformal_ensemble, "a neural ensemble with conformal intervals", "Chen 2025"),
    "bananas_cp": Method(bananas_cp, "BANANAS with conformal intervals, for architectures", "Chen 2025"),
    "bananas": Method(bananas, "a neural ensemble, for architectures, uncalibrated", "White et al., AAAI 2021"),
    "gp_ei": Method(gp_ei, "GP with log expected improvement, uncalibrated", "Jones et al. 1998; Ament et al. 2023"),
}


def spelled_as_stored(given: str) -> str:
    """Return a name in the spelling of stored ones: in lower case, with underscores for hyphens."""
    return given.strip().lower().replace("-", "_")


@checked
def method_name(given: str) -> str:
    """Return the name of a method as it is stored: case does not matter, and hyphens are underscores.

    Raises:
        RecipeError: If there is no such method.
    """
    name = spelled_as_stored(given)
    if name not in METHODS:
        known = ", ".join(sorted(METHODS))
        raise RecipeError(f"unknown method {shown(given)}; known are {known}{did_you_mean(name, METHODS)}")
    return name


def strategy(method: str | Strategy) -> Strategy:
    """Return the strategy of a name, or the strategy given.

    Raises:
        RecipeError: If the name is unknown, or the method is neither a name nor a strategy.
    """
    if isinstance(method, str):
        return METHODS[method_name(method)].make()
    if not isinstance(method, Strategy):
        raise RecipeError(f"a method is a name or a Strategy, got a {type(method).__name__}")
    return method
