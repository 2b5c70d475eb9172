"""Draw the pictures of the README and of the tutorial, and write the numbers beside them: `python docs/pictures.py`.

- ``images/forrester.png``: the example of Deshpande et al. (2024), Figure 1: the same Gaussian process and the same
  three starting points, without and with calibration.
- ``images/peers.png``: regret and coverage beside other optimizers, from the stored runs of ``benchmarks/peers/results``.
- ``images/tutorial.png``: the study of the tutorial, made by the code on its page.

Every picture carries numbers that it shows, in a text field of the PNG file; tests compare them with stored results and
with what the code gives now.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
README, IMAGES = ROOT / "README.md", ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT))

from benchmarks.peers import comparing  # noqa: E402
from benchmarks.peers.problems import SUITES  # noqa: E402
from benchmarks.peers.results import FOLDER  # noqa: E402
from benchmarks.peers.summary import ranked, span  # noqa: E402

BLUE, GREY, RED = "#1f5fa8", "#8a8a8a", "#d1495b"
#: Those that the README's chart shows, if they have runs on most of the problems.
SHOWN = {
    "auto": "calibo (default)",
    "gp_ei": "plain Gaussian process",
    "botorch": "BoTorch (qLogNEI)",
    "optuna_gp": "Optuna GPSampler",
    "optuna_tpe": "Optuna TPE",
    "random": "random search",
}
EVALUATIONS = 60
#: Forrester's function: where both searches begin, how long they are, and where they are asked what they believe.
STARTS, STEPS, GRID = (0.05, 0.25, 0.45), 25, np.linspace(0.0, 1.0, 200)
#: Smaller regrets, relative to the initial one, are not told apart.
LEAST = 1e-4


@dataclass(frozen=True)
class Row:
    """One optimizer in the README's chart.

    Attributes:
        name: As the chart calls it.
        regret: Share of the initial regret that is left, a geometric mean over problems, with its 90 % interval.
        coverage: Share of outcomes in the 80 % intervals stated before them: mean over problems, and the quantiles .1 and .9.
            ``None`` for optimizers that state none.
    """

    name: str
    regret: tuple[float, float, float]
    coverage: tuple[float, float, float] | None


def peers() -> tuple[list[Row], str]:
    """Return the rows of the chart, least regret first, and on how many runs, which all of them have, it rests."""
    frame = comparing.load(FOLDER)
    frame = frame[frame["problem"].isin(SUITES["all"])]
    names = [name for name in ranked(frame, EVALUATIONS, SUITES["all"]) if name in SHOWN]
    regret = comparing.matrix(frame, f"regret_{EVALUATIONS}", names)
    initial = frame.groupby(["problem", "seed"])["initial"].first().reindex(regret.index)
    left = np.log10(regret.div(initial, axis=0).clip(lower=LEAST)).groupby(level="problem").mean()
    common = frame.set_index(["problem", "seed"]).loc[regret.index]
    rows = []
    for name in names:
        found = comparing.bootstrap(left[name].to_numpy())
        share = tuple(round(float(10.0**value), 5) for value in (found.mean, found.low, found.high))
        held = common.loc[common["optimizer"] == name, "coverage"].groupby(level="problem").mean().dropna()
        spread = (held.mean(), held.quantile(0.1), held.quantile(0.9))
        rows.append(Row(SHOWN[name], share, tuple(round(float(v), 3) for v in spread) if len(held) else None))  # pyright: ignore
    seeds = regret.groupby(level="problem").size()
    each = span(seeds.min(), seeds.max())
    runs = f"{len(left)} problems with {each} seeds each that all have, {EVALUATIONS} evaluations"
    return sorted(rows, key=lambda row: row.regret[0]), runs


def peers_caption(rows: list[Row], runs: str) -> str:
    """Return what the chart says, in words."""
    regrets = ", ".join(f"{row.name} {100 * row.regret[0]:.1f} %" for row in rows)
    held = ", ".join(f"{r.name} {r.coverage[1]:.2f} to {r.coverage[2]:.2f}" for r in rows if r.coverage)
    return (
        f"{runs}. Regret left of the initial one (a geometric mean):\n{regrets}.\n"
        f"Outcomes inside 80 % intervals, on the middle eight of ten problems: {held}."
    )


def save(figure: Any, name: str, numbers: object) -> None:
    """Write a picture with the numbers that it shows."""
    from matplotlib import pyplot

    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / name, dpi=130, metadata={"Description": json.dumps(numbers), "Software": None})
    pyplot.close(figure)


def numbers_of(name: str) -> Any:
    """Return the numbers that a picture carries.

    Raises:
        ValueError: If it carries none.
    """
    content, at = (IMAGES / name).read_bytes(), 8
    while at < len(content):  # chunks of a PNG file: length, kind, data, checksum
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        if kind == b"tEXt" and data.startswith(b"Description\0"):
            return json.loads(data.split(b"\0", 1)[1])
        at += 12 + length
    raise ValueError(f"docs/images/{name} carries no numbers: python docs/pictures.py")


def draw_peers(rows: list[Row], runs: str) -> None:
    """Draw regret and coverage side by side."""
    figure, (left, right) = _axes(8.6, 0.36 * len(rows) + 1.15)
    for place, row in enumerate(rows):
        colour = BLUE if row.name.startswith("calibo") else GREY
        middle, low, high = row.regret
        left.plot([100 * low, 100 * high], [place, place], color=colour, lw=2)
        left.plot(100 * middle, place, "o", color=colour)
        if row.coverage is None:
            right.text(0.79, place, "states no intervals", color=GREY, ha="right", va="center", fontsize=9)
            continue
        middle, low, high = row.coverage
        right.plot([low, high], [place, place], color=colour, lw=2)
        right.plot(middle, place, "o", color=colour)
    left.set_yticks(range(len(rows)), [row.name for row in rows])
    left.invert_yaxis()
    left.set_xscale("log")
    left.set_xticks([0.5, 1, 2, 5, 10], ["0.5 %", "1 %", "2 %", "5 %", "10 %"])
    left.minorticks_off()
    left.set_xlabel(f"regret left after {EVALUATIONS} evaluations\n(smaller is better; 90 % interval)")
    right.axvline(0.8, color=RED, lw=1, zorder=0)
    right.set_xlabel("outcomes inside 80 % intervals\n(should be 0.8; eight of ten problems)")
    save(figure, "peers.png", [[row.name, row.regret, row.coverage] for row in rows] + [runs])


@dataclass(frozen=True)
class Search:
    """One search of Forrester's function.

    Attributes:
        x: Points, the three starting ones first.
        y: Their values.
        believed: Ends of the 80 % intervals on ``GRID`` after two suggestions, `2 x n`.
    """

    x: np.ndarray
    y: np.ndarray
    believed: np.ndarray


def forrester() -> dict[str, Search]:
    """Run both searches: the bare Gaussian process, and the same with its scale and then its levels corrected."""
    from calibo import Calibrated, Optimizer, methods
    from calibo.acquisition import UpperQuantile
    from calibo.calibration import OnlineQuantile, Temperature
    from calibo.models import RBF, GaussianProcess
    from calibo.problems import problem

    task, bare = problem("forrester"), GaussianProcess(RBF())
    corrected = Calibrated(Calibrated(bare, by=Temperature()), by=OnlineQuantile(pooled=True))
    found = {}
    for title, surrogate in {"overconfident": bare, "calibrated": corrected}.items():
        method = methods.gp_ei(surrogate=surrogate, rule=UpperQuantile(0.9))
        optimizer = Optimizer(task.space(), method, seed=0, n_initial=len(STARTS))
        for x in STARTS:
            optimizer.tell({task.names[0]: x}, float(task(np.array([[x]]))[0]))
        believed = np.empty((2, 0))
        for step in range(STEPS):
            if step == 2:
                table = optimizer.predict([{task.names[0]: float(x)} for x in GRID])
                believed = table[["measured_low_80", "measured_high_80"]].to_numpy().T
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, task.objective(suggestion.params))
        tried = np.array([trial.params[task.names[0]] for trial in optimizer.trials])
        found[title] = Search(tried, task(tried[:, None]), believed)
    return found


def draw_forrester(searches: Mapping[str, Search]) -> None:
    """Draw where both searches went, what each model believed early on, and what was found."""
    from calibo.problems import problem

    figure, axes = _axes(9.0, 3.4)
    for axis, (title, run) in zip(axes, searches.items(), strict=True):
        first, least = len(STARTS), int(np.argmin(run.y))
        label = "80 % intervals after 2 suggestions"
        axis.fill_between(GRID, *run.believed, color=BLUE, alpha=0.18, lw=0, label=label)
        axis.plot(GRID, problem("forrester")(GRID[:, None]), color=GREY, lw=1.5, label="the function")
        axis.plot(run.x[:first], run.y[:first], "s", color="black", ms=6, label=f"{first} results to begin with")
        axis.plot(run.x[first:], run.y[first:], "o", color=BLUE, ms=6, alpha=0.6, label=f"{STEPS} suggestions")
        axis.plot(run.x[least], run.y[least], "*", color=RED, ms=15, label="the best found")
        axis.set(title=f"{title}: best {run.y[least]:.2f}", xlabel="x", ylim=(-8, 18))
    axes[0].set_ylabel("value (smaller is better)")
    axes[0].legend(loc="upper left", fontsize=8, frameon=False)
    save(figure, "forrester.png", {title: round(float(run.y.min()), 4) for title, run in searches.items()})


def tutorial_study() -> Any:
    """Return the result of the tutorial's study, made by the blocks of its page."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    known: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[:2]:
        exec(block, known)
    return known["result"]


def draw_tutorial(result: Any) -> None:
    """Draw the forecasts of the tutorial's study beside what came out, and what is expected along one parameter."""
    figure, (left, right) = _axes(9.0, 3.2, shared=False)
    for trial in result.trials:
        if trial.suggestion.forecasts:
            low, high = trial.suggestion.forecasts[0].calibrated.interval(0.8)
            inside = low <= trial.value <= high
            left.vlines(trial.number, max(low, -0.2), min(high, 1.0), color=BLUE if inside else RED, lw=4, alpha=0.35)
    left.plot([t.number for t in result.trials], [t.value for t in result.trials], "k.", label="what came out")
    left.set(xlabel="trial", ylabel="error", title="80 % intervals, written down before")
    left.set_xticks(range(0, len(result.trials), 5))
    left.legend(fontsize=8, frameon=False)
    grid = np.geomspace(1e-5, 10.0, 80)  # with exact ends
    table = result.predict([dict(result.best_params, gamma=float(gamma)) for gamma in grid])
    right.fill_between(grid, table["measured_low_80"], table["measured_high_80"], color=BLUE, alpha=0.18, lw=0)
    right.plot(grid, table["median"], color=BLUE, label="median and 80 % interval")
    right.axvline(result.best_params["gamma"], color=RED, lw=1, label="the best found")
    right.set(xscale="log", xlabel="gamma", title="what to expect, all else as at the best", ylim=(-0.3, 1.5))
    right.legend(fontsize=8, frameon=False, loc="upper left")
    save(figure, "tutorial.png", {"trials": len(result.trials), "best": round(float(result.best_value), 4)})


def _axes(width: float, height: float, *, shared: bool = True) -> tuple[Any, Any]:
    """Return a figure of two panels, by default with one vertical axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(width, height), sharey=shared, layout="constrained")
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def fill(page: str, parts: Mapping[str, str]) -> str:
    """Return a page with new text between the markers of each name.

    Raises:
        ValueError: If the page has no such markers.
    """
    for name, text in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"the page has no <!-- {name} --> ... <!-- end of {name} -->")
        page = pattern.sub(lambda found, text=text: found[1] + text + "\n" + found[2], page)
    return page


def main() -> None:
    """Draw all pictures and write the README's numbers."""
    draw_forrester(forrester())
    rows, runs = peers()
    draw_peers(rows, runs)
    draw_tutorial(tutorial_study())
    README.write_text(fill(README.read_text(encoding="utf-8"), {"peers": peers_caption(rows, runs)}), encoding="utf-8")


if __name__ == "__main__":
    main()
