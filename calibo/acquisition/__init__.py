"""Acquisition rules: (Model, Dataset) -> acquisition function."""

from calibo.acquisition.base import Acquisition, AcquisitionRule, SampledUtility, incumbent
from calibo.acquisition.gates import gated
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
    "NoisyExpectedImprovement",
    "PenalizedEI",
    "ProbabilityOfImprovement",
    "RiskAverseUCB",
    "SampledUtility",
    "ThompsonSampling",
    "UpperQuantile",
    "gated",
    "incumbent",
]
