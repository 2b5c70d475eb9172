"""From the runs to tables: the paper's claim beside what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import offline
import optimization
import ranking
import tradeoffs
import wellspecified
from judging import (
    CANNOT_TELL,
    CONFIDENCE,
    CONFIRMED,
    FEWEST_SEEDS,
    REFUTED,
    Claim,
    Found,
    Statistic,
    log_mean,
    ratio_of_means,
    resampled,
    verdict,
)
from records import Records, panels_of
from scipy.special import stdtrit
from settings import ALPHA

from calibo.data import Array

#: Rounds over which query coverage is averaged.
WINDOW = 10
#: What a row says of the paper where it claims nothing; how near a coverage must be to the target.
_NOTHING, _NEAR = "not shown", 0.03
#: How near a coverage must be to track 1 - alpha, and between which ratios of mean regrets are comparable.
_TRACKS, _COMPARABLE = 0.05, (0.8, 1.25)
#: Between which ratios mean hypervolumes are similar.
_SIMILAR = (0.95, 1.05)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        figure: Which figure, and panel.
        what: What is measured.
        paper: What the paper says of it: a number where it gives one.
        ours: What was found.
        values: The numbers behind ``ours``: "mean" and "sd" over the trials, or a "ratio" with its interval.
        claimed: Between which numbers the paper says that the mean or the ratio is; ``None`` where that cannot be said.
        outside: Whether it says that the mean is not between them.
        ratio_of: What a ratio is of.
    """

    figure: str
    what: str
    paper: str
    ours: str
    values: dict[str, float]
    claimed: tuple[float, float] | None = None
    outside: bool = False
    ratio_of: str = "regret / that of the standard one"


def rows(records: Records) -> dict[int, list[Row]]:
    """Return the rows of every figure that has runs."""
    of_figure: dict[int, Callable[[Records], list[Row]]] = {
        5: _offline,
        6: _best,
        7: _queries,
        10: _single,
        12: _tradeoffs,
        13: _rankings,
        14: _regions,
        15: _queries,
    }
    found: dict[int, list[Row]] = {}
    for figure, make in of_figure.items():
        chosen = {job: record for job, record in records.items() if job.figure == figure}
        if chosen:
            found[figure] = make(chosen)
    return found


def markdown(lines: Sequence[Row]) -> str:
    """Rows as a table."""
    head = "| figure | what | the paper | ours |\n|---|---|---|---|\n"
    return head + "\n".join(f"| {row.figure} | {row.what} | {row.paper} | {row.ours} |" for row in lines)


def claims(lines: Sequence[Row], trials: int) -> list[Claim]:
    """Return rows as claims, with a verdict where the paper claims something of a mean or a ratio.

    Means are judged by the 90 % interval over the trials, ratios by resampling these in pairs.
    """
    found = []
    for row in lines:
        said, ours = "-", row.ours
        if row.paper != _NOTHING and row.claimed is not None and trials < FEWEST_SEEDS:
            said = CANNOT_TELL
        elif row.paper != _NOTHING and row.claimed is not None:
            interval = _interval(row.values, trials)
            inside = verdict(interval, trials, low=row.claimed[0], high=row.claimed[1])
            off = {CONFIRMED: REFUTED, REFUTED: CONFIRMED, CANNOT_TELL: CANNOT_TELL}
            said = off[inside] if row.outside else inside
            shown = "{:.3f} ({:.3f} to {:.3f})".format(*interval)
            ours = f"{ours}; {row.ratio_of} {shown}" if "ratio" in row.values else shown
        found.append(Claim(row.figure, row.what, "-" if row.paper == _NOTHING else row.paper, ours, said))
    return found


def _interval(values: Mapping[str, float], trials: int) -> Found:
    """Return what is judged with its 90 % interval."""
    if "ratio" in values:
        return values["ratio"], values["ratio_low"], values["ratio_high"]
    half = float(stdtrit(trials - 1, 0.5 + CONFIDENCE / 2)) * values["sd"] / trials**0.5
    return values["mean"], values["mean"] - half, values["mean"] + half


def column(records: Records, problem: str, method: str, name: str) -> Array:
    """Return a column of the logs of all trials of a method, trials x rounds; NaN where there is no entry."""
    runs = [record for job, record in sorted(records.items()) if (job.problem, job.method) == (problem, method)]
    return np.array([run[name] for run in runs], dtype=np.float64)


def windowed(values: Array) -> Array:
    """Means over the last ``WINDOW`` rounds (fewer at first), along the last axis."""
    total = np.cumsum(values, axis=-1)
    before = np.concatenate([np.zeros_like(total[..., :1]), total], axis=-1)[..., :-1]
    t = np.arange(values.shape[-1])
    first = np.maximum(t - WINDOW + 1, 0)
    return (total - before[..., first]) / (t - first + 1)


def _ratio(statistic: Statistic, trials: int) -> dict[str, float]:
    """Return a ratio with the interval of resampled trials, as a row stores it."""
    return dict(zip(("ratio", "ratio_low", "ratio_high"), resampled(statistic, trials), strict=True))


def _spread(each: Array) -> dict[str, float]:
    """Return the mean of one number of each trial and their standard deviation, as a row stores them."""
    return {"mean": float(each.mean()), "sd": float(each.std(ddof=1)) if len(each) > 1 else 0.0}


def _gaps(values: Array, target: Array) -> Array:
    """Return how far coverage is from its target in each trial, averaged over windows; trials come first, rounds last."""
    off = np.abs(windowed(values) - windowed(target))
    return off.reshape(len(off), -1).mean(axis=1)


def _offline(records: Records) -> list[Row]:
    """Figure 5: mean and standard deviation over the trials of the coverage of shifted outcomes."""
    trials = [record for _, record in sorted(records.items())]
    target = 1.0 - offline.ALPHA

    def row(panel: str, what: str, paper: str, values: Array) -> Row:
        mean, std = float(values.mean()), float(values.std())
        off = float(np.abs(values - target).mean())
        ours = f"{mean:.3f}, sd {std:.3f}, mean distance to {target} {off:.3f}"
        near = (target - _NEAR, target + _NEAR)
        return Row(f"5{panel}", what, paper, ours, {"mean": mean, "sd": std, "off": off}, near, "off" in paper)

    def of(name: str) -> Array:
        return np.array([trial[name] for trial in trials])

    shifted, alike = of("shifted"), of("alike")
    found = [
        row("a", "credible", f"scattered, off {target}", of("credible")),
        row("a", "conformal, ratio known", f"concentrated at {target}", shifted[:, 0]),
        row("a", "conformal, ratio known, hyper-parameters of other data", "not shown", of("symmetric")),
        row("a", "conformal, shift ignored", "not shown", of("unweighted")),
        row("b", "conformal, ratio learned (logistic)", f"as with the known ratio, {target}", of("logistic")),
    ]
    if all("neural" in trial for trial in trials):
        found.append(row("b", "conformal, ratio learned (neural)", f"as with the known ratio, {target}", of("neural")))
    temperatures = ", ".join(f"{tau:g}" for tau in offline.TEMPERATURES)
    for panel, which, values in (("c", "shifted", shifted), ("d", "not shifted", alike)):
        means = values.mean(axis=0)
        numbers = {f"{tau:g}": float(mean) for tau, mean in zip(offline.TEMPERATURES, means, strict=True)}
        what = f"{which}, relaxed with temperatures {temperatures}"
        ours = ", ".join(f"{mean:.3f}" for mean in means)
        found.append(Row(f"5{panel}", what, f"from {target} on, rising", ours, numbers))
    return found


def _best(records: Records) -> list[Row]:
    """Figure 6: best value without noise at the end, median and quartiles; mean regrets are compared."""
    found = []
    problems, methods = optimization.PANELS[6]
    for panel, problem in zip("bc", problems, strict=True):
        regrets = {
            method: column(records, problem, method, "optimum") - column(records, problem, method, "best")[:, -1]
            for method in methods
            if (problem, method) in panels_of(records, 6)
        }
        for method, regret in regrets.items():
            optimum = float(column(records, problem, method, "optimum")[0])
            low, mid, high = np.quantile(optimum - regret, [0.25, 0.5, 0.75])
            ours = f"{mid:.3f} ({low:.3f} to {high:.3f}) of {optimum:.3f}"
            paper, claimed, compared = _NOTHING, None, ""
            values = {"median": float(mid), "optimum": optimum}
            others = [regrets[m] for m in (optimization.RISK_AVERSE, optimization.PENALIZED) if m in regrets]
            if method == optimization.CONFORMAL and others:
                paper, claimed, compared = "best of the first three", (0.0, 1.0), "regret / the least of the two others"
                values |= _ratio(_to_best(regret, others), len(regret))
            elif method != optimization.UCB and optimization.CONFORMAL in regrets:
                paper, claimed, compared = "below conformal", (1.0, np.inf), "regret / that of conformal UCB"
                values |= _ratio(ratio_of_means(regret, regrets[optimization.CONFORMAL]), len(regret))
            row = Row(f"6{panel}", f"{problem}, {method}: best value", paper, ours, values, claimed)
            found.append(replace(row, ratio_of=compared))
    return found


def _to_best(regret: Array, others: Sequence[Array]) -> Statistic:
    """Mean regret over the least mean of some others, an entry for each trial."""
    return lambda rows: np.exp(log_mean(regret, rows) - np.min([log_mean(other, rows) for other in others], axis=0))


def _queries(records: Records) -> list[Row]:
    """Figures 7 and 15: coverage of the queries and of held-out data beside 1 - alpha, and the best value."""
    figure = next(iter(records)).figure
    found = []
    for problem, method in panels_of(records, figure):
        found += _method(records, figure, problem, method)
    return found


def _single(records: Records) -> list[Row]:
    """Figures 10 and 11: the best value, and the coverage of held-out data in searches of Levy's function."""
    found = []
    for problem, method in panels_of(records, 10):
        found.append(_ending(records, 10, problem, method))
        if problem.startswith("levy"):
            found += _held_out(records, 11, problem, method)
    return found


def _held_out(records: Records, figure: int, problem: str, method: str) -> list[Row]:
    """Return the coverage of held-out data by the sets that a method believes in."""
    held, conformal = column(records, problem, method, "holdout"), method in optimization.STANDARD
    aim = float(1.0 - np.vectorize(ALPHA)(held[..., 0]).mean())
    found = []
    for place, kind in enumerate(("credible", "conformal", "leave-one-out") if conformal else ("credible",), start=1):
        each = held[..., place].mean(axis=1)
        values = {**_spread(each), "target": aim}
        paper, claimed = _NOTHING, None
        if kind == "conformal":
            paper, claimed = "1 - alpha", (aim - _TRACKS, aim + _TRACKS)
        elif not conformal:
            paper, claimed = (
                ("below 1 - alpha", (0.0, aim)) if figure == 11 else ("near 1 - alpha", (aim - _TRACKS, aim + _TRACKS))
            )
        ours = f"{values['mean']:.3f} against {aim:.3f}"
        what = f"{problem}, {method}: holdout coverage, {kind}"
        found.append(Row(str(figure), what, paper, ours, values, claimed))
    return found


def _method(records: Records, figure: int, problem: str, method: str) -> list[Row]:
    n = column(records, problem, method, "n")
    target = 1.0 - np.vectorize(ALPHA)(n)
    conformal = method in optimization.STANDARD
    label = f"{problem}, {method}"
    varies = "varies" if figure == 7 else "fairly calibrated"

    def coverage(what: str, paper: str, values: Array, note: str = "") -> Row:
        aim, gap = float(target.mean()), float(_gaps(values, target).mean())
        numbers = {**_spread(values.mean(axis=1)), "target": aim, "gap": gap}
        ours = f"{numbers['mean']:.3f} against {aim:.3f}, off by {gap:.3f}{note}"
        # That coverage varies is no claim about a mean.
        claimed = None if paper == "varies" else (aim - _TRACKS, aim + _TRACKS)
        return Row(str(figure), f"{label}: {what}", paper, ours, numbers, claimed, paper == "less satisfactory")

    def extremes(everything: str, nothing: str) -> str:
        shares = (100.0 * of(everything).mean(), 100.0 * of(nothing).mean())
        return f" (everything: {shares[0]:.0f} %, nothing: {shares[1]:.0f} %)"

    def of(name: str) -> Array:
        return column(records, problem, method, name)

    tracks = "tracks 1 - alpha" if figure == 7 else "less satisfactory"
    found = [coverage("query coverage, credible", "not shown" if conformal else varies, of("credible"))]
    if conformal:
        by_loo = extremes("unseen", "leave_one_out_empty")
        found += [
            coverage("query coverage, conformal", tracks, of("conformal"), extremes("unseen", "empty")),
            coverage("query coverage, conformal without weights", "not shown", of("unweighted")),
            coverage("query coverage, leave-one-out scores", "not shown", of("leave_one_out"), by_loo),
        ]
    found += _held_out(records, figure, problem, method)
    return [*found, _ending(records, figure, problem, method)]


def _ending(records: Records, figure: int, problem: str, method: str) -> Row:
    """Return the best value, or the simple regret, at the end: median and range."""
    best = column(records, problem, method, "best")[:, -1]
    optimum = column(records, problem, method, "optimum")
    what, values = ("simple regret", optimum - best) if figure == 15 else ("best value", best)
    mid = float(np.median(values))
    ours = f"{mid:.2f} ({values.min():.2f} to {values.max():.2f})"
    numbers, standard = {"median": mid}, optimization.STANDARD.get(method)
    label = f"{problem}, {method}: {what}"
    if standard is None:
        return Row(str(figure), label, _NOTHING, ours, numbers)
    theirs = optimum - column(records, problem, standard, "best")[:, -1]
    numbers |= _ratio(ratio_of_means(optimum - best, theirs), len(best))
    return Row(str(figure), label, "all comparable", ours, numbers, _COMPARABLE)


def _tradeoffs(records: Records) -> list[Row]:
    """Figure 12: hypervolume at the end, and coverage of queries and held-out data, over all objectives and of each.

    The paper does not say of which data its coverage is, so its claim stands beside both.
    """
    found = []
    for problem, method in panels_of(records, 12):
        found += [_volume(records, problem, method), *_tradeoff_coverage(records, problem, method)]
    return found


def _volume(records: Records, problem: str, method: str) -> Row:
    """Return the hypervolume of a method at the end: median and range, and its mean over that of another method."""
    end = column(records, problem, method, "hypervolume")[:, -1]
    ours = f"{np.median(end):.3f} ({end.min():.3f} to {end.max():.3f}) of the best known"
    row = Row("12", f"{problem}, {method}: hypervolume", _NOTHING, ours, {"median": float(np.median(end))})
    standard = tradeoffs.STANDARD.get(method, "")
    if (problem, standard) not in panels_of(records, 12):
        return row
    ratio = _ratio(ratio_of_means(end, column(records, problem, standard, "hypervolume")[:, -1]), len(end))
    compared = f"mean / that of {standard}"
    if method in tradeoffs.METHODS:
        values = {**row.values, **ratio}
        return replace(row, paper="similar for all four", values=values, claimed=_SIMILAR, ratio_of=compared)
    shown = "{:.3f} ({:.3f} to {:.3f})".format(*ratio.values())
    return replace(row, ours=f"{ours}; {compared} {shown}", values={**row.values, **ratio})


def _tradeoff_coverage(records: Records, problem: str, method: str) -> list[Row]:
    """Return how often sets of one objective held its outcome, of queries and of held-out data."""
    label, conformal, found = f"{problem}, {method}", tradeoffs.conformal(method), []
    shown_there = method in tradeoffs.METHODS
    target = 1.0 - np.vectorize(ALPHA)(column(records, problem, method, "n"))
    aim = float(target.mean())
    kinds = {"credible": "credible"}
    if conformal:
        others = {"unweighted": "conformal without weights", "leave_one_out": "leave-one-out scores"}
        kinds |= {"conformal": "conformal", **others}
    for name, kind in kinds.items():
        values = column(records, problem, method, name)
        gap = float(_gaps(values, target[:, None, :]).mean())
        ours = f"{_each(values.mean(axis=(0, 2)))} against {aim:.3f}, off by {gap:.3f}"
        if name == "conformal":
            shares = [100.0 * column(records, problem, method, where).mean() for where in ("unseen", "empty")]
            ours += f" (everything: {shares[0]:.0f} %, nothing: {shares[1]:.0f} %)"
        numbers = {**_spread(values.mean(axis=(1, 2))), "target": aim, "gap": gap}
        paper = _claimed(name, conformal, aim) if shown_there else _NOTHING
        found.append(Row("12", f"{label}: query coverage, {kind}", paper, ours, numbers, (aim, 1.0)))
    held = column(records, problem, method, "holdout")
    aim = float(1.0 - np.vectorize(ALPHA)(held[..., 0]).mean())
    for place, kind in enumerate(("credible", "conformal") if conformal else ("credible",), start=1):
        numbers = {**_spread(held[..., place].mean(axis=(1, 2))), "target": aim}
        ours = f"{_each(held[..., place].mean(axis=(0, 2)))} against {aim:.3f}"
        paper = _claimed(kind, conformal, aim) if shown_there else _NOTHING
        found.append(Row("12", f"{label}: holdout coverage, {kind}", paper, ours, numbers, (aim, 1.0)))
    return found


def _claimed(kind: str, conformal: bool, aim: float) -> str:
    """Return what the paper says of the coverage of a kind of sets in Figure 12, of methods that are conformal or not."""
    if kind == "conformal":
        return f"above {aim:.3f}, a little nearer"
    return f"above {aim:.3f}" if kind == "credible" and not conformal else "not shown"


def _each(shares: Array) -> str:
    """Return the mean over the objectives, and the share of each of them."""
    return f"{shares.mean():.3f} ({', '.join(f'{share:.2f}' for share in shares)})"


def _rankings(records: Records) -> list[Row]:
    """Figure 13: cumulative regret at the end, and coverage of the queries beside 1 - alpha.

    What the paper says of both methods stands, and is judged, in the row of the conformal one.
    """
    found = []
    for problem, method in panels_of(records, 13):
        panel = "13" + "abcd"[list(ranking.TASKS).index(problem.removesuffix(ranking.WHOLE))]
        conformal = method == ranking.CONFORMAL and (problem, ranking.UCB) in panels_of(records, 13)
        end = column(records, problem, method, "regret")[:, -1]
        low, mid, high = np.quantile(end, [0.2, 0.5, 0.8])
        ours = f"{mid:.0f} ({low:.0f} to {high:.0f}) standard deviations"
        row = Row(panel, f"{problem}, {method}: cumulative regret", _NOTHING, ours, {"median": float(mid)})
        if conformal:
            theirs = column(records, problem, ranking.UCB, "regret")[:, -1]
            values = {**row.values, **_ratio(ratio_of_means(end, theirs), len(end))}
            row = replace(row, paper="no difference", values=values, claimed=_COMPARABLE)
        found += [row, *_ranking_coverage(records, panel, problem, method, conformal=conformal)]
    return found


def _ranking_coverage(records: Records, panel: str, problem: str, method: str, *, conformal: bool) -> list[Row]:
    """Return how often sets held the outcomes of queries and of the best-scored rows; ``conformal``: beside those of UCB."""
    target, found = 1.0 - np.vectorize(ALPHA)(column(records, problem, method, "n")), []
    kinds = [("query coverage, credible", "credible"), ("best-scored rows, credible", "top_credible")]
    if method == ranking.CONFORMAL:
        kinds += [
            ("query coverage, conformal", "conformal"),
            ("query coverage, conformal without weights", "unweighted"),
            ("best-scored rows, conformal", "top_conformal"),
        ]
    for what, name in kinds:
        values = column(records, problem, method, name)
        off, aim = _gaps(values, target), float(target.mean())
        ours = f"{values.mean():.3f} against {aim:.3f}, off by {off.mean():.3f}"
        if name == "conformal":
            shares = [100.0 * column(records, problem, method, where).mean() for where in ("unseen", "empty")]
            ours += f" (everything: {shares[0]:.0f} %, nothing: {shares[1]:.0f} %)"
        numbers = {"mean": float(values.mean()), "target": aim, "gap": float(off.mean())}
        row = Row(panel, f"{problem}, {method}: {what}", _NOTHING, ours, numbers)
        if conformal and name.endswith("conformal"):
            theirs = column(records, problem, ranking.UCB, name.replace("conformal", "credible"))
            numbers |= _ratio(ratio_of_means(off, _gaps(theirs, target)), len(off))
            compared = "distance / that of the credible sets of UCB"
            row = replace(row, paper=f"nearer to {aim:.3f}", values=numbers, claimed=(0.0, 1.0), ratio_of=compared)
        found.append(row)
    return found


def _regions(records: Records) -> list[Row]:
    """Figure 14: coverage and width where data are plentiful and sparse, over many targets."""
    trials = [record for _, record in sorted(records.items())]
    target = 1.0 - wellspecified.ALPHA
    found = []
    for kind in ("credible", *wellspecified.KINDS):
        for region in ("dense", "sparse"):
            paper, claimed = f"{target}", (target - _NEAR, target + _NEAR)
            if kind != "credible" and region == "dense":
                usual = _mean([t["credible"]["coverage"][region] for t in trials])
                paper, claimed = "as the credible set", (usual - _NEAR, usual + _NEAR)
            elif kind != "credible":
                paper, claimed = f"wider, above {target}", (target, 1.0)
            mean = {what: _mean([t[kind][what][region] for t in trials]) for what in ("coverage", "width", "unseen")}
            ours = f"coverage {mean['coverage']:.3f}, width {mean['width']:.2f}"
            if mean["unseen"]:
                ours += f", everything in {100 * mean['unseen']:.0f} % of places"
            each = np.array([t[kind]["coverage"][region] for t in trials], dtype=np.float64)
            values = {**mean, **_spread(each)} if np.isfinite(each).all() else mean
            found.append(
                Row("14", f"{kind} sets, data {region}", paper, ours, values, claimed if "sd" in values else None)
            )
    return found


def _mean(values: list[Any]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")
