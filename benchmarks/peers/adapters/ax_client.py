"""Ax: its client with the generation strategy that it chooses."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Parameter, Params, PeerSpace, clean


class AxClient(Adapter):
    """Ax's ``Client`` with method "fast", its default; the initial points are attached and count as its initialization."""

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        super().__init__(space, seed, n_initial)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (parts of Ax draw from it)
        for name in list(logging.root.manager.loggerDict):
            if name.startswith("ax"):
                logging.getLogger(name).setLevel(logging.ERROR)
        self.client = Client(random_seed=seed)
        self.client.configure_experiment(parameters=[_config(name, p) for name, p in space.items()])
        self.client.configure_optimization(objective="-value")
        self.client.configure_generation_strategy(
            method="fast", initialization_budget=n_initial, initialize_with_center=False
        )
        self.floats = {name for name, p in space.items() if _kind(p) == "float"}
        self.trial: int | None = None

    def ask(self) -> Params:
        ((self.trial, params),) = self.client.get_next_trials(max_trials=1).items()
        return clean(self.space, params)

    def tell(self, params: Params, value: float) -> None:
        trial, self.trial = self.trial, None
        if trial is None:
            typed = {name: float(value) if name in self.floats else value for name, value in params.items()}
            trial = self.client.attach_trial(parameters=typed)
        self.client.complete_trial(trial_index=trial, raw_data={"value": value})


def _kind(parameter: Parameter) -> Any:
    """Return the one type that Ax gives all values of a parameter."""
    kinds = {type(choice).__name__ for choice in parameter.choices} or {parameter.kind}
    return kinds.pop() if len(kinds) == 1 else "float"


def _config(name: str, parameter: Parameter) -> Any:
    kind = _kind(parameter)
    if not parameter.choices:
        scaling = "log" if parameter.log else "linear"
        bounds = (parameter.low, parameter.high) if kind == "float" else (int(parameter.low), int(parameter.high))
        return RangeParameterConfig(name=name, parameter_type=kind, bounds=bounds, scaling=scaling)
    values = [float(choice) for choice in parameter.choices] if kind == "float" else list(parameter.choices)
    return ChoiceParameterConfig(name=name, parameter_type=kind, values=values, is_ordered=parameter.kind == "ordinal")
