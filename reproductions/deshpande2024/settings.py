"""The paper's settings, what one run is, and the methods compared under two models: the paper's and ours."""

from __future__ import annotations

from dataclasses import dataclass, replace

from likelihood import IsotropicGP, Uncorrected

from calibo.acquisition import AcquisitionRule, ExpectedImprovement, ProbabilityOfImprovement, UpperQuantile
from calibo.calibration import (
    Bootstrap,
    Calibrated,
    LeaveOneOut,
    OnlineQuantile,
    Prequential,
    Resampler,
    Temperature,
    TimeSeries,
)
from calibo.methods import gp_ei
from calibo.models import RBF, GaussianProcess, InputWarping, Matern52, Surrogate, Warped
from calibo.models.outcome_transforms import OutcomeShape
from calibo.optimize import ModelBased

#: Step size of the recalibrator; the paper does not give one.
ETA = 0.2
RULES: dict[str, AcquisitionRule] = {
    "UCB": UpperQuantile(0.9),
    "EI": ExpectedImprovement(),
    "PI": ProbabilityOfImprovement(),
}
UNCALIBRATED, ONLINE, TEMPERED = "uncalibrated", "online quantiles", "tempered online quantiles"
METHODS = (UNCALIBRATED, ONLINE, TEMPERED)
INPUTS, OUTPUTS, LOG, BAGGED = "input warping", "Yeo-Johnson of output", "log of output", "bagged ensemble of 5 GPs"
BASELINES = (UNCALIBRATED, INPUTS, OUTPUTS, LOG, BAGGED)
PAPERS, OURS = "paper's model", "our model"
#: Sets of three points, none of them in [0.6, 0.9] where the optimum of Forrester's function lies.
STARTS = ((0.05, 0.25, 0.45), (0.1, 0.3, 0.5), (0.05, 0.3, 0.55), (0.1, 0.25, 0.55), (0.15, 0.35, 0.5))
#: (problem, acquisition) of Figures 2 and 3.
PANELS: dict[str, tuple[tuple[str, str], ...]] = {
    "2": (("forrester", "UCB"), ("ackley2", "EI"), ("alpine1_10", "EI")),
    "3": (("six_hump_camel", "UCB"), ("six_hump_camel", "EI"), ("six_hump_camel", "PI")),
}
#: Functions of Table 2, each with the paper's fraction of runs where calibrated is best and its two areas.
TABLE_2: dict[str, tuple[float, float, float]] = {
    "cosines": (0.8, 0.2973, 0.3395),
    "beale": (0.6, 0.0929, 0.0930),
    "mccormick": (0.8, 0.1335, 0.1297),
    "powers2": (0.8, 0.2083, 0.2325),
    "cross_in_tray": (0.2, 0.2494, 0.2217),
    "ackley2": (0.8, 0.3617, 0.4314),
    "drop_wave": (0.6, 0.0455, 0.0452),
}
#: (problem, acquisition) of Tables 1 and 3, with the paper's fraction of runs where calibrated beats each of ``BASELINES``.
TABLE_1: dict[tuple[str, str], tuple[float, ...]] = {
    ("forrester", "UCB"): (0.8, 1.0, 0.4, 1.0, 0.8),
    ("ackley2", "EI"): (0.8, 0.8, 0.8, 0.8, 0.6),
    ("alpine1_10", "EI"): (0.6, 0.8, 0.8, 0.8, 0.8),
    ("cosines", "EI"): (0.8, 1.0, 0.8, 0.8, 0.4),
}


@dataclass(frozen=True)
class Job:
    """One optimization, with all that determines its result.

    Attributes:
        part: "example", "curves" or "table2", which have different kernels, evidence and starts.
        problem: As ``calibo.problems`` calls it.
        rule: A key of ``RULES``.
        method: One of ``METHODS`` or ``BASELINES``.
        model: ``PAPERS`` or ``OURS``.
        seed: Gives the initial points (of the example, which of ``STARTS``) and the search.
        initial: Random initial points.
        steps: Evaluations after them.
    """

    part: str
    problem: str
    rule: str
    method: str
    model: str
    seed: int
    initial: int
    steps: int


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        steps: Of each search.
        repeats: By part.
    """

    steps: int
    repeats: dict[str, int]


#: The paper repeats 5 times.
FULL = Size(25, {"1": len(STARTS), "2": 30, "3": 30, "table1": 30, "table2": 30})
SMOKE = Size(1, {"1": 1, "2": 0, "3": 0, "table1": 1, "table2": 0})


def surrogate(job: Job) -> GaussianProcess:
    """Return the bare Gaussian process: in the paper's model one length scale, by maximum likelihood."""
    kernel = Matern52() if job.part == "table2" else RBF()
    return IsotropicGP(kernel) if job.model == PAPERS else GaussianProcess(kernel)


def evidence(job: Job) -> Resampler:
    """Return where forecasts to learn from come from: left-out ones in the paper's model, stored ones in ours."""
    if job.model == OURS:
        return Prequential()
    return TimeSeries() if job.part == "table2" else LeaveOneOut()


def baseline(method: str, gp: GaussianProcess) -> Surrogate:
    """Return one of ``BASELINES``: the bare GP, or one of warped columns, transformed outcomes, or resampled results."""
    if method == INPUTS:
        return replace(gp, warping=InputWarping())
    if method in (OUTPUTS, LOG):
        return Warped(gp, shapes=(OutcomeShape.YEO_JOHNSON if method == OUTPUTS else OutcomeShape.LOG_DISTANCE,))
    return Calibrated(gp, by=Uncorrected(), evidence=Bootstrap(5)) if method == BAGGED else gp


def strategy(job: Job) -> ModelBased:
    """Return a baseline, the paper's recalibrator on the bare GP, or the same on a tempered GP."""
    gp, rule = surrogate(job), RULES[job.rule]
    if job.method in BASELINES:
        return gp_ei(surrogate=baseline(job.method, gp), rule=rule)
    inner = Calibrated(gp, by=Temperature(), evidence=evidence(job)) if job.method == TEMPERED else gp
    return gp_ei(surrogate=Calibrated(inner, by=OnlineQuantile(ETA, pooled=True), evidence=evidence(job)), rule=rule)
