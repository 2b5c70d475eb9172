"""Ranking: a table of candidates -> the next rows to measure."""

from calibo.ranking.rank import rank
from calibo.ranking.replay import LabelledPool, Replay, replay

__all__ = ["LabelledPool", "Replay", "rank", "replay"]
