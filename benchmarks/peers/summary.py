"""Write what the results say into ``docs/benchmarks.md``, between its markers, and draw the figures.

python -m benchmarks.peers.summary [--reference auto]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.peers import comparing, figures
from benchmarks.peers.adapters import PEERS
from benchmarks.peers.problems import SUITES
from benchmarks.peers.results import FOLDER

ROOT = Path(__file__).parents[2]
PAGE, PICTURES = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "benchmarks"
#: Share of the problems on which a ranked optimizer has runs.
_SHARE = 0.9
#: Optimizers that take many times as long as the others, and have fewer seeds: they are ranked in a table of their own, on
#: the problems on which all of them have runs.
_SLOWER = ("ax", "hebo", "vizier")


def ranked(frame: pd.DataFrame, evaluations: int, names: Sequence[str]) -> list[str]:
    """Return the optimizers with runs of that length on most of the problems."""
    long = frame[frame[f"regret_{evaluations}"].notna() & frame["problem"].isin(names)]
    counts = long.groupby("optimizer")["problem"].nunique()
    return sorted(str(name) for name in counts.index[counts >= _SHARE * len(names)])


def compared(frame: pd.DataFrame) -> list[str]:
    """Return the optimizers that are ranked on all problems."""
    return [name for name in ranked(frame, 60, SUITES["all"]) if name not in _SLOWER]


def shared(frame: pd.DataFrame, optimizers: Sequence[str], evaluations: int) -> list[str]:
    """Return the problems on which all of some optimizers have runs of that length."""
    long = frame[frame[f"regret_{evaluations}"].notna() & frame["optimizer"].isin(optimizers)]
    counts = long.groupby("problem")["optimizer"].nunique()
    return [str(name) for name in counts.index[counts == len(optimizers)]]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def rank_table(frame: pd.DataFrame, optimizers: Sequence[str], evaluations: int) -> str:
    """Mean rank with intervals, area, targets and CPU of the optimizers with runs on most problems."""
    by_problem = comparing.ranks(frame, evaluations, optimizers)
    cells = comparing.matrix(frame, f"regret_{evaluations}", optimizers)
    area = comparing.areas(frame, evaluations, optimizers)
    reached = comparing.reached(frame, evaluations, optimizers).loc[evaluations]
    cpu = frame.groupby("optimizer")["cpu_mean"].median()
    rows = [
        (f"`{name}`", interval, f"{area[name]:.2f}", f"{reached[name]:.2f}", f"{cpu[name]:.3f}")
        for name, interval in comparing.mean_ranks(by_problem).items()
    ]
    seeds = cells.groupby(level="problem").size()
    said = f"{len(by_problem)} problems, {span(seeds.min(), seeds.max())} seeds each that all of these optimizers have."
    header = (
        "optimizer",
        f"mean rank of {len(optimizers)} at {evaluations} (90 % interval over problems)",
        "area under log10 relative regret",
        "share of targets reached",
        "CPU s per suggestion",
    )
    return f"{table(header, rows)}\n\n{said}"


def family_tables(frame: pd.DataFrame, optimizers: Sequence[str], evaluations: int) -> str:
    """Mean ranks by family, and leaving each family out."""
    by_problem = comparing.ranks(frame, evaluations, optimizers)
    parts = []
    for leave_out in (False, True):
        found = comparing.by_family(by_problem, leave_out=leave_out)
        order = by_problem.mean().sort_values().index
        header = ["optimizer", *(f"without {f}" if leave_out else f for f in found.columns)]
        parts.append(table(header, [(f"`{name}`", *(f"{v:.2f}" for v in found.loc[name])) for name in order]))
    return "\n\n".join(parts)


def wins_table(frame: pd.DataFrame, reference: str, evaluations: Sequence[int]) -> str:
    """Problems won, tied and lost by the reference against every other optimizer, on the runs that both have."""
    rows = []
    for other in sorted(set(frame["optimizer"]) - {reference}):
        scores = [comparing.wins(frame, n, reference, other) for n in evaluations]
        pairs = [comparing.wins(frame, n, reference, other, by_runs=True) for n in evaluations]
        if any(scores):
            medians, runs = (next(s for s in reversed(found) if s) for found in (scores, pairs))
            seen = (medians.problems, span(medians.fewest, medians.most))
            by_medians, by_runs = (*map(_score, scores), f"{medians.share:.0%}"), (_score(runs), f"{runs.share:.0%}")
            rows.append((f"`{other}`", *by_medians, *by_runs, *seen))
    heads = (*(f"at {n}" for n in evaluations), "share won", "by runs", "share won", "problems", "common seeds")
    return table((f"`{reference}` against", *heads), rows)


def ratio_table(frame: pd.DataFrame, reference: str, evaluations: int) -> str:
    """How the regret of the reference compares with that of every other optimizer, run by run, family by family."""
    families = list(dict.fromkeys(frame["family"]))
    rows = []
    for other in sorted(set(frame["optimizer"]) - {reference}):
        if found := comparing.ratios(frame, evaluations, reference, other):
            rows.append((f"`{other}`", *(found.get(family, "") for family in families)))
    return table((f"`{reference}` against", *families), rows)


def lost_table(frame: pd.DataFrame, reference: str, evaluations: int, others: Sequence[str]) -> str:
    """On which problems the reference is behind other optimizers by the median."""
    found = {other: comparing.lost(frame, evaluations, reference, other) for other in others if other != reference}
    rows = [(f"`{other}`", len(names), ", ".join(names)) for other, names in found.items() if names]
    return table(("ahead by the median", "problems", "which"), rows)


def _score(score: comparing.Score | None) -> str:
    if score is None:
        return ""
    return f"{score.won} : {score.lost}" + (f" ({score.tied} tied)" if score.tied else "")


def coverage_table(frame: pd.DataFrame) -> str:
    """Coverage of the 80 % intervals of the next outcome, and its CRPS, by family, of optimizers that forecast."""
    made = frame[frame["coverage"].notna()]
    families = list(dict.fromkeys(made["family"]))
    by = made.groupby(["optimizer", "family"])
    coverage, crps = by["coverage"].mean().unstack(), by["crps"].median().unstack()
    known = coverage.notna()
    rows = [
        (
            f"`{name}`",
            *(f"{coverage.loc[name, f]:.2f} / {crps.loc[name, f]:.3f}" if known.loc[name, f] else "" for f in families),
        )
        for name in coverage.index
    ]
    return table(("optimizer", *families), rows)


def footprint_table(folder: Path) -> str:
    """Time until the first suggestion, and memory, of a process of its own."""
    found = pd.read_csv(folder / "footprint.csv").sort_values("ready_seconds")
    rows = [
        (f"`{r.optimizer}`", f"{r.import_seconds:.1f}", f"{r.ready_seconds:.1f}", f"{r.peak_mb:.0f}")
        for r in found.itertuples()
    ]
    return table(("optimizer", "import, CPU s", "first suggestion, CPU s", "peak memory, MB"), rows)


def span(low: int, high: int) -> str:
    """Return a range of whole numbers in words."""
    return str(low) if low == high else f"{low} to {high}"


def fill(page: str, name: str, text: str) -> str:
    """Return a page with new text between the markers of a name.

    Raises:
        ValueError: If the page has no such markers.
    """
    start, end = f"<!-- peers:{name} -->", f"<!-- end of peers:{name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no {start} ... {end}")
    return pattern.sub(lambda _: f"{start}\n{text}\n{end}", page)


def write(page: Path, name: str, text: str) -> None:
    """Write new text between the markers of a name into a page."""
    page.write_text(fill(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def parts(frame: pd.DataFrame, reference: str, folder: Path) -> dict[str, str]:
    """Return the text of each marked part of the page."""
    short = frame[frame["problem"].isin(SUITES["all"])]
    optimizers, slower = compared(short), shared(short, _SLOWER, 60)
    found = {
        "rank": rank_table(short, optimizers, 60),
        "families": family_tables(short, optimizers, 60),
        "wins": wins_table(short, reference, (30, 60)),
        "ratios": ratio_table(short, reference, 60),
        "lost": lost_table(short, reference, 60, [name for name in optimizers if name in PEERS]),
        "coverage": coverage_table(short),
    }
    if slower:
        found["rank-slower"] = rank_table(short[short["problem"].isin(slower)], ranked(short, 60, slower), 60)
    if (folder / "footprint.csv").exists():
        found["footprint"] = footprint_table(folder)
    long = frame[frame["problem"].isin(SUITES["long"]) & frame["regret_200"].notna()]
    if long["optimizer"].nunique() > 1:
        found["long"] = rank_table(long, sorted(set(long["optimizer"])), 200)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Write the page and its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of the tables")
    parser.add_argument("--reference", default="auto", help="the optimizer that is compared with every other")
    parser.add_argument("--without", default="", help="optimizers to leave out, separated by commas")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--print", action="store_true", help="print the tables instead")
    given = parser.parse_args(arguments)
    frame = comparing.load(given.results)
    frame = frame[~frame["optimizer"].isin(given.without.split(","))]
    found = parts(frame, given.reference, given.results)
    if given.print:
        print(*(f"## {name}\n{text}\n" for name, text in found.items()), sep="\n")
        return
    page = given.page.read_text(encoding="utf-8")
    for name, text in found.items():
        page = fill(page, name, text)
    given.page.write_text(page, encoding="utf-8")
    draw(frame, given.page.parent / PICTURES.name)


def draw(frame: pd.DataFrame, folder: Path) -> None:
    """Draw the figures of the page into a folder."""
    short = frame[frame["problem"].isin(SUITES["all"])]
    optimizers = compared(short)
    folder.mkdir(exist_ok=True)
    figures.draw_ranks(comparing.mean_ranks(comparing.ranks(short, 60, optimizers)), folder / "ranks.png", peers=PEERS)
    figures.draw_reached(comparing.reached(short, 60, optimizers), folder / "targets.png", peers=PEERS)


if __name__ == "__main__":
    main()
