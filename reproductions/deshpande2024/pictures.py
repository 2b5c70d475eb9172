"""The drawings: one column for each panel, calibration error above and best value below, under both models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import Finished
from settings import ADAPTIVE, BASELINES, CONFORMAL, METHODS, OURS

_PALETTE = (
    "#777777",
    "#ddaa33",
    "#004488",
    "#117733",
    "#88ccee",
    "#aa4499",
    "#882255",
    "#332288",
    "#cc6677",
    "#44aa99",
)
COLOURS = dict(zip(dict.fromkeys((*METHODS, *BASELINES, CONFORMAL, ADAPTIVE)), _PALETTE, strict=True))


def draw(done: Finished, path: Path) -> None:
    """Draw means over the repeats; solid under the paper's model, dashed under ours."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = done.figure.panels
    figure, axes = plt.subplots(2, len(panels), figsize=(3.2 * len(panels) + 1.0, 6), squeeze=False)
    for (above, below), panel in zip(axes.T, panels, strict=True):
        for cell in (cell for cell in done.figure.cells if cell.panel == panel):
            for axis, what in ((above, "error"), (below, "best")):
                curve = done.of(cell, what).mean(axis=0)
                steps, style = np.arange(len(curve)) + (what == "error"), "--" if cell.model == OURS else "-"
                axis.plot(steps, curve, color=COLOURS[cell.method], ls=style, label=f"{cell.method}, {cell.model}")
        above.set(title=panel, ylim=(0, None))
        below.set(xlabel="step")
    axes[0, 0].set_ylabel("calibration error")
    axes[1, 0].set_ylabel("best value")
    axes[0, 0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
