"""Searches: find the points where a plan's acquisition function is large."""

from calibo.search.base import Search, SearchWrapper
from calibo.search.epsilon_greedy import EpsilonGreedy
from calibo.search.finite import Pool, RandomDraw
from calibo.search.langevin import Langevin
from calibo.search.multistart import MultiStart
from calibo.search.mutation import Mutation
from calibo.search.parents import Dynamic, MutatedBest, RandomCandidates
from calibo.search.plan import Acquisition, Box, Plan
from calibo.search.trust_region import TrustRegion

__all__ = [
    "Acquisition",
    "Box",
    "Dynamic",
    "EpsilonGreedy",
    "Langevin",
    "MultiStart",
    "MutatedBest",
    "Mutation",
    "Plan",
    "Pool",
    "RandomCandidates",
    "RandomDraw",
    "Search",
    "SearchWrapper",
    "TrustRegion",
]
