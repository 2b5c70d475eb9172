"""Pictures of the comparison with peers."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path

import pandas as pd

from benchmarks.peers.comparing import Interval

#: Colours of calibo's methods and of peers.
OWN, OTHER = "#1f5fa8", "#8a8a8a"


def draw_ranks(ranks: Mapping[str, Interval], path: Path, *, peers: Container[str]) -> None:
    """Draw mean ranks with their intervals, best at the top."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 0.32 * len(ranks) + 0.9), layout="constrained")
    for place, (name, rank) in enumerate(ranks.items()):
        colour = OTHER if name in peers else OWN
        axes.plot([rank.low, rank.high], [place, place], color=colour, linewidth=2)
        axes.plot(rank.mean, place, "o", color=colour)
    axes.set_yticks(range(len(ranks)), list(ranks))
    axes.invert_yaxis()
    axes.set_xlabel("mean rank at 60 evaluations, 90 % interval over problems (smaller is better)")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_reached(shares: pd.DataFrame, path: Path, *, peers: Container[str]) -> None:
    """Draw the share of targets reached by the number of evaluations, calibo's methods in full lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name in shares.iloc[-1].sort_values(ascending=False).index:
        axes.plot(shares.index, shares[name], "--" if name in peers else "-", label=name)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("share of (problem, seed, target) reached")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
