"""calibo's methods, and any strategy made of its parts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters.base import Adapter, Judged
from benchmarks.peers.spaces import Parameter, Params, PeerSpace
from calibo.data import Suggestion
from calibo.diagnostics.scoring_rules import crps
from calibo.optimize import Optimizer, Strategy
from calibo.spaces import Categorical, Float, Int, Ordinal


class CaliboMethod(Adapter):
    """``calibo.Optimizer`` with a method by its name, or a strategy given as ``file.py:name``."""

    def __init__(self, space: PeerSpace, seed: int, n_initial: int, method: str) -> None:
        super().__init__(space, seed, n_initial)
        chosen = strategy_from(method) if ":" in method else method
        self.optimizer = Optimizer(own_space(space), chosen, seed=seed, n_initial=1)
        self.asked: Suggestion | None = None

    def ask(self) -> Params:
        self.asked = self.optimizer.ask()
        return dict(self.asked.params)

    def judged(self, value: float) -> Judged | None:
        if self.asked is None or not self.asked.forecasts:
            return None
        shown = self.asked.forecasts[0].calibrated
        low, high = shown.interval(0.8)
        return Judged(float(low), float(high), float(crps([shown], [value])[0]))

    def tell(self, params: Params, value: float) -> None:
        self.optimizer.tell(self.asked or params, value)
        self.asked = None


def own_space(space: PeerSpace) -> dict[str, Float | Int | Ordinal | Categorical]:
    """Return the parameters of a space as calibo takes them."""
    return {name: _own_parameter(parameter) for name, parameter in space.items()}


def _own_parameter(parameter: Parameter) -> Float | Int | Ordinal | Categorical:
    if parameter.kind == "float":
        return Float(parameter.low, parameter.high, log=parameter.log)
    if parameter.kind == "int":
        return Int(int(parameter.low), int(parameter.high), log=parameter.log)
    return (Ordinal if parameter.kind == "ordinal" else Categorical)(parameter.choices)


def strategy_from(place: str) -> Strategy:
    """Return the strategy ``file.py:name``: a strategy, or a function without arguments that returns one."""
    file, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"a strategy is given as file.py:name, got {place!r}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Any = getattr(module, name)
    return found if isinstance(found, Strategy) else found()
