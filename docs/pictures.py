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

from runs import perform  # noqa: E402
from settings import OURS, TEMPERED, UNCALIBRATED, Job  # noqa: E402

from calibo.problems import problem  # noqa: E402

TITLES = {UNCALIBRATED: "overconfident", TEMPERED: "calibrated"}


def main() -> None:
    """Draw where both searches went and what they found."""
    IMAGES.mkdir(exist_ok=True)
    truth, grid = problem("forrester"), np.linspace(0.0, 1.0, 400)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for axis, (method, title) in zip(axes, TITLES.items(), strict=True):
        x = np.array(perform(Job("example", "forrester", "UCB", method, OURS, 0, 3, 25))["x"])
        y = truth(x[:, None])
        axis.plot(grid, truth(grid[:, None]), color="#888888", lw=1.5)
        axis.plot(x[:3], y[:3], "s", color="black", ms=6, label="3 results to begin with")
        axis.plot(x[3:], y[3:], "o", color="#1f5fa8", ms=6, alpha=0.6, label=f"{len(y) - 3} suggestions")
        best = int(np.argmin(y))
        axis.plot(x[best], y[best], "*", color="#d1495b", ms=15, label=f"best: {y[best]:.2f}")
        axis.set(title=title, xlabel="x")
        axis.legend(loc="upper left", fontsize=9, frameon=False)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("value (smaller is better)")
    figure.tight_layout()
    figure.savefig(IMAGES / "forrester.png", dpi=130)


if __name__ == "__main__":
    main()
