"""The drawings: one column for each panel, calibration error above and best value below, under both models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import MODELS, Finished
from settings import METHODS, OURS

COLOURS = dict(zip(METHODS, ("#777777", "#ddaa33", "#004488"), strict=True))


def draw(done: Finished, path: Path) -> None:
    """Draw means over the repeats; solid under the paper's model, dashed under ours."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = done.figure.panels
    figure, axes = plt.subplots(2, len(panels), figsize=(3.2 * len(panels) + 1.0, 6), squeeze=False)
    for (above, below), panel in zip(axes.T, panels, strict=True):
        for model in MODELS:
            for method in METHODS:
                cell, style = done.cell(panel, model, method), "--" if model == OURS else "-"
                for axis, what in ((above, "error"), (below, "best")):
                    curve = done.of(cell, what).mean(axis=0)
                    steps = np.arange(len(curve)) + (what == "error")
                    axis.plot(steps, curve, color=COLOURS[method], ls=style, label=f"{method}, {model}")
        above.set(title=panel, ylim=(0, None))
        below.set(xlabel="step")
    axes[0, 0].set_ylabel("calibration error")
    axes[1, 0].set_ylabel("best value")
    axes[0, 0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
