"""The loop: strategies, the pure suggest(), and the Optimizer that asks and is told."""

from calibo.optimize.optimizer import Optimizer
from calibo.optimize.predictions import believed, fitted_model, predict_table
from calibo.optimize.records import Direction, Record, State, dataset, finite_value, turned
from calibo.optimize.strategy import ModelBased, Plan, Strategy
from calibo.optimize.suggest import checked_count, checked_seed, generator, propose, suggest

__all__ = [
    "Direction",
    "ModelBased",
    "Optimizer",
    "Plan",
    "Record",
    "State",
    "Strategy",
    "believed",
    "checked_count",
    "checked_seed",
    "dataset",
    "finite_value",
    "fitted_model",
    "generator",
    "predict_table",
    "propose",
    "suggest",
    "turned",
]
