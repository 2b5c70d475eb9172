"""Candidate searches: acquisition function -> points."""

from calibo.search.base import CandidateSearch, CopiesParents, Explored, Explorer, Learning
from calibo.search.exploring import EpsilonGreedy, Indifferent
from calibo.search.finite import Pool, RandomDraw
from calibo.search.langevin import Langevin
from calibo.search.multistart import MultiStart
from calibo.search.mutation import Mutation
from calibo.search.parents import Dynamic, MutatedBest, RandomCandidates

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
