"""Acquisition rules: (Model, Dataset) -> acquisition function."""

from calibo.acquisition.base import Acquisition, AcquisitionRule, SampledUtility, incumbent
from calibo.acquisition.gates import gated
from calibo.acquisition.improvement import ExpectedImprovement, ProbabilityOfImprovement
from calibo.acquisition.quantile import UpperQuantile
from calibo.acquisition.thompson import ThompsonSampling

__all__ = [
    "Acquisition",
    "AcquisitionRule",
    "ExpectedImprovement",
    "ProbabilityOfImprovement",
    "SampledUtility",
    "ThompsonSampling",
    "UpperQuantile",
    "gated",
    "incumbent",
]
