"""Acquisition rules: (Model, Dataset) -> acquisition function."""

from calibo.acquisition.base import Acquisition, AcquisitionRule, SampledUtility, incumbent
from calibo.acquisition.gates import Feasibility, constrained, gated
from calibo.acquisition.hypervolume import HypervolumeImprovement, TradeoffRule
from calibo.acquisition.improvement import ExpectedImprovement, ProbabilityOfImprovement
from calibo.acquisition.noisy import NoisyExpectedImprovement
from calibo.acquisition.optimism import ConformalUCB
from calibo.acquisition.quantile import UpperQuantile
from calibo.acquisition.risk import PenalizedEI, RiskAverseUCB
from calibo.acquisition.thompson import ThompsonSampling

__all__ = [
    "Acquisition",
    "AcquisitionRule",
    "ConformalUCB",
    "ExpectedImprovement",
    "Feasibility",
    "HypervolumeImprovement",
    "NoisyExpectedImprovement",
    "PenalizedEI",
    "ProbabilityOfImprovement",
    "RiskAverseUCB",
    "SampledUtility",
    "ThompsonSampling",
    "TradeoffRule",
    "UpperQuantile",
    "constrained",
    "gated",
    "incumbent",
]
