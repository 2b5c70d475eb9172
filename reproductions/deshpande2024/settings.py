"""The paper's settings, what one run is, and the methods compared under two models: the paper's and ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from adaptive import AdaptiveUCB
from kernels import LinearGP, PeriodicGP
from likelihood import IsotropicGP, Later, Uncorrected
from tanh import TanhWarped

from calibo.acquisition import (
    AcquisitionRule,
    ConformalUCB,
    ExpectedImprovement,
    ProbabilityOfImprovement,
    UpperQuantile,
)
from calibo.calibration import (
    Bootstrap,
    Calibrated,
    Isotonic,
    LeaveOneOut,
    OnlineQuantile,
    Prequential,
    Recalibrator,
    Regressor,
    Resampler,
    Temperature,
    TimeSeries,
)
from calibo.methods import cbo, gp_ei
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
INPUTS, TANH = "input warping", "output warping (tanh)"
OUTPUTS, LOG, BAGGED = "Yeo-Johnson of output", "log of output", "bagged ensemble of 5 GPs"
BASELINES = (UNCALIBRATED, INPUTS, TANH, OUTPUTS, LOG, BAGGED)
CONFORMAL, ADAPTIVE = "conformal (CBO)", "adaptive UCB"
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
    ("forrester", "UCB"): (0.8, 1.0, 0.0, 0.4, 1.0, 0.8),
    ("ackley2", "EI"): (0.8, 0.8, 0.6, 0.8, 0.8, 0.6),
    ("alpine1_10", "EI"): (0.6, 0.8, 0.6, 0.8, 0.8, 0.8),
    ("cosines", "EI"): (0.8, 1.0, 0.8, 0.8, 0.8, 0.4),
}
#: Problems of Figure 4, whose acquisition function is UCB; the text does not name them, so they are those of Figure 2.
FIGURE_4 = ("forrester", "ackley2", "alpine1_10")


@dataclass(frozen=True)
class Sensitivity:
    """One row of Table 4: Forrester's function, one setting changed.

    Attributes:
        group: What is changed.
        name: To what.
        wins: The paper's fraction of runs where calibrated is best.
        areas: Its areas under the curve, calibrated and not.
        variant: As a job calls it; ``None`` for the settings of Table 2.
        rule: A key of ``RULES``.
        initial: Points of the initial design.
    """

    group: str
    name: str
    wins: float
    areas: tuple[float, float]
    variant: str | None = None
    rule: str = "PI"
    initial: int = 3


#: Table 4. The default of each group is the first row (the paper's own recalibrator there is a GP).
TABLE_4 = (
    Sensitivity("kernel", "Matern", 0.8, (0.2811, 0.3454)),
    Sensitivity("kernel", "linear", 1.0, (0.5221, 1.0), "linear"),
    Sensitivity("kernel", "RBF", 0.4, (0.2366, 0.2922), "RBF"),
    Sensitivity("kernel", "periodic", 0.6, (0.2586, 0.3305), "periodic"),
    # A model needs two points here, so that the most splits there are is N - 2.
    Sensitivity("time-series splits", "N - 2", 0.8, (0.2768, 0.3454)),
    Sensitivity("time-series splits", "N - 3", 0.8, (0.2653, 0.3454), "N - 3"),
    Sensitivity("time-series splits", "N - 4", 0.6, (0.2643, 0.3454), "N - 4"),
    Sensitivity("recalibrator", "isotonic", float("nan"), (float("nan"), float("nan")), "isotonic"),
    Sensitivity("recalibrator", "GP", 0.8, (0.2810, 0.3454), "GP"),
    Sensitivity("recalibrator", "MLP", 0.8, (0.2785, 0.3454), "MLP"),
    Sensitivity("initial points", "4", 0.8, (0.0557, 0.0614), initial=4),
    Sensitivity("initial points", "7", 0.4, (0.0719, 0.0736), initial=7),
    Sensitivity("initial points", "10", 0.4, (0.0825, 0.0817), initial=10),
    Sensitivity("initial design of 4", "Sobol", 0.6, (0.0415, 0.0414), "Sobol", initial=4),
    Sensitivity("initial design of 4", "Latin hypercube", 0.2, (0.2358, 0.2181), "Latin hypercube", initial=4),
    Sensitivity("linear kernel", "UCB", 1.0, (1.0, 1.0), "linear", "UCB"),
    Sensitivity("linear kernel", "EI", 1.0, (0.5221, 1.0), "linear", "EI"),
)


@dataclass(frozen=True)
class Job:
    """One optimization, with all that determines its result.

    Attributes:
        part: "example", "curves", "table2" (also of Table 4) or "tasks", which have different kernels, evidence and starts.
        problem: As ``calibo.problems`` calls it, or one of ``tasks.TASKS``.
        rule: A key of ``RULES``.
        method: One of ``METHODS`` or ``BASELINES``, ``CONFORMAL`` or ``ADAPTIVE``.
        model: ``PAPERS`` or ``OURS``.
        seed: Gives the initial points (of the example, which of ``STARTS``) and the search.
        initial: Random initial points.
        steps: Evaluations after them.
        variant: What is changed in a row of Table 4, if anything.
    """

    part: str
    problem: str
    rule: str
    method: str
    model: str
    seed: int
    initial: int
    steps: int
    variant: str | None = None


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        steps: Of each search.
        many_steps: Of the long searches of A.4.
        task_steps: Of searches that train models.
        repeats: By part.
    """

    steps: int
    many_steps: int
    task_steps: int
    repeats: dict[str, int]


#: The paper repeats 5 times. Searches of models that are trained take longer than 5 s.
FULL = Size(
    steps=25,
    many_steps=100,
    task_steps=20,
    repeats={
        "1": len(STARTS),
        "2": 30,
        "3": 30,
        "table1": 30,
        "4": 30,
        "table2": 30,
        "table4": 30,
        "A4": 30,
        "5": 10,
    },
)
SMOKE = Size(
    steps=1,
    many_steps=2,
    task_steps=1,
    repeats={"1": 1, "2": 0, "3": 0, "table1": 1, "4": 0, "table2": 0, "table4": 1, "A4": 0, "5": 0},
)


def surrogate(job: Job) -> Surrogate:
    """Return the bare Gaussian process: in the paper's model one length scale, by maximum likelihood."""
    if job.variant in ("linear", "periodic"):
        return LinearGP() if job.variant == "linear" else PeriodicGP()
    kernel = Matern52() if job.part == "table2" and job.variant != "RBF" else RBF()
    return IsotropicGP(kernel) if job.model == PAPERS else GaussianProcess(kernel)


def evidence(job: Job) -> Resampler:
    """Return where forecasts to learn from come from: left-out ones in the paper's model, stored ones in ours."""
    if job.model == OURS:
        return Prequential()
    if job.variant is not None and job.variant.startswith("N - "):
        return Later(int(job.variant[-1]))
    return TimeSeries() if job.part == "table2" else LeaveOneOut()


def recalibrator(job: Job) -> Recalibrator:
    """Return what learns from the evidence: the paper's online quantiles, but for some rows of Table 4."""
    if job.variant == "isotonic":
        return Isotonic()
    if job.variant in ("GP", "MLP"):
        return Regressor(_regressor(job.variant))
    return OnlineQuantile(ETA, pooled=True)


def _regressor(name: str) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF as Smooth
    from sklearn.gaussian_process.kernels import WhiteKernel
    from sklearn.neural_network import MLPRegressor

    if name == "GP":
        return GaussianProcessRegressor(Smooth(0.3, (0.05, 10.0)) + WhiteKernel(1e-2, (1e-5, 1.0)), normalize_y=True)
    return MLPRegressor(hidden_layer_sizes=(8, 8), solver="lbfgs", alpha=1e-2, max_iter=1000)


def baseline(method: str, gp: Surrogate) -> Surrogate:
    """Return one of ``BASELINES``: the bare GP, or one of warped columns, transformed outcomes, or resampled results."""
    if method == INPUTS:
        assert isinstance(gp, GaussianProcess)
        return replace(gp, warping=InputWarping())
    if method == TANH:
        assert isinstance(gp, GaussianProcess)
        return TanhWarped(gp)
    if method in (OUTPUTS, LOG):
        return Warped(gp, shapes=(OutcomeShape.YEO_JOHNSON if method == OUTPUTS else OutcomeShape.LOG_DISTANCE,))
    return Calibrated(gp, by=Uncorrected(), evidence=Bootstrap(5)) if method == BAGGED else gp


def strategy(job: Job) -> ModelBased:
    """Return a baseline, the paper's recalibrator on the bare GP, or the same on a tempered GP."""
    gp, rule = surrogate(job), RULES[job.rule]
    if job.method in BASELINES:
        return gp_ei(surrogate=baseline(job.method, gp), rule=rule)
    if job.method == CONFORMAL:
        return cbo(surrogate=gp, rule=ConformalUCB())
    if job.method == ADAPTIVE:
        return gp_ei(surrogate=gp, rule=AdaptiveUCB(gp, job.initial))
    inner = Calibrated(gp, by=Temperature(), evidence=evidence(job)) if job.method == TEMPERED else gp
    return gp_ei(surrogate=Calibrated(inner, by=recalibrator(job), evidence=evidence(job)), rule=rule)
