"""The loop: strategies, the pure suggest(), and the Optimizer that asks and is told."""

from calibo.optimize.optimizer import Optimizer
from calibo.optimize.predictions import believed, fitted_models, makes_forecasts, predict_table
from calibo.optimize.records import (
    Direction,
    Record,
    State,
    checked_outcome,
    constraint_names,
    dataset,
    finite_constraints,
    finite_value,
    finite_values,
    meets,
    reference_values,
    turned,
)
from calibo.optimize.sources import CandidateSource, Chosen, PoolSource, SpaceSource
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.optimize.suggest import choose, generator, propose, suggest
from calibo.search import Plan

__all__ = [
    "CandidateSource",
    "Chosen",
    "Direction",
    "ModelBased",
    "Optimizer",
    "Plan",
    "PoolSource",
    "Record",
    "SpaceSource",
    "State",
    "Strategy",
    "believed",
    "checked_outcome",
    "choose",
    "constraint_names",
    "dataset",
    "finite_constraints",
    "finite_value",
    "finite_values",
    "fitted_models",
    "generator",
    "meets",
    "makes_forecasts",
    "predict_table",
    "propose",
    "reference_values",
    "suggest",
    "turned",
]
