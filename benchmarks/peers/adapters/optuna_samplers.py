"""Optuna's samplers. Ordinals are whole numbers, the numbers of their choices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.spaces import Parameter, Params, PeerSpace, from_indices, is_continuous, to_indices

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)

#: Completed trials from which AutoSampler changes from GPSampler to CmaEsSampler.
AUTO_LIMIT = 250
#: Seed, number of initial points and trials told so far -> a sampler.
MakeSampler = Callable[[int, int, list[optuna.trial.FrozenTrial]], BaseSampler]


class OptunaSampler(Adapter):
    """A study with one sampler; the points told before the first ``ask`` count as its start-up trials."""

    def __init__(self, space: PeerSpace, seed: int, n_initial: int, make: MakeSampler) -> None:
        super().__init__(space, seed, n_initial)
        self.distributions = {name: _distribution(parameter) for name, parameter in space.items()}
        self.make = make
        self.told: list[optuna.trial.FrozenTrial] = []
        self.study: optuna.Study | None = None
        self.trial: optuna.Trial | None = None

    def ask(self) -> Params:
        if self.study is None:
            self.study = optuna.create_study(sampler=self.make(self.seed, self.n_initial, self.told))
            self.study.add_trials(self.told)
        self.trial = self.study.ask(self.distributions)
        return from_indices(self.space, self.trial.params)

    def tell(self, params: Params, value: float) -> None:
        if self.study is None or self.trial is None:
            given: dict[str, Any] = {"params": to_indices(self.space, params), "distributions": self.distributions}
            self.told.append(optuna.trial.create_trial(value=value, **given))
        else:
            self.study.tell(self.trial, value)
            self.trial = None


def _distribution(parameter: Parameter) -> BaseDistribution:
    if parameter.kind == "float":
        return FloatDistribution(parameter.low, parameter.high, log=parameter.log)
    if parameter.kind == "int":
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.log)
    if parameter.kind == "ordinal":
        return IntDistribution(0, len(parameter.choices) - 1)
    return CategoricalDistribution(parameter.choices)


def random(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """Random search."""
    return OptunaSampler(space, seed, n_initial, lambda seed, n, told: RandomSampler(seed=seed))


def tpe(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """TPESampler with its defaults, Optuna's default."""
    return OptunaSampler(space, seed, n_initial, lambda seed, n, told: TPESampler(seed=seed, n_startup_trials=n))


def gp(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """GPSampler with its defaults."""
    _one_torch_thread()
    return OptunaSampler(space, seed, n_initial, lambda seed, n, told: GPSampler(seed=seed, n_startup_trials=n))


def cmaes(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """CmaEsSampler, floats only. It does not learn from points it did not ask for: the best of them is its start."""
    if not is_continuous(space):
        raise ValueError("CMA-ES is run on continuous spaces only")

    def make(seed: int, n: int, told: list[optuna.trial.FrozenTrial]) -> BaseSampler:
        best = min(told, key=lambda trial: trial.value or 0.0)
        return CmaEsSampler(seed=seed, x0=best.params)

    return OptunaSampler(space, seed, n_initial, make)


def auto(space: PeerSpace, seed: int, n_initial: int) -> Adapter:
    """The rule of OptunaHub's AutoSampler for one objective, below its limit of 250 trials.

    Multivariate TPE, which is TPESampler's default for such spaces, if a parameter is categorical; else GPSampler.
    """
    if not auto_takes_tpe(space):
        return gp(space, seed, n_initial)

    def make(seed: int, n: int, told: list[optuna.trial.FrozenTrial]) -> BaseSampler:
        return TPESampler(seed=seed, n_startup_trials=n, multivariate=True, constant_liar=True)

    return OptunaSampler(space, seed, n_initial, make)


def auto_takes_tpe(space: PeerSpace) -> bool:
    """Return whether AutoSampler takes TPE for a space."""
    return any(parameter.kind == "categorical" for parameter in space.values())


def _one_torch_thread() -> None:
    import torch

    torch.set_num_threads(1)
