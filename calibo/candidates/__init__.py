"""Candidate searches: acquisition function -> points."""

from calibo.candidates.base import CandidateSearch
from calibo.candidates.finite import Pool, RandomDraw
from calibo.candidates.multistart import MultiStart

__all__ = ["CandidateSearch", "MultiStart", "Pool", "RandomDraw"]
