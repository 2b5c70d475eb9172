"""Whom to cite: the BibTeX entries of exactly the parts that were composed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from calibo.acquisition import ExpectedImprovement, ProbabilityOfImprovement, ThompsonSampling, UpperQuantile
from calibo.calibration import Isotonic, OnlineQuantile, Prequential, Regressor, Temperature
from calibo.errors import RecipeError
from calibo.surrogates import GaussianProcess

#: What each part goes back to; a part that is not listed (a search, a kernel, a user's own class) is skipped.
_PARTS: dict[type, tuple[str, ...]] = {
    ExpectedImprovement: ("jones1998", "ament2023"),
    GaussianProcess: ("rasmussen2006", "hvarfner2024"),
    Isotonic: ("kuleshov2018",),
    OnlineQuantile: ("deshpande2024",),
    Prequential: ("dawid1984",),
    ProbabilityOfImprovement: ("kushner1964",),
    Regressor: ("kuleshov2018",),
    Temperature: ("guo2017",),
    ThompsonSampling: ("thompson1933",),
    UpperQuantile: ("srinivas2010", "wilson2018"),
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
    """
    if isinstance(what, str):
        from calibo.methods import strategy

        what = strategy(what)
    keys = dict.fromkeys(_keys(what))
    if not keys and not is_dataclass(what) and not hasattr(what, "plan"):
        raise RecipeError(f"cite a method's name, a strategy or a part of one, got a {type(what).__name__}")
    return "\n\n".join(_entry(key) for key in keys)


def _keys(part: Any) -> Iterator[str]:
    """The keys of a part and of the parts inside it, repeats included."""
    if isinstance(part, Mapping):
        yield from _keys_of_all(part.values())
        return
    if isinstance(part, (list, tuple)):
        yield from _keys_of_all(part)
        return
    for kind in type(part).__mro__:
        yield from _PARTS.get(kind, ())
        for package, keys in _PACKAGES.items():
            if f"{kind.__module__}.".startswith(f"{package}."):
                yield from keys
    held = [getattr(part, name, None) for name in _HOLDING]
    if any(one is not None for one in held):
        yield from _keys_of_all(held)
    elif is_dataclass(part) and not isinstance(part, type):
        yield from _keys_of_all(getattr(part, field.name) for field in fields(part))


def _keys_of_all(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        if part is not None and not isinstance(part, (str, bytes, bool, int, float)):
            yield from _keys(part)


def _entry(key: str) -> str:
    kind, entry = _BIBLIOGRAPHY[key]
    lines = [f"  {name:<9} = {{{value}}}," for name, value in entry.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


_PMLR = "Proceedings of Machine Learning Research"
_NEURIPS = "Advances in Neural Information Processing Systems"

_BIBLIOGRAPHY: dict[str, tuple[str, dict[str, str]]] = {
    "akiba2019": (
        "inproceedings",
        {
            "author": "Akiba, Takuya and Sano, Shotaro and Yanase, Toshihiko and Ohta, Takeru and Koyama, Masanori",
            "title": "{Optuna}: A Next-generation Hyperparameter Optimization Framework",
            "booktitle": "Proceedings of the 25th {ACM} {SIGKDD} International Conference on Knowledge "
            "Discovery \\& Data Mining",
            "pages": "2623--2631",
            "year": "2019",
            "doi": "10.1145/3292500.3330701",
        },
    ),
    "ament2023": (
        "inproceedings",
        {
            "author": "Ament, Sebastian and Daulton, Samuel and Eriksson, David and Balandat, Maximilian and "
            "Bakshy, Eytan",
            "title": "Unexpected Improvements to Expected Improvement for {Bayesian} Optimization",
            "booktitle": _NEURIPS,
            "volume": "36",
            "year": "2023",
        },
    ),
    "balandat2020": (
        "inproceedings",
        {
            "author": "Balandat, Maximilian and Karrer, Brian and Jiang, Daniel R. and Daulton, Samuel and Letham, "
            "Benjamin and Wilson, Andrew Gordon and Bakshy, Eytan",
            "title": "{BoTorch}: A Framework for Efficient {Monte-Carlo} {Bayesian} Optimization",
            "booktitle": _NEURIPS,
            "volume": "33",
            "year": "2020",
        },
    ),
    "chen2016": (
        "inproceedings",
        {
            "author": "Chen, Tianqi and Guestrin, Carlos",
            "title": "{XGBoost}: A Scalable Tree Boosting System",
            "booktitle": "Proceedings of the 22nd {ACM} {SIGKDD} International Conference on Knowledge "
            "Discovery and Data Mining",
            "pages": "785--794",
            "year": "2016",
            "doi": "10.1145/2939672.2939785",
        },
    ),
    "dawid1984": (
        "article",
        {
            "author": "Dawid, A. P.",
            "title": "Statistical Theory: The Prequential Approach",
            "journal": "Journal of the Royal Statistical Society. Series A (General)",
            "volume": "147",
            "number": "2",
            "pages": "278--292",
            "year": "1984",
            "doi": "10.2307/2981683",
        },
    ),
    "deshpande2024": (
        "inproceedings",
        {
            "author": "Deshpande, Shachi and Marx, Charles and Kuleshov, Volodymyr",
            "title": "Online Calibrated and Conformal Prediction Improves {Bayesian} Optimization",
            "booktitle": "Proceedings of the 27th International Conference on Artificial Intelligence and Statistics",
            "series": _PMLR,
            "volume": "238",
            "pages": "1450--1458",
            "year": "2024",
        },
    ),
    "guo2017": (
        "inproceedings",
        {
            "author": "Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.",
            "title": "On Calibration of Modern Neural Networks",
            "booktitle": "Proceedings of the 34th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "70",
            "pages": "1321--1330",
            "year": "2017",
        },
    ),
    "hvarfner2024": (
        "inproceedings",
        {
            "author": "Hvarfner, Carl and Hellsten, Erik Orm and Nardi, Luigi",
            "title": "Vanilla {Bayesian} Optimization Performs Great in High Dimensions",
            "booktitle": "Proceedings of the 41st International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "235",
            "pages": "20793--20817",
            "year": "2024",
        },
    ),
    "jones1998": (
        "article",
        {
            "author": "Jones, Donald R. and Schonlau, Matthias and Welch, William J.",
            "title": "Efficient Global Optimization of Expensive Black-Box Functions",
            "journal": "Journal of Global Optimization",
            "volume": "13",
            "number": "4",
            "pages": "455--492",
            "year": "1998",
            "doi": "10.1023/A:1008306431147",
        },
    ),
    "kuleshov2018": (
        "inproceedings",
        {
            "author": "Kuleshov, Volodymyr and Fenner, Nathan and Ermon, Stefano",
            "title": "Accurate Uncertainties for Deep Learning Using Calibrated Regression",
            "booktitle": "Proceedings of the 35th International Conference on Machine Learning",
            "series": _PMLR,
            "volume": "80",
            "pages": "2796--2804",
            "year": "2018",
        },
    ),
    "kushner1964": (
        "article",
        {
            "author": "Kushner, Harold J.",
            "title": "A New Method of Locating the Maximum Point of an Arbitrary Multipeak Curve in the Presence of "
            "Noise",
            "journal": "Journal of Basic Engineering",
            "volume": "86",
            "number": "1",
            "pages": "97--106",
            "year": "1964",
            "doi": "10.1115/1.3653121",
        },
    ),
    "pedregosa2011": (
        "article",
        {
            "author": "Pedregosa, Fabian and others",
            "title": "Scikit-learn: Machine Learning in {Python}",
            "journal": "Journal of Machine Learning Research",
            "volume": "12",
            "pages": "2825--2830",
            "year": "2011",
        },
    ),
    "rasmussen2006": (
        "book",
        {
            "author": "Rasmussen, Carl Edward and Williams, Christopher K. I.",
            "title": "{Gaussian} Processes for Machine Learning",
            "publisher": "MIT Press",
            "year": "2006",
        },
    ),
    "srinivas2010": (
        "inproceedings",
        {
            "author": "Srinivas, Niranjan and Krause, Andreas and Kakade, Sham M. and Seeger, Matthias",
            "title": "{Gaussian} Process Optimization in the Bandit Setting: No Regret and Experimental Design",
            "booktitle": "Proceedings of the 27th International Conference on Machine Learning",
            "pages": "1015--1022",
            "year": "2010",
        },
    ),
    "thompson1933": (
        "article",
        {
            "author": "Thompson, William R.",
            "title": "On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of "
            "Two Samples",
            "journal": "Biometrika",
            "volume": "25",
            "number": "3/4",
            "pages": "285--294",
            "year": "1933",
            "doi": "10.2307/2332286",
        },
    ),
    "wilson2018": (
        "inproceedings",
        {
            "author": "Wilson, James T. and Hutter, Frank and Deisenroth, Marc Peter",
            "title": "Maximizing acquisition functions for {Bayesian} optimization",
            "booktitle": _NEURIPS,
            "volume": "31",
            "year": "2018",
        },
    ),
}
