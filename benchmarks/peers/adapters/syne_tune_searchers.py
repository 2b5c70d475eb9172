"""syne-tune's searchers without its schedulers: conformal quantile regression and BORE."""

from __future__ import annotations

from typing import Any

import numpy as np
from syne_tune import config_space
from syne_tune.optimizer.schedulers.searchers.bore import Bore
from syne_tune.optimizer.schedulers.searchers.conformal.conformal_quantile_regression_searcher import (
    ConformalQuantileRegression,
)

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Parameter, Params, PeerSpace, clean


class SyneTuneSearcher(Adapter):
    """A searcher of syne-tune with its defaults; it minimizes."""

    def __init__(self, space: PeerSpace, seed: int, n_initial: int, make: Any) -> None:
        super().__init__(space, seed, n_initial)
        np.random.seed(seed)  # noqa: NPY002 (its random points are drawn from it)
        domains = {name: _domain(parameter) for name, parameter in space.items()}
        self.searcher = make(config_space=domains, points_to_evaluate=[], random_seed=seed)
        self.told = 0

    def ask(self) -> Params:
        return clean(self.space, self.searcher.suggest())

    def tell(self, params: Params, value: float) -> None:
        self.searcher.on_trial_complete(self.told, dict(params), value)
        self.told += 1


def cqr(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """Conformal quantile regression (Salinas et al. 2023)."""
    return SyneTuneSearcher(space, seed, n_initial, ConformalQuantileRegression)


def bore(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """BORE (Tiao et al. 2021)."""
    return SyneTuneSearcher(space, seed, n_initial, Bore)


def _domain(parameter: Parameter) -> Any:
    if parameter.kind == "float":
        return (config_space.loguniform if parameter.log else config_space.uniform)(parameter.low, parameter.high)
    if parameter.kind == "int":
        bounds = int(parameter.low), int(parameter.high)
        return (config_space.lograndint if parameter.log else config_space.randint)(*bounds)
    if parameter.kind == "ordinal":
        return config_space.ordinal(list(parameter.choices), kind="equal")
    return config_space.choice(list(parameter.choices))
