"""The default method with one part changed at a time, to see what each is worth.

Each function composes a strategy. Run them as other optimizers are run, into a folder of their own, then write the table
of docs/choosing.md, for example

    python -m benchmarks.peers.run --optimizers auto,benchmarks/peers/ablation.py:without_ranks --problems bbob5,noisy \\
        --seeds 0-4 --runs benchmarks/peers/runs/ablation
    python -m benchmarks.peers.results --runs benchmarks/peers/runs/ablation --results benchmarks/peers/results/ablation
    python -m benchmarks.peers.ablation
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers import comparing, summary
from benchmarks.peers.results import FOLDER
from calibo import methods
from calibo.acquisition import AcquisitionRule, ExpectedImprovement, ImprovementByNoise, NoisyExpectedImprovement
from calibo.models import (
    RBF,
    GaussianProcess,
    InputWarping,
    IntegratedGP,
    Matern32,
    Matern52,
    NoisePrior,
    Surrogate,
    Warped,
)
from calibo.models.outcome_transforms import OutcomeShape
from calibo.optimize import Auto

RESULTS, PAGE = FOLDER / "ablation", summary.ROOT / "docs" / "choosing.md"
#: Smallest relative regret that is told apart: the rest is rounding.
_FLOOR = 1e-8
NOISE = NoisePrior.wide()
PROCESS = GaussianProcess(noise=NOISE)


def changed(
    process: Surrogate = PROCESS,
    shape: OutcomeShape | None = OutcomeShape.HALF_RANK,
    rule: AcquisitionRule | None = None,
) -> Auto:
    """Compose the default method for numbers with another model to act on, shape of outcomes, or rule."""
    acting = None if shape is None else Warped(process, shapes=(shape,))
    default = methods.auto()
    return replace(default, method=replace(default.method, acting=acting, rule=rule or ImprovementByNoise()))


def without_ranks() -> Auto:
    """Act on the model inside what is shown: outcomes as they are, or with their bad tail drawn in."""
    return changed(shape=None)


def outcomes_as_they_are() -> Auto:
    """Act on a model of outcomes without any transform."""
    return changed(shape=OutcomeShape.IDENTITY)


def without_steps() -> Auto:
    """Treat outcomes that come in steps as all others."""
    default = methods.auto()
    return replace(default, steps=default.method)


def never_noisy() -> Auto:
    """Maximize plain expected improvement, also under noise."""
    return changed(rule=ExpectedImprovement())


def always_noisy() -> Auto:
    """Maximize noisy expected improvement, also without noise."""
    return changed(rule=NoisyExpectedImprovement(draws=64))


def without_turns() -> Auto:
    """Maximize noisy expected improvement alone under noise, which never measures a point again."""
    return changed(rule=ImprovementByNoise(noisy=NoisyExpectedImprovement(draws=64)))


def narrow_noise() -> Auto:
    """Act on a model with the narrow prior of the noise."""
    return changed(GaussianProcess())


def matern32() -> Auto:
    """Act on a rougher kernel."""
    return changed(GaussianProcess(Matern32(), noise=NOISE))


def rbf() -> Auto:
    """Act on a smoother kernel."""
    return changed(GaussianProcess(RBF(), noise=NOISE))


def warped_inputs() -> Auto:
    """Act on a model with warped inputs."""
    return changed(GaussianProcess(Matern52(), warping=InputWarping(), noise=NOISE))


def quadratic_trend() -> Auto:
    """Act on a model with a quadratic trend."""
    return changed(GaussianProcess(Matern52(), trend="quadratic", noise=NOISE))


def integrated() -> Auto:
    """Act on a model averaged over draws of its hyperparameters."""
    return changed(IntegratedGP(PROCESS, draws=4))


def comparison(frame: pd.DataFrame, name: str) -> tuple[str, ...]:
    """Return a row: a variant against the default, as the mean log10 ratio of regrets, and problems won and lost."""
    cells = []
    for families in (("bbob5", "bbob10"), ("noisy",)):
        part = frame[frame["family"].isin(families)]
        regret = comparing.matrix(part, "regret_60", [name, "auto"])
        if regret.empty:
            cells += ["", ""]
            continue
        initial = part.groupby(["problem", "seed"])["initial"].first().reindex(regret.index).to_numpy()[:, None]
        logs = np.log10(np.maximum(regret / initial, _FLOOR))
        ratio = (logs[name] - logs["auto"]).groupby(level="problem").mean()
        score = comparing.wins(part, 60, "auto", name)
        error = ratio.std(ddof=1) / np.sqrt(len(ratio))
        cells += [f"{ratio.mean():+.2f} ± {error:.2f}", "" if score is None else f"{score.lost} : {score.won}"]
    return f"`{name}`", *cells


def ablation_table(folder: Path) -> str:
    """Return the table of all variants in a folder, in Markdown."""
    frame = comparing.load(folder)
    names = [str(name) for name in dict.fromkeys(frame["optimizer"]) if name != "auto"]
    cpu = frame.groupby("optimizer")["cpu_mean"].median()
    header = ("variant", "without noise", "problems won : lost", "with noise", "won : lost", "CPU s", "runs")
    runs = frame.groupby("optimizer").size()
    rows = [(*comparison(frame, name), f"{cpu[name]:.3f}", str(runs[name])) for name in names]
    return summary.table(header, [*rows, ("`auto`", "0", "", "0", "", f"{cpu['auto']:.3f}", str(runs["auto"]))])


def main() -> None:
    """Write the table into the page."""
    PAGE.write_text(
        summary.fill(PAGE.read_text(encoding="utf-8"), "ablation", ablation_table(RESULTS)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
