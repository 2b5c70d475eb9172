"""The methods by name: compositions of parts, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calibo.acquisition import AcquisitionRule, ExpectedImprovement, UpperQuantile
from calibo.calibration import Calibrated, OnlineQuantile, Temperature
from calibo.errors import RecipeError
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.surrogates import GaussianProcess, Surrogate


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
    "gp_ei": Method(gp_ei, "GP with log expected improvement, uncalibrated", "Jones et al. 1998; Ament et al. 2023"),
}


def strategy(method: str | Strategy) -> Strategy:
    """The strategy of that name, or the strategy given."""
    if isinstance(method, str):
        if method not in METHODS:
            raise RecipeError(f"unknown method {method!r}; known are {', '.join(sorted(METHODS))}")
        return METHODS[method].make()
    if not hasattr(method, "plan"):
        raise RecipeError(f"a method is a name or a strategy with plan(), got a {type(method).__name__}")
    return method
