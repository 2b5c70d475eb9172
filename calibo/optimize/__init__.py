"""The optimization loop: strategies, the pure function ``suggest``, and the ``Optimizer`` with its ask and tell."""

from calibo.optimize.optimizer import Optimizer
from calibo.optimize.predictions import fitted_plan
from calibo.optimize.sources import CandidateSource, Chosen, PoolSource, SpaceSource
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.optimize.suggest import choose, generator, propose, suggest
from calibo.search import Plan

__all__ = [
    "CandidateSource",
    "Chosen",
    "ModelBased",
    "Optimizer",
    "Plan",
    "PoolSource",
    "SpaceSource",
    "Strategy",
    "choose",
    "fitted_plan",
    "generator",
    "propose",
    "suggest",
]
