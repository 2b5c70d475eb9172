"""Draw the picture of the README: `python docs/pictures.py` writes docs/images/forrester.png.

The example of Deshpande et al. (2024), Figure 1, run by the code of its reproduction: the same Gaussian process and the same
three starting points, without and with calibration.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
IMAGES = Path(__file__).parent / "images"
sys.path.insert(0, str(ROOT / "reproductions" / "deshpande2024"))

from forrester import STARTS, both  # noqa: E402

from calibo.problems import problem  # noqa: E402

TITLES = ("overconfident", "calibrated")


def main() -> None:
    """Draw where both searches went and what they found."""
    IMAGES.mkdir(exist_ok=True)
    truth, grid = problem("forrester"), np.linspace(0.0, 1.0, 400)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for axis, title, run in zip(axes, TITLES, both(STARTS[0]).values(), strict=True):
        axis.plot(grid, truth(grid[:, None]), color="#888888", lw=1.5)
        axis.plot(run.x[:3, 0], run.y[:3], "s", color="black", ms=6, label="3 results to begin with")
        axis.plot(run.x[3:, 0], run.y[3:], "o", color="#1f5fa8", ms=6, alpha=0.6, label=f"{len(run.y) - 3} suggestions")
        best = int(np.argmin(run.y))
        axis.plot(run.x[best, 0], run.y[best], "*", color="#d1495b", ms=15, label=f"best: {run.y[best]:.2f}")
        axis.set(title=title, xlabel="x")
        axis.legend(loc="upper left", fontsize=9, frameon=False)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("value (smaller is better)")
    figure.tight_layout()
    figure.savefig(IMAGES / "forrester.png", dpi=130)


if __name__ == "__main__":
    main()
