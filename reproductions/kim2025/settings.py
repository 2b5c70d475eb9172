"""The paper's settings (section V-A), what one run is, and the methods compared.

Lengths are in the paper's units here and divided by the width of the domain on their way into the library, which works
on the unit cube.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from variants import Noiseless

from calibo.calibration import Calibrated, LocalizedOnline, LocalizedQuantile, OnlineQuantile, Temperature
from calibo.methods import cbo, gp_ei
from calibo.models import GaussianProcess, Surrogate
from calibo.optimize import ModelBased

BO, CBO, OCBO, OCBO_L, LOCBO = "BO", "CBO", "OCBO", "OCBO-L", "LOCBO"
LOCBO_INF = "LOCBO (l = inf)"
OURS = "tempered LOCBO"
RANDOM = "random search"
#: The paper's six, in the order of its legends, and ours.
METHODS = (BO, CBO, OCBO, LOCBO_INF, OCBO_L, LOCBO, OURS)
#: Those that take a miscoverage; the others calibrate all levels, or none.
WITH_ALPHA = (CBO, LOCBO_INF, LOCBO, OURS)
#: Those that localize by a kernel of a given scale and length.
LOCALIZED = (OCBO_L, LOCBO)


@dataclass(frozen=True)
class Section:
    """What the paper sets for a section of its experiments.

    Attributes:
        width: Of the domain, in each variable.
        alpha: Miscoverage.
        kappa: Scale of LOCBO's kernel.
        kappa_quantile: Scale of OCBO-L's kernel.
        length_scale: Of both kernels.
        decay: w in eta_t = eta0 t^-w.
        regularization: Of the localized part.
        eta0: First step.
    """

    width: float
    alpha: float
    kappa: float
    kappa_quantile: float
    length_scale: float
    decay: float
    regularization: float
    eta0: float = 5e-3


_V_C = Section(20.0, 0.2, 4.0, 5.0, 5.0, 0.05, 4e-3)
#: By problem. Section V-B gives neither alpha nor l: 0.2 as in V-C, and a tenth of the domain.
SECTIONS: dict[str, Section] = {
    "locbo_1d": Section(10.0, 0.2, 2.0, 2.0, 1.0, 0.05, 4e-3),
    "ackley": _V_C,
    "ackley_noisy": _V_C,
    "radio": Section(1.0, 0.25, 2.0, 2.0, 1.0 / 3.0, 5e-3, 1e-4),
}


@dataclass(frozen=True)
class Job:
    """One optimization, with all that determines its result.

    Attributes:
        problem: A key of ``SECTIONS``.
        method: One of ``METHODS`` or ``RANDOM``.
        seed: Gives the initial points, the noise and the search.
        initial: Random initial points.
        steps: Measurements after them.
        alpha: Miscoverage; ``None`` for a method without one.
        kappa: Scale of the kernel; ``None`` for a method without one.
        length_scale: Of the kernel, in the paper's units; ``None`` for a method without one.
        channels: Channel draws in a measurement of the radio problem.
    """

    problem: str
    method: str
    seed: int
    initial: int
    steps: int
    alpha: float | None = None
    kappa: float | None = None
    length_scale: float | None = None
    channels: int = 1


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        steps: Of the problems in one and two dimensions.
        radio_initial: Initial points of the radio problem.
        radio_steps: Its steps.
        repeats: By figure.
    """

    steps: int
    radio_initial: int
    radio_steps: int
    repeats: dict[str, int]


#: The paper repeats Figure 5a 5 times and 5b and 6b 7 times, and does not say how often the others. Half of the lines of
#: Figure 8 take more than 5 s a run.
FULL = Size(50, 50, 250, {"4": 30, "5a": 30, "5b": 30, "6a": 30, "6b": 30, "8a": 10, "8b": 10, "8c": 10})
SMOKE = Size(2, 12, 2, {"4": 1, "5a": 2, "5b": 1, "6a": 1, "6b": 1, "8a": 2, "8b": 1, "8c": 1})


def job(
    problem: str,
    method: str,
    size: Size,
    *,
    alpha: float | None = None,
    kappa: float | None = None,
    length_scale: float | None = None,
    channels: int = 1,
) -> Job:
    """Return the job of seed 0 with the section's settings but for those given; what a method does not use is left out."""
    section, radio = SECTIONS[problem], problem == "radio"
    own_kappa = section.kappa if method == LOCBO else section.kappa_quantile
    return Job(
        problem=problem,
        method=method,
        seed=0,
        initial=size.radio_initial if radio else 5,
        steps=size.radio_steps if radio else size.steps,
        alpha=(alpha or section.alpha) if method in WITH_ALPHA else None,
        kappa=(own_kappa if kappa is None else kappa) if method in LOCALIZED else None,
        length_scale=(length_scale or section.length_scale) if method in LOCALIZED else None,
        channels=channels,
    )


def our_locbo(alpha: float) -> LocalizedOnline:
    """Return LOCBO's recalibrator with larger steps, and length scales that are weighed by how well they do."""
    return LocalizedOnline(alpha=alpha, kappa=0.5, length_scale="auto", eta0=0.1)


def strategy(job: Job, surrogate: Surrogate | None = None) -> ModelBased:
    """Return the method of a job: expected improvement on the bare GP, or on one calibrated with the paper's settings.

    OCBO and OCBO-L recalibrate the distribution of a measurement and take it for that of f, as the paper says: this
    is what costs them in noise.
    """
    gp, section = surrogate or GaussianProcess(), SECTIONS[job.problem]
    length = np.inf if job.length_scale is None else job.length_scale / section.width
    if job.method == BO:
        return gp_ei(surrogate=gp)
    if job.method == OCBO:
        return gp_ei(surrogate=Calibrated(Noiseless(gp), by=OnlineQuantile(section.eta0, pooled=True)))
    if job.method == OCBO_L:
        assert job.kappa is not None
        by = LocalizedQuantile(
            section.eta0,
            kappa=job.kappa,
            length_scale=length,
            regularization=section.regularization,
            pooled=True,
        )
        return gp_ei(surrogate=Calibrated(Noiseless(gp), by=by))
    assert job.alpha is not None
    if job.method == CBO:
        return cbo(alpha=job.alpha, score="in_sample", surrogate=gp)
    if job.method == OURS:
        return gp_ei(surrogate=Calibrated(Calibrated(gp, by=Temperature()), by=our_locbo(job.alpha)))
    by = LocalizedOnline(
        alpha=job.alpha,
        kappa=job.kappa or 0.0,
        length_scale=length,
        eta0=section.eta0,
        decay=section.decay,
        regularization=section.regularization,
    )
    return gp_ei(surrogate=Calibrated(gp, by=by))
