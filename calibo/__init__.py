"""calibo: calibrated Bayesian optimization.

Every suggestion is a forecast. A calibrator turns a surrogate into a surrogate by looking at how past forecasts came
out, and everything after it sees only a predictive distribution.

The public names are loaded when they are first used, so that ``import calibo`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibo import methods
    from calibo.auditing import Audit, audit
    from calibo.calibration import Calibrated
    from calibo.citation import cite
    from calibo.data import Outcome, Suggestion
    from calibo.errors import CaliboError, CaliboWarning
    from calibo.methods import gp_ei, ocbo
    from calibo.optimize import ModelBased, Optimizer, Patience, RegretBelow
    from calibo.search_cv import SearchCV
    from calibo.spaces import (
        Categorical,
        Context,
        Float,
        Int,
        LinearConstraint,
        Mixture,
        Ordinal,
        PoolSpace,
        ProductSpace,
        space_from_toml,
    )
    from calibo.study import CalibratedSampler, Result, StopWhen, load_result, maximize, minimize
    from calibo.tables import accept, rank

__version__ = "0.2.0"

__all__ = [
    "Audit",
    "CaliboError",
    "CaliboWarning",
    "Calibrated",
    "CalibratedSampler",
    "Categorical",
    "Context",
    "Float",
    "Int",
    "LinearConstraint",
    "Mixture",
    "ModelBased",
    "Optimizer",
    "Ordinal",
    "Outcome",
    "Patience",
    "PoolSpace",
    "ProductSpace",
    "RegretBelow",
    "Result",
    "SearchCV",
    "StopWhen",
    "Suggestion",
    "__version__",
    "accept",
    "audit",
    "cite",
    "gp_ei",
    "load_result",
    "maximize",
    "methods",
    "minimize",
    "ocbo",
    "rank",
    "space_from_toml",
]

#: Module of each public name.
_HOMES = {
    "Audit": "calibo.auditing",
    "CaliboError": "calibo.errors",
    "CaliboWarning": "calibo.errors",
    "Calibrated": "calibo.calibration",
    "CalibratedSampler": "calibo.study",
    "Categorical": "calibo.spaces",
    "Context": "calibo.spaces",
    "Float": "calibo.spaces",
    "Int": "calibo.spaces",
    "LinearConstraint": "calibo.spaces",
    "Mixture": "calibo.spaces",
    "ModelBased": "calibo.optimize",
    "Optimizer": "calibo.optimize",
    "Ordinal": "calibo.spaces",
    "Outcome": "calibo.data",
    "Patience": "calibo.optimize",
    "PoolSpace": "calibo.spaces",
    "ProductSpace": "calibo.spaces",
    "RegretBelow": "calibo.optimize",
    "Result": "calibo.study",
    "SearchCV": "calibo.search_cv",
    "StopWhen": "calibo.study",
    "Suggestion": "calibo.data",
    "accept": "calibo.tables.accept",
    "audit": "calibo.auditing",
    "cite": "calibo.citation",
    "gp_ei": "calibo.methods",
    "load_result": "calibo.study",
    "maximize": "calibo.study",
    "minimize": "calibo.study",
    "ocbo": "calibo.methods",
    "rank": "calibo.tables.rank",
    "space_from_toml": "calibo.spaces",
}


def __getattr__(name: str) -> Any:
    if name == "methods":
        return importlib.import_module("calibo.methods")
    if name not in _HOMES:
        raise AttributeError(f"module 'calibo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value  # found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
