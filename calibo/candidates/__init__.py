"""Candidate searches: acquisition function -> points."""

from calibo.candidates.base import CandidateSearch, Explored, Explorer, Learning
from calibo.candidates.finite import Pool, RandomDraw
from calibo.candidates.langevin import Langevin
from calibo.candidates.multistart import MultiStart

__all__ = ["CandidateSearch", "Explored", "Explorer", "Langevin", "Learning", "MultiStart", "Pool", "RandomDraw"]
