"""The optimizers by name, each with the environment it needs; imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from benchmarks.peers.adapters.base import Adapter, Judged
from benchmarks.peers.spaces import PeerSpace, is_continuous

__all__ = ["Adapter", "Judged", "Peer", "PEERS", "label_of", "peer"]

#: Space, seed and number of initial points -> an optimizer.
Make = Callable[[PeerSpace, int, int], Adapter]


@dataclass(frozen=True)
class Peer:
    """Where an optimizer is found.

    Attributes:
        place: Module of this package and name in it, a class or function that makes the adapter.
        environment: Folder of ``.venv-peers`` with its packages (``requirements/<environment>.txt``); empty for calibo's own.
        continuous_only: Whether it takes floats only.
    """

    place: str
    environment: str = ""
    continuous_only: bool = False

    def takes(self, space: PeerSpace) -> bool:
        """Return whether the optimizer can search a space."""
        return not self.continuous_only or is_continuous(space)

    def load(self) -> Make:
        """Import the optimizer."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"benchmarks.peers.adapters.{module}"), name)


PEERS: dict[str, Peer] = {
    "random": Peer("optuna_samplers:random"),
    "optuna_tpe": Peer("optuna_samplers:tpe"),
    "optuna_gp": Peer("optuna_samplers:gp"),
    "optuna_cmaes": Peer("optuna_samplers:cmaes", continuous_only=True),
    "optuna_auto": Peer("optuna_samplers:auto"),
    "botorch": Peer("botorch_qlognei:BoTorchQLogNEI"),
    "ax": Peer("ax_client:AxClient", "ax"),
    "smac": Peer("smac_facades:SmacFacade", "smac"),
    "hebo": Peer("hebo_optimizer:Hebo", "hebo"),
    "vizier": Peer("vizier_designers:VizierBandit", "vizier"),
    "syne_tune_cqr": Peer("syne_tune_searchers:cqr", "syne_tune"),
    "syne_tune_bore": Peer("syne_tune_searchers:bore", "syne_tune"),
    "confopt": Peer("confopt_tuner:ConfOpt", "confopt"),
}


@dataclass(frozen=True)
class CaliboPeer(Peer):
    """A method of calibo.

    Attributes:
        method: Its name, or ``file.py:name``.
    """

    place: str = "calibo_methods:CaliboMethod"
    method: str = ""

    def load(self) -> Make:
        return partial(super().load(), method=self.method)


def peer(optimizer: str) -> Peer:
    """Return an optimizer by its name: a peer, or a method of calibo, ``file.py:name`` or ``label=file.py:name`` included."""
    return PEERS.get(optimizer) or CaliboPeer(method=optimizer.rpartition("=")[2])


def label_of(optimizer: str) -> str:
    """Return the name under which an optimizer's runs are kept."""
    label, equals, rest = optimizer.partition("=")
    return label if equals else rest or optimizer.rpartition(":")[2]
