"""Candidate searches: acquisition function -> points."""

from calibo.candidates.base import CandidateSearch, CopiesParents, Explored, Explorer, Learning
from calibo.candidates.exploring import EpsilonGreedy, Indifferent
from calibo.candidates.finite import Pool, RandomDraw
from calibo.candidates.langevin import Langevin
from calibo.candidates.multistart import MultiStart
from calibo.candidates.mutation import Mutation
from calibo.candidates.parents import Dynamic, MutatedBest, RandomCandidates

__all__ = [
    "CandidateSearch",
    "CopiesParents",
    "Dynamic",
    "EpsilonGreedy",
    "Explored",
    "Explorer",
    "Indifferent",
    "Langevin",
    "Learning",
    "MultiStart",
    "MutatedBest",
    "Mutation",
    "Pool",
    "RandomCandidates",
    "RandomDraw",
]
