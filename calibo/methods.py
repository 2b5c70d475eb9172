"""The methods by name: compositions of parts, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from calibo.acquisition import (
    AcquisitionRule,
    ExpectedImprovement,
    PenalizedEI,
    RiskAverseUCB,
    ThompsonSampling,
    UpperQuantile,
)
from calibo.calibration import (
    Calibrated,
    Conformal,
    ConformalBayes,
    DensityRatio,
    LocalizedOnline,
    LocalizedQuantile,
    OnlineQuantile,
    QuantileShift,
    RatioEstimator,
    Recalibrator,
    Resampler,
    ShrinkingAlpha,
    Split,
    Temperature,
)
from calibo.classifiers import BoreLabels, BySize, Classifier, Improvement, Utility, WeightedLabels
from calibo.classifiers.composite import CompositeNetwork, Outer
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, HeteroscedasticGP, NeuralEnsemble, QuantileTrees, Surrogate
from calibo.optimize.likelihood_free import CompositeLikelihoodFree
from calibo.optimize.likelihood_free import LikelihoodFree
from calibo.optimize.replicated import Replicated
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.optimize.turbo import TuRBO
from calibo.search import Langevin, MutatedBest, Mutation, Search


def gp_ei(*, surrogate: Surrogate | None = None, rule: AcquisitionRule | None = None, **options: Any) -> ModelBased:
    """Gaussian process and expected improvement, without calibration: the reference."""
    return ModelBased(surrogate or GaussianProcess(), rule or ExpectedImprovement(), name="gp_ei", **options)


def ocbo(
    *,
    eta: float = 0.2,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> ModelBased:
    """Online calibrated Bayesian optimization: every quantile of the forecasts is right in the long run."""
    calibrated = Calibrated(Calibrated(surrogate or GaussianProcess(), by=Temperature()), by=OnlineQuantile(eta))
    return ModelBased(calibrated, rule or UpperQuantile(0.9), name="ocbo", **options)


def locbo(
    *,
    alpha: float = 0.2,
    kappa: float = 0.5,
    length_scale: float | Literal["auto"] = "auto",
    eta0: float = 0.1,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> ModelBased:
    """Localized online conformal Bayesian optimization: intervals of 1 - alpha that are right in each region."""
    by = LocalizedOnline(alpha=alpha, kappa=kappa, length_scale=length_scale, eta0=eta0)
    calibrated = Calibrated(Calibrated(surrogate or GaussianProcess(), by=Temperature()), by=by)
    return ModelBased(calibrated, rule or ExpectedImprovement(), name="locbo", **options)


def ocbo_local(
    *,
    eta: float = 0.1,
    kappa: float = 1.0,
    length_scale: float | Literal["auto"] = "auto",
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> ModelBased:
    """OCBO with a level map of its own in each region (OCBO-L)."""
    by = LocalizedQuantile(eta=eta, kappa=kappa, length_scale=length_scale)
    calibrated = Calibrated(Calibrated(surrogate or GaussianProcess(), by=Temperature()), by=by)
    return ModelBased(calibrated, rule or UpperQuantile(0.9), name="ocbo_local", **options)


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
    """Conformal Bayesian optimization: full conformal sets of the GP, data weighted by where the search goes.

    ``ratio=None`` does without the weights and the Langevin chains that teach them, and is faster.
    """
    conformal = ConformalBayes(surrogate or GaussianProcess(), alpha, score, ratio)
    search = search or (None if ratio is None else Langevin())
    return ModelBased(conformal, rule or ExpectedImprovement(), search, name="cbo", **options)


def turbo(
    *,
    batch_size: int = 1,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    **options: Any,
) -> TuRBO:
    """TuRBO-1: a trust region around the best point that grows with success and shrinks with failure."""
    made = surrogate or GaussianProcess()
    return TuRBO(made, rule or ThompsonSampling(), batch_size=batch_size, name="turbo", **options)


def risk_averse(*, level: float = 0.9, aversion: float = 1.0, replicates: int = 3, **options: Any) -> Replicated:
    """RAHBO: upper bound of the mean less the noise variance, both learned from replicated measurements."""
    rule = RiskAverseUCB(level, aversion)
    surrogate = HeteroscedasticGP(replicates_follow=replicates > 1)
    return Replicated(ModelBased(surrogate, rule, name="risk_averse", **options), replicates)


def penalized_ei(*, aversion: float = 1.0, replicates: int = 3, **options: Any) -> Replicated:
    """Expected improvement less the noise's standard deviation, learned from replicated measurements."""
    rule = PenalizedEI(aversion)
    surrogate = HeteroscedasticGP(replicates_follow=replicates > 1)
    return Replicated(ModelBased(surrogate, rule, name="penalized_ei", **options), replicates)


def lfbo(
    *,
    classifier: Classifier | None = None,
    utility: Utility = Improvement(),  # noqa: B008 (frozen)
    gamma: float = 1.0 / 3.0,
    forecaster: Surrogate | None = None,
    **options: Any,
) -> LikelihoodFree:
    """Likelihood-free: a classifier, weighted by the utility of outcomes, is the acquisition; no model, no forecasts."""
    made = classifier or BySize()
    return LikelihoodFree(WeightedLabels(utility, gamma), made, forecaster=forecaster, name="lfbo", **options)


def bore(
    *,
    classifier: Classifier | None = None,
    gamma: float = 1.0 / 3.0,
    forecaster: Surrogate | None = None,
    **options: Any,
) -> LikelihoodFree:
    """Likelihood-free: the probability of being among the best gamma of all points, unweighted."""
    made = classifier or BySize()
    return LikelihoodFree(BoreLabels(gamma), made, forecaster=forecaster, name="bore", **options)


def composite_lfbo(*, outer: Outer | None = None, gamma: float = 0.1, **options: Any) -> CompositeLikelihoodFree:
    """Likelihood-free for objectives g(h(x)) whose vectors h are measured: a network of h with g as its last layer.

    ``outer`` is g, larger is better; without it g is given as ``composite=``, in the sign of the direction.
    """
    return CompositeLikelihoodFree(outer, CompositeNetwork(gamma=gamma), name="composite_lfbo", **options)


def bananas(
    *,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Architecture search by a neural ensemble and independent Thompson draws among copies of the best, uncalibrated."""
    rule = rule or ThompsonSampling(joint=False)
    return ModelBased(surrogate or NeuralEnsemble(), rule, search or MutatedBest(), name="bananas", **options)


def bananas_cp(
    *,
    surrogate: Surrogate | None = None,
    by: Recalibrator = Conformal(),  # noqa: B008 (frozen)
    evidence: Resampler = Split(),  # noqa: B008 (frozen)
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """BANANAS with conformal intervals, or calibrated otherwise.

    The ensembles of the thesis are ``evidence=Split()``, ``KFold(3)``, and ``surrogate=NeuralEnsemble(1),
    by=Conformal(Residual(scaled=False)), evidence=Bootstrap()``;
    quantile regression is ``surrogate=QuantileNetwork(), by=Conformal(QuantileShift())`` with ``Split()`` or ``KFold(3)``.
    ``by=OnlineQuantile(), evidence=Prequential()`` learns from how the search's own forecasts came out.
    """
    calibrated = Calibrated(surrogate or NeuralEnsemble(), by=by, evidence=evidence)
    rule = rule or ThompsonSampling(joint=False)
    return ModelBased(calibrated, rule, search or MutatedBest(), name="bananas_cp", **options)


def conformal_ensemble(
    *,
    surrogate: Surrogate | None = None,
    by: Conformal = Conformal(),  # noqa: B008 (frozen)
    evidence: Resampler = Split(0.3),  # noqa: B008 (frozen)
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """A neural ensemble with conformal intervals on any space: for many columns, choices, or features of a space's own."""
    calibrated = Calibrated(surrogate or NeuralEnsemble(), by=by, evidence=evidence)
    rule = rule or ExpectedImprovement()
    return ModelBased(
        calibrated, rule, search or Mutation(1200, 800, shortlist=256), name="conformal_ensemble", **options
    )


def conformal_trees(
    *,
    surrogate: Surrogate | None = None,
    by: Conformal = Conformal(QuantileShift()),  # noqa: B008 (frozen)
    evidence: Resampler = Split(0.3),  # noqa: B008 (frozen)
) -> Calibrated:
    """Conformalised quantile regression with trees: a surrogate for large, discrete or high-dimensional spaces.

    It is what ``cqr`` chooses by, and makes forecasts beside a method that has none: ``lfbo(forecaster=conformal_trees())``.
    """
    return Calibrated(surrogate or QuantileTrees(), by=by, evidence=evidence)


def cqr(
    *,
    surrogate: Surrogate | None = None,
    rule: AcquisitionRule | None = None,
    search: Search | None = None,
    **options: Any,
) -> ModelBased:
    """Conformalised quantile regression with trees: the practical default for large, discrete or many-columned spaces."""
    rule = rule or ExpectedImprovement()
    return ModelBased(
        surrogate or conformal_trees(), rule, search or Mutation(1200, 800, shortlist=256), name="cqr", **options
    )


@dataclass(frozen=True)
class Method:
    """A method that can be had by its name.

    Attributes:
        make: Composes it.
        summary: What it does, in one line.
        paper: Where it comes from.
    """

    make: Callable[..., Strategy]
    summary: str
    paper: str


METHODS: dict[str, Method] = {
    "ocbo": Method(ocbo, "GP with online quantile recalibration", "Deshpande, Marx, Kuleshov, AISTATS 2024"),
    "locbo": Method(locbo, "GP with localized online conformal intervals, denoised", "Kim et al., IEEE TSP 2025"),
    "ocbo_local": Method(ocbo_local, "GP with localized online quantile recalibration", "Kim et al., IEEE TSP 2025"),
    "cbo": Method(
        cbo, "GP with full conformal prediction under covariate shift", "Stanton, Maddox, Wilson, AISTATS 2023"
    ),
    "turbo": Method(turbo, "GP in a trust region, uncalibrated", "Eriksson et al., NeurIPS 2019"),
    "risk_averse": Method(risk_averse, "GP of mean and noise, averse to noise", "Makarova et al., NeurIPS 2021"),
    "penalized_ei": Method(penalized_ei, "GP of mean and noise, EI less the noise", "Griffiths et al. 2019"),
    "lfbo": Method(lfbo, "a weighted classifier instead of a model, without forecasts", "Song et al., ICML 2022"),
    "composite_lfbo": Method(composite_lfbo, "a network of measured vectors, for composite=", "Song et al., ICML 2022"),
    "bore": Method(bore, "a classifier of the best points, without forecasts", "Tiao et al., ICML 2021"),
    "cqr": Method(cqr, "quantile trees with conformal intervals, for large spaces", "Salinas et al., ICML 2023"),
    "conformal_ensemble": Method(conformal_ensemble, "a neural ensemble with conformal intervals", "Chen 2025"),
    "bananas_cp": Method(bananas_cp, "BANANAS with conformal intervals, for architectures", "Chen 2025"),
    "bananas": Method(bananas, "a neural ensemble, for architectures, uncalibrated", "White et al., AAAI 2021"),
    "gp_ei": Method(gp_ei, "GP with log expected improvement, uncalibrated", "Jones et al. 1998; Ament et al. 2023"),
}


def strategy(method: str | Strategy) -> Strategy:
    """The strategy of that name, or the strategy given."""
    if isinstance(method, str):
        name = method.replace("-", "_")
        if name not in METHODS:
            raise RecipeError(f"unknown method {method!r}; known are {', '.join(sorted(METHODS))}")
        return METHODS[name].make()
    if not isinstance(method, Strategy):
        raise RecipeError(f"a method is a name or a Strategy, got a {type(method).__name__}")
    return method
