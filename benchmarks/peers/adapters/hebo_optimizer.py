"""HEBO with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Parameter, Params, PeerSpace, from_indices, to_indices


class Hebo(Adapter):
    """HEBO: a warped Gaussian process, and the Pareto front of three acquisition functions. Ordinals are whole numbers."""

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        super().__init__(space, seed, n_initial)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (HEBO draws from it)
        own = DesignSpace().parse([_design(name, parameter) for name, parameter in space.items()])
        self.hebo = HEBO(own, rand_sample=n_initial, scramble_seed=seed)

    def ask(self) -> Params:
        return from_indices(self.space, dict(self.hebo.suggest(n_suggestions=1).iloc[0]))

    def tell(self, params: Params, value: float) -> None:
        self.hebo.observe(pd.DataFrame([to_indices(self.space, params)]), np.array([[value]]))


def _design(name: str, parameter: Parameter) -> dict[str, Any]:
    if parameter.kind == "categorical":
        return {"name": name, "type": "cat", "categories": list(parameter.choices)}
    if parameter.kind == "ordinal":
        return {"name": name, "type": "int", "lb": 0, "ub": len(parameter.choices) - 1}
    kinds = {("float", False): "num", ("float", True): "pow", ("int", False): "int", ("int", True): "pow_int"}
    return {"name": name, "type": kinds[parameter.kind, parameter.log], "lb": parameter.low, "ub": parameter.high}
