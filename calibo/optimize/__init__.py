"""The optimization loop: strategies, the pure function ``suggest``, and the ``Optimizer`` with its ask and tell."""

from calibo.optimize.auto import Auto
from calibo.optimize.likelihood_free import LikelihoodFree
from calibo.optimize.optimizer import Optimizer
from calibo.optimize.predictions import fitted_plan
from calibo.optimize.regret import Regret
from calibo.optimize.replicated import Replicated
from calibo.optimize.sources import CandidateSource, Chosen, PoolSource, SpaceSource
from calibo.optimize.stopping import Patience, Progress, RegretBelow, StoppingRule, StoppingVerdict
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.optimize.suggest import choose, generator, propose, suggest
from calibo.optimize.turbo import TuRBO
from calibo.search import Plan

__all__ = [
    "Auto",
    "CandidateSource",
    "Chosen",
    "LikelihoodFree",
    "ModelBased",
    "Optimizer",
    "Patience",
    "Plan",
    "PoolSource",
    "Progress",
    "Regret",
    "RegretBelow",
    "Replicated",
    "SpaceSource",
    "StoppingRule",
    "StoppingVerdict",
    "Strategy",
    "TuRBO",
    "choose",
    "fitted_plan",
    "generator",
    "propose",
    "suggest",
]
