"""Rank or accept the rows of a table of candidates, and replay methods on tables whose outcomes are all known."""

from calibo.tables.accept import accept
from calibo.tables.rank import rank
from calibo.tables.replay import LabelledPool, Replay, replay

__all__ = ["LabelledPool", "Replay", "accept", "rank", "replay"]
