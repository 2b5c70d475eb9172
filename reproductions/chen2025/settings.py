"""What the thesis sets, what one run is, and the methods that are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calibo.acquisition import (
    AcquisitionRule,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    ThompsonSampling,
    UpperBound,
    UpperQuantile,
)
from calibo.calibration import (
    AgACI,
    Bootstrap,
    Conformal,
    DtACI,
    KFold,
    OnlineQuantile,
    Prequential,
    QuantileShift,
    Recalibrator,
    Residual,
    Score,
    Split,
)
from calibo.methods import bananas, bananas_cp
from calibo.models import NeuralEnsemble, Perceptron, QuantileNetwork
from calibo.optimize import ModelBased
from calibo.search import Dynamic, MutatedBest, RandomCandidates, Search

RANDOM, EVOLUTION = "random search", "regularised evolution"
BANANAS = "BANANAS"
SPLIT_ENSEMBLE, FOLDS_ENSEMBLE, BOOTSTRAP_ENSEMBLE = "Split, ensemble", "KFold(3), ensemble", "Bootstrap(20), ensemble"
SPLIT_QUANTILE, FOLDS_QUANTILE = "Split, quantiles", "KFold(3), quantiles"
FOLDS_QUANTILE_EI = "KFold(3), quantiles, EI"
HELD_OUT = "calibo's bananas()"
DTACI, AGACI, ONLINE = "DtACI, ensemble", "AgACI, ensemble", "OnlineQuantile, ensemble"
ONLINE_TEN = "OnlineQuantile, ten networks"
BANANAS_FOUR, ONLINE_FOUR = "BANANAS, four parents", "OnlineQuantile, four parents"
#: Without a model, and so without forecasts.
MODEL_FREE = (RANDOM, EVOLUTION)
#: The five of the thesis, and its best with expected improvement.
CONFORMAL = (
    SPLIT_ENSEMBLE,
    FOLDS_ENSEMBLE,
    BOOTSTRAP_ENSEMBLE,
    SPLIT_QUANTILE,
    FOLDS_QUANTILE,
    FOLDS_QUANTILE_EI,
)
#: Ours: noise learned from points that members leave out, and levels that follow how the search's forecasts came out.
OURS = (HELD_OUT, DTACI, AGACI, ONLINE, ONLINE_TEN, ONLINE_FOUR)
#: Without calibration: the predictive distribution is the spread of the networks.
UNCALIBRATED = (BANANAS, BANANAS_FOUR)
_ONLINE: dict[str, Recalibrator] = {
    DTACI: DtACI(),
    AGACI: AgACI(),
    ONLINE: OnlineQuantile(pooled=True),
    ONLINE_TEN: OnlineQuantile(pooled=True),
    ONLINE_FOUR: OnlineQuantile(pooled=True),
}
METHODS = (*MODEL_FREE, *UNCALIBRATED, *CONFORMAL, *OURS)
DATASETS = ("cifar10", "cifar100", "imagenet16_120")
#: The data set of the side lines.
SIDE = "cifar100"
#: The training whose validation accuracy is the objective.
TRAINING = 0
INITIAL, BATCH = 10, 10
#: By name, in the order of the thesis.
CANDIDATES: dict[str, Search] = {
    "mutation": MutatedBest(parents=2, candidates=100),
    "random": RandomCandidates(100),
    "dynamic": Dynamic(budget=150, candidates=100),
}
RULES: dict[str, AcquisitionRule] = {
    "ITS": ThompsonSampling(joint=False),
    "UCB, quantile .75": UpperQuantile(0.75),
    "UCB, mean + .5 sd": UpperBound(0.5),
    "PI": ProbabilityOfImprovement(),
    "EI": ExpectedImprovement(),
}


def thesis_levels(q: int) -> tuple[float, ...]:
    """.001, 1/q, ..., 1 - 1/q, .999."""
    return (0.001, *(round(j / q, 6) for j in range(1, q)), 0.999)


@dataclass(frozen=True)
class Job:
    """One search, with all that determines its result.

    Attributes:
        dataset: One of ``DATASETS``.
        method: One of ``METHODS``.
        seed: Gives the initial cells and the search.
        evaluations: In all.
        candidates: A key of ``CANDIDATES``; ``None`` for mutation.
        levels: The q of ``thesis_levels``; ``None`` for the library's own.
        rule: A key of ``RULES``; ``None`` for the method's own.
        fraction: Share of the points that split conformal methods calibrate with; ``None`` for a half.
        folds: Number of folds; ``None`` for three.
        network: "published" for the networks of the thesis's code, "tiny" for a few steps of small ones; ``None`` for the
            library's own.
    """

    dataset: str
    method: str
    seed: int
    evaluations: int
    candidates: str | None = None
    levels: int | None = None
    rule: str | None = None
    fraction: float | None = None
    folds: int | None = None
    network: str | None = None


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        evaluations: Of a search.
        trials: Of Table 3.1.
        repeats: Seeds, by part.
        network: Of all parts but the one with the published networks.
    """

    evaluations: int
    trials: int
    repeats: dict[str, int]
    network: str | None = None


_SIDES = ("candidates", "levels", "acquisition", "fractions", "folds")
#: The thesis has 50 seeds everywhere, as we have of its own networks, which take up to 27 s: half of all the computing. 30 of
#: all other runs, of less than 5 s, are the other half.
FULL = Size(150, 50, {"search": 30, **dict.fromkeys(_SIDES, 30), "networks": 50})
SMOKE = Size(20, 2, {"search": 1, **dict.fromkeys(_SIDES, 1), "networks": 0}, "tiny")


def strategy(job: Job) -> ModelBased:
    """Return the method of a job, composed of the library's parts."""
    rule, search = RULES[job.rule or "ITS"], CANDIDATES[job.candidates or "mutation"]
    if job.method in (BANANAS_FOUR, ONLINE_FOUR):
        search = MutatedBest(parents=4, candidates=100)
    ensemble, single, quantiles = _networks(job.network)
    if job.method == HELD_OUT:
        return bananas(surrogate=ensemble, rule=rule, search=search)
    if job.method in UNCALIBRATED:
        return bananas(surrogate=replace(ensemble, leave_out=False), rule=rule, search=search)
    if job.method in _ONLINE:
        members = replace(ensemble, members=10) if job.method == ONLINE_TEN else ensemble
        return bananas_cp(surrogate=members, by=_ONLINE[job.method], evidence=Prequential(), rule=rule, search=search)
    if job.method == FOLDS_QUANTILE_EI:
        rule = RULES["EI"]
    split, folds = Split() if job.fraction is None else Split(job.fraction), KFold(job.folds or 3)
    surrogate, score, evidence = {
        SPLIT_ENSEMBLE: (ensemble, Residual(), split),
        FOLDS_ENSEMBLE: (ensemble, Residual(), folds),
        BOOTSTRAP_ENSEMBLE: (single, Residual(scaled=False), Bootstrap(20)),
        SPLIT_QUANTILE: (quantiles, QuantileShift(), split),
        FOLDS_QUANTILE: (quantiles, QuantileShift(), folds),
        FOLDS_QUANTILE_EI: (quantiles, QuantileShift(), folds),
    }[job.method]
    by = _conformal(score, job.levels)
    return bananas_cp(surrogate=surrogate, by=by, evidence=evidence, rule=rule, search=search)


def _conformal(score: Score, q: int | None) -> Conformal:
    return Conformal(score) if q is None else Conformal(score, thesis_levels(q))


def _networks(name: str | None) -> tuple[NeuralEnsemble, NeuralEnsemble, QuantileNetwork]:
    """Five networks, a single one, and one for each level."""
    if name == "published":
        return NeuralEnsemble.published(), NeuralEnsemble.published(1), QuantileNetwork.published()
    if name == "tiny":
        tiny = Perceptron(layers=1, width=4, epochs=1, fewest_steps=5)
        return NeuralEnsemble(5, tiny), NeuralEnsemble(1, tiny), QuantileNetwork(network=tiny)
    return NeuralEnsemble(), NeuralEnsemble(1), QuantileNetwork()
