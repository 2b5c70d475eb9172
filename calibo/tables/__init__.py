"""Ranking: a table of candidates -> the next rows to measure."""

from calibo.tables.rank import rank
from calibo.tables.replay import LabelledPool, Replay, replay

__all__ = ["LabelledPool", "Replay", "rank", "replay"]
