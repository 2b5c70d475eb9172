"""SMAC3: the facade for the kind of space, without an initial design of its own."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import ConfigSpace
from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Parameter, Params, PeerSpace, from_indices, is_continuous, to_indices


class SmacFacade(Adapter):
    """Gaussian process and expected improvement for floats alone, else a random forest. Ordinals are whole numbers."""

    def __init__(self, space: PeerSpace, seed: int, n_initial: int) -> None:
        super().__init__(space, seed, n_initial)
        logging.getLogger("smac").setLevel(logging.ERROR)
        self.configurations = ConfigSpace.ConfigurationSpace(seed=seed)
        self.configurations.add([_hyperparameter(name, parameter) for name, parameter in space.items()])
        facade = BlackBoxFacade if is_continuous(space) else HyperparameterOptimizationFacade
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            self.configurations,
            deterministic=True,
            n_trials=100_000,
            seed=seed,
            output_directory=Path(self.folder.name),
        )
        design = facade.get_initial_design(scenario, n_configs=0, additional_configs=[])
        self.smac = facade(scenario, _never_called, initial_design=design, overwrite=True, logging_level=40)
        self.trial: TrialInfo | None = None

    def ask(self) -> Params:
        self.trial = self.smac.ask()
        return from_indices(self.space, dict(self.trial.config))

    def tell(self, params: Params, value: float) -> None:
        trial, self.trial = self.trial, None
        if trial is None:
            given = ConfigSpace.Configuration(self.configurations, to_indices(self.space, params))
            trial = TrialInfo(given, seed=0)
        self.smac.tell(trial, TrialValue(cost=value), save=False)


def _never_called(config: Any, seed: int = 0) -> float:
    raise NotImplementedError("points are asked for and told")


def _hyperparameter(name: str, parameter: Parameter) -> Any:
    if parameter.kind == "float":
        return ConfigSpace.Float(name, (parameter.low, parameter.high), log=parameter.log)
    if parameter.kind == "int":
        return ConfigSpace.Integer(name, (int(parameter.low), int(parameter.high)), log=parameter.log)
    if parameter.kind == "ordinal":
        return ConfigSpace.Integer(name, (0, len(parameter.choices) - 1))
    return ConfigSpace.Categorical(name, list(parameter.choices))
