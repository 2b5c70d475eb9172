"""Acquisition rules: (Model, Dataset) -> acquisition function."""

from calibo.acquisition.base import Acquisition, AcquisitionRule, SampledUtility, incumbent
from calibo.acquisition.feasibility import Feasibility, FirstFeasible
from calibo.acquisition.gates import Gate, gated, last_points, log_of, multiplied
from calibo.acquisition.hypervolume import HypervolumeImprovement, TradeoffRule
from calibo.acquisition.improvement import ExpectedImprovement, ProbabilityOfImprovement
from calibo.acquisition.noisy import NoisyExpectedImprovement
from calibo.acquisition.optimism import ConformalUCB
from calibo.acquisition.quantile import UpperBound, UpperQuantile
from calibo.acquisition.risk import PenalizedEI, RiskAverseUCB
from calibo.acquisition.thompson import ThompsonSampling

__all__ = [
    "Acquisition",
    "AcquisitionRule",
    "ConformalUCB",
    "ExpectedImprovement",
    "Feasibility",
    "FirstFeasible",
    "Gate",
    "HypervolumeImprovement",
    "NoisyExpectedImprovement",
    "PenalizedEI",
    "ProbabilityOfImprovement",
    "RiskAverseUCB",
    "SampledUtility",
    "ThompsonSampling",
    "TradeoffRule",
    "UpperBound",
    "UpperQuantile",
    "gated",
    "incumbent",
    "last_points",
    "log_of",
    "multiplied",
]
