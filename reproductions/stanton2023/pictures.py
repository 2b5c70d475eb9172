"""The pictures, made from the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import offline
import optimization
import ranking
import tradeoffs
import wellspecified
from problems import sinc
from records import Records
from settings import ALPHA
from tables import column, windowed

from calibo.data import Array

COLOURS = {
    optimization.CONFORMAL: "#004488",
    optimization.NETWORK: "#aa4499",
    optimization.EI: "#882255",
    optimization.NOISY_EI: "#88ccee",
    optimization.CONFORMAL_EI: "#117733",
    optimization.UCB: "#777777",
    optimization.TURBO: "#ddaa33",
    optimization.RISK_AVERSE: "#bb5566",
    optimization.PENALIZED: "#228833",
    tradeoffs.EHVI: "#777777",
    tradeoffs.NEHVI: "#ddaa33",
    tradeoffs.CONFORMAL_EHVI: "#004488",
    tradeoffs.CONFORMAL_NEHVI: "#bb5566",
}
#: Bandwidth of the densities of coverage.
_BANDWIDTH = 0.02


def draw(figure: int, records: Records, path: Path) -> None:
    """Return the picture of a figure's runs."""
    import matplotlib

    matplotlib.use("Agg")
    chosen = {job: record for job, record in records.items() if job.figure == figure}
    draw = {
        5: _densities,
        6: _heteroscedastic,
        7: _queries,
        10: _queries,
        12: _tradeoffs,
        13: _rankings,
        14: _bands,
        15: _queries,
    }
    picture = draw[figure](chosen)
    picture.tight_layout()
    picture.savefig(path, dpi=110)
    import matplotlib.pyplot as plt

    plt.close(picture)


def _densities(records: Records) -> Any:
    """Figure 5: densities of coverage over the trials."""
    import matplotlib.pyplot as plt

    trials = [record for _, record in sorted(records.items())]
    shifted, alike = (np.array([trial[name] for trial in trials]) for name in ("shifted", "alike"))
    credible = np.array([trial["credible"] for trial in trials])
    learned = {
        name: np.array([trial[name] for trial in trials]) for name in ("logistic", "neural") if name in trials[0]
    }
    relaxed = [f"temperature {tau:g}" for tau in offline.TEMPERATURES]
    panels: list[tuple[str, dict[str, Array]]] = [
        ("(a) ratio known", {"credible": credible, "conformal": shifted[:, 0]}),
        ("(b) ratio learned", {"known": shifted[:, 0], **learned}),
        ("(c) relaxed, shifted", dict(zip(relaxed, shifted.T, strict=True))),
        ("(d) relaxed, not shifted", dict(zip(relaxed, alike.T, strict=True))),
    ]
    grid = np.linspace(0.4, 1.05, 400)
    figure, axes = plt.subplots(1, 4, figsize=(16, 3.6), sharex=True)
    for axis, (title, lines) in zip(axes, panels, strict=True):
        for label, values in lines.items():
            z = (grid[:, None] - values) / _BANDWIDTH
            density = np.exp(-0.5 * z**2).mean(axis=1) / (_BANDWIDTH * np.sqrt(2.0 * np.pi))
            (line,) = axis.plot(grid, density, label=label)
            axis.fill_between(grid, density, alpha=0.2, color=line.get_color())
        axis.axvline(1.0 - offline.ALPHA, color="k", ls="--")
        axis.set(title=title, xlabel="coverage")
        axis.legend(fontsize=7)
    return figure


def _heteroscedastic(records: Records) -> Any:
    """Figure 6: sinc and its noise; medians and quartiles of the best value."""
    import matplotlib.pyplot as plt

    problems, methods = optimization.PANELS[6]
    figure, axes = plt.subplots(1, 3, figsize=(14, 4))
    task, x = sinc(), np.linspace(-10.0, 10.0, 600)[:, None]
    axes[0].plot(x[:, 0], task.problem(x), color="#004488")
    noise = axes[0].twinx()
    noise.plot(x[:, 0], np.square(task.noise_std(x)), color="#bb5566", ls="--")
    noise.set_ylabel("noise variance")
    axes[0].set(title="(a) sinc", xlabel="x", ylabel="f(x)")
    for axis, problem in zip(axes[1:], problems, strict=True):
        for method in methods:
            best = column(records, problem, method, "best")
            first = column(records, problem, method, "n")[0, 0]
            _ribbon(axis, first + np.arange(best.shape[1]), best, method, (0.25, 0.5, 0.75))
        axis.set(title=problem, xlabel="evaluations", ylabel="best value (without noise)")
    axes[1].legend(fontsize=8)
    return figure


def _queries(records: Records) -> Any:
    """Figures 7, 10 and 15: query coverage, holdout coverage, and the best value or simple regret."""
    import matplotlib.pyplot as plt

    number = next(iter(records)).figure
    problems = optimization.PANELS[number][0]
    quantiles = None if number == 15 else (0.2, 0.5, 0.8)
    figure, axes = plt.subplots(len(problems), 3, figsize=(14, 3.8 * len(problems)), squeeze=False)
    for (left, middle, right), problem in zip(axes, problems, strict=True):
        for method in (method for name, method in optimization.panels(number) if name == problem):
            kind, place = ("conformal", 2) if method in optimization.STANDARD else ("credible", 1)
            n = column(records, problem, method, "n")[0]
            held = column(records, problem, method, "holdout")
            best = column(records, problem, method, "best")
            _ribbon(left, n, windowed(column(records, problem, method, kind)), method, quantiles)
            _ribbon(middle, held[0, :, 0], windowed(held[..., place]), method, quantiles)
            gap = column(records, problem, method, "optimum")[:, None] - best if number == 15 else best
            _ribbon(right, np.append(n, 2 * n[-1] - n[-2] if len(n) > 1 else n[-1] + 1), gap, method, quantiles)
            left.plot(n, 1.0 - np.vectorize(ALPHA)(n), "k--", lw=1)
            middle.plot(held[0, :, 0], 1.0 - np.vectorize(ALPHA)(held[0, :, 0]), "k--", lw=1)
        left.set(title=f"{problem}: query coverage", xlabel="evaluations", ylim=(0, 1.05))
        middle.set(title="holdout coverage", xlabel="data of the model", ylim=(0, 1.05))
        right.set(title="simple regret" if number == 15 else "best value", xlabel="evaluations")
    axes[0, 0].legend(fontsize=8)
    return figure


def _tradeoffs(records: Records) -> Any:
    """Figure 12: hypervolume, query coverage and holdout coverage, over all objectives; medians and ranges of the trials."""
    import matplotlib.pyplot as plt

    quantiles = (0.0, 0.5, 1.0)
    figure, axes = plt.subplots(len(tradeoffs.PROBLEMS), 3, figsize=(14, 3.8 * len(tradeoffs.PROBLEMS)))
    for (left, middle, right), problem in zip(axes, tradeoffs.PROBLEMS, strict=True):
        for method in tradeoffs.METHODS:
            kind, place = ("conformal", 2) if tradeoffs.conformal(method) else ("credible", 1)
            n = column(records, problem, method, "n")[0]
            held = column(records, problem, method, "holdout").mean(axis=1)
            covered = column(records, problem, method, kind).mean(axis=1)
            _ribbon(left, np.append(n, n[-1] + 1), column(records, problem, method, "hypervolume"), method, quantiles)
            _ribbon(middle, n, windowed(covered), method, quantiles)
            _ribbon(right, held[0, :, 0], windowed(held[..., place]), method, quantiles)
            middle.plot(n, 1.0 - np.vectorize(ALPHA)(n), "k--", lw=1)
            right.plot(held[0, :, 0], 1.0 - np.vectorize(ALPHA)(held[0, :, 0]), "k--", lw=1)
        left.set(title=f"{problem}: hypervolume", xlabel="evaluations", ylabel="share of the best known")
        middle.set(title="query coverage, mean over the objectives", xlabel="evaluations", ylim=(0, 1.05))
        right.set(title="holdout coverage", xlabel="data of the model", ylim=(0, 1.05))
    axes[0, 0].legend(fontsize=8)
    return figure


def _rankings(records: Records) -> Any:
    """Figure 13: cumulative regret, and query coverage of the sets each method believes in."""
    import matplotlib.pyplot as plt

    quantiles = (0.2, 0.5, 0.8)
    figure, axes = plt.subplots(3, len(ranking.TASKS), figsize=(4 * len(ranking.TASKS), 9), sharex=True)
    for (top, *below), problem in zip(axes.T, ranking.TASKS, strict=True):
        for axis, method in zip(below, ranking.METHODS, strict=True):
            kind = "conformal" if method == ranking.CONFORMAL else "credible"
            n = column(records, problem, method, "n")[0]
            _ribbon(top, n, column(records, problem, method, "regret"), method, quantiles)
            _ribbon(axis, n, windowed(column(records, problem, method, f"top_{kind}")), method, quantiles)
            queried = windowed(column(records, problem, method, kind)).mean(axis=0)
            axis.plot(n, queried, color=COLOURS[method], ls=":", label="of the query alone (mean)")
            axis.plot(n, 1.0 - np.vectorize(ALPHA)(n), "k--", lw=1, label="1 - alpha")
            axis.set(ylim=(0, 1.05), ylabel=f"{kind} coverage")
        top.set(title=problem, ylabel="cumulative regret (sd of the labels)")
        below[-1].set(xlabel="labels known")
    for axis in axes[:, 0]:
        axis.legend(fontsize=8)
    return figure


def _ribbon(axis: Any, x: Array, values: Array, method: str, quantiles: tuple[float, float, float] | None) -> None:
    """Quantiles over the trials, trials x rounds, as a line in a ribbon; mean and standard error without quantiles."""
    if quantiles is None:
        mid, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
        low, high = mid - error, mid + error
    else:
        low, mid, high = np.quantile(values, quantiles, axis=0)
    axis.plot(x, mid, color=COLOURS[method], label=method)
    axis.fill_between(x, low, high, color=COLOURS[method], alpha=0.15)


def _bands(records: Records) -> Any:
    """Figure 14: the sets of the first target."""
    import matplotlib.pyplot as plt

    trial = records[min(records)]
    grid = wellspecified.GRID
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), sharey=True)
    for axis, kind in zip(axes, wellspecified.KINDS, strict=True):
        for name, colour in ((kind, "#004488"), ("credible", "#ddaa33")):
            low, high = (np.array(trial[name][end], dtype=np.float64) for end in ("low", "high"))
            everything = np.isnan(low)
            low, high = np.where(everything, -6.0, low), np.where(everything, 6.0, high)
            axis.fill_between(grid, low, high, alpha=0.3, color=colour, label=name)
        axis.plot(grid, trial["truth"], "k", label="target")
        axis.plot(trial["X"], trial["y"], "k.")
        axis.set(title=kind, xlabel="x", ylim=(-5, 5))
        axis.legend(fontsize=8)
    return figure
