"""Whom to cite: the BibTeX entries of exactly the parts that were composed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from calibo.acquisition import (
    ConformalUCB,
    ExpectedImprovement,
    HypervolumeImprovement,
    NoisyExpectedImprovement,
    PenalizedEI,
    ProbabilityOfImprovement,
    RiskAverseUCB,
    ThompsonSampling,
    UpperQuantile,
)
from calibo.bibliography import BIBLIOGRAPHY
from calibo.calibration import (
    ACI,
    AgACI,
    Bootstrap,
    Conformal,
    ConformalBayes,
    DensityRatio,
    DtACI,
    Isotonic,
    KFold,
    LocalizedOnline,
    LocalizedQuantile,
    NeuralRatio,
    OnlineQuantile,
    Prequential,
    QuantileShift,
    Regressor,
    Temperature,
)
from calibo.classifiers import (
    BoreLabels,
    GradientBoosting,
    KernelLogistic,
    Logistic,
    RandomForest,
    Tchebycheff,
    WeightedLabels,
    XGBoost,
)
from calibo.errors import RecipeError
from calibo.models import (
    GaussianProcess,
    HeteroscedasticGP,
    NeuralEnsemble,
    QuantileForest,
    QuantileNetwork,
    QuantileTrees,
    XGBoostQuantiles,
)
from calibo.optimize.likelihood_free import CompositeLikelihoodFree
from calibo.optimize.turbo import TuRBO
from calibo.search import Dynamic, Langevin, MutatedBest

#: What each part goes back to; a part that is not listed (a search, a kernel, a user's own class) is skipped.
_PARTS: dict[type, tuple[str, ...]] = {
    ACI: ("gibbs2021",),
    AgACI: ("zaffran2022",),
    BoreLabels: ("tiao2021",),
    Bootstrap: ("kim2020",),
    CompositeLikelihoodFree: ("song2022",),
    Conformal: ("vovk2005", "chen2025"),
    ConformalBayes: ("stanton2023",),
    ConformalUCB: ("stanton2023", "wilson2018"),
    DensityRatio: ("rahimi2007",),
    DtACI: ("gibbs2024",),
    Dynamic: ("chen2025",),
    ExpectedImprovement: ("jones1998", "ament2023"),
    GaussianProcess: ("rasmussen2006", "hvarfner2024"),
    GradientBoosting: ("pedregosa2011",),
    HeteroscedasticGP: ("kersting2007",),
    HypervolumeImprovement: ("yang2019", "daulton2021"),
    Isotonic: ("kuleshov2018",),
    KFold: ("barber2021",),
    KernelLogistic: ("rasmussen2006",),
    Langevin: ("welling2011",),
    LocalizedOnline: ("kim2025", "gibbs2024", "zaffran2022"),
    LocalizedQuantile: ("kim2025", "deshpande2024"),
    Logistic: ("pedregosa2011",),
    MutatedBest: ("white2021",),
    NeuralEnsemble: ("white2021",),
    NeuralRatio: ("stanton2023",),
    NoisyExpectedImprovement: ("letham2019",),
    OnlineQuantile: ("deshpande2024",),
    PenalizedEI: ("griffiths2022",),
    Prequential: ("dawid1984",),
    ProbabilityOfImprovement: ("kushner1964",),
    QuantileForest: ("meinshausen2006", "pedregosa2011"),
    QuantileNetwork: ("chen2025",),
    QuantileShift: ("romano2019",),
    QuantileTrees: ("salinas2023",),
    RandomForest: ("pedregosa2011",),
    Regressor: ("kuleshov2018",),
    RiskAverseUCB: ("makarova2021",),
    Tchebycheff: ("knowles2006",),
    Temperature: ("guo2017",),
    ThompsonSampling: ("thompson1933",),
    TuRBO: ("eriksson2019",),
    UpperQuantile: ("srinivas2010", "wilson2018"),
    WeightedLabels: ("song2022",),
    XGBoost: ("chen2016",),
    XGBoostQuantiles: ("chen2016",),
}

#: What any part from these packages goes back to; they are optional, or slow to import, so their types are not asked.
_PACKAGES: dict[str, tuple[str, ...]] = {
    "botorch": ("balandat2020",),
    "calibo.botorch": ("balandat2020",),
    "optuna": ("akiba2019",),
    "sklearn": ("pedregosa2011",),
    "xgboost": ("chen2016",),
}

#: Attributes under which an optimizer, a sampler or a result holds the strategy, and a result its Optuna study.
_HOLDING = ("strategy", "study")


def cite(what: Any) -> str:
    """The BibTeX entries of the parts of a method, each once, in the order in which the parts are composed.

    Args:
        what: A method's name, a strategy, or what holds one: an ``Optimizer``, or a ``CalibratedSampler`` or
            ``Result`` (which add Optuna). A part such as a surrogate or a calibrator may also stand alone.
            Of a strategy the rule for one objective counts; of what has several objectives, that for several.
    """
    if isinstance(what, str):
        from calibo.methods import strategy

        what = strategy(what)
    unused = "rule" if len(getattr(what, "directions", ())) > 1 else "tradeoff"
    keys = dict.fromkeys(_keys(what, unused))
    if not keys and not is_dataclass(what) and not hasattr(what, "plan"):
        raise RecipeError(f"cite a method's name, a strategy or a part of one, got a {type(what).__name__}")
    return "\n\n".join(_entry(key) for key in keys)


def _keys(part: Any, unused: str) -> Iterator[str]:
    """The keys of a part and of the parts inside it, but for a field that is not used, repeats included."""
    if isinstance(part, Mapping):
        yield from _keys_of_all(part.values(), unused)
        return
    if isinstance(part, (list, tuple)):
        yield from _keys_of_all(part, unused)
        return
    for kind in type(part).__mro__:
        yield from _PARTS.get(kind, ())
        for package, keys in _PACKAGES.items():
            if f"{kind.__module__}.".startswith(f"{package}."):
                yield from keys
    held = [getattr(part, name, None) for name in _HOLDING]
    if any(one is not None for one in held):
        yield from _keys_of_all(held, unused)
    elif is_dataclass(part) and not isinstance(part, type):
        yield from _keys_of_all((getattr(part, field.name) for field in fields(part) if field.name != unused), unused)


def _keys_of_all(parts: Iterable[Any], unused: str) -> Iterator[str]:
    for part in parts:
        if part is not None and not isinstance(part, (str, bytes, bool, int, float)):
            yield from _keys(part, unused)


def _entry(key: str) -> str:
    kind, entry = BIBLIOGRAPHY[key]
    lines = [f"  {name:<9} = {{{value}}}," for name, value in entry.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
