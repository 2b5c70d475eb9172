"""The results as markdown, for the README."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claims import THESIS_ACCURACY, THESIS_SCORE, claims
from distributions import ESTIMATORS, SIZES, table
from figures import TITLES, Finished
from judging import claim_lines
from settings import DATASETS, Size


def markdown(finished: Mapping[str, Finished], size: Size) -> str:
    """Return the claims, Table 3.1, and the means of every part."""
    lines = claim_lines(claims(finished, size), part="part", paper="thesis")
    lines += [
        "",
        "Table 3.1: mean, standard deviation, KL(estimate, truth); in brackets the thesis's",
        "",
        *_table(table(size.trials)),
    ]
    for name, done in finished.items():
        seeds = len(done.figure.cells[0].jobs)
        datasets = dict.fromkeys(cell.dataset for cell in done.figure.cells)
        for dataset in datasets:
            title = f"{TITLES[name]}, {dataset}" if len(datasets) > 1 else TITLES[name]
            lines += ["", f"{title}, {seeds} seeds", "", *_part(name, done, dataset)]
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    at = {(row["n"], row["estimator"]): row for row in rows}
    lines = [f"| n | {' | '.join(ESTIMATORS)} |", "|---" * (len(ESTIMATORS) + 1) + "|"]
    for n in SIZES:
        shown = []
        for estimator in ESTIMATORS:
            row = at[n, estimator]
            ours, thesis = (row["mean"], row["sd"], row["kl"]), row["thesis"]
            shown.append(f"{_three(ours)} ({_three(thesis)})")
        lines.append(f"| {n} | {' | '.join(shown)} |")
    return lines


def _three(values: Any) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _part(name: str, done: Finished, dataset: str) -> list[str]:
    """Accuracies, regrets, scores and coverages; the thesis's beside, where there are any."""
    heads = [
        *("", "accuracy", "thesis", "regret", "regret of means", "held by 80 %", "first / second half"),
        *("median width", "score (sum)", "thesis", "score (root mean)", "CPU s"),
    ]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    i = DATASETS.index(dataset)
    for row in done.summary():
        if row["dataset"] != dataset:
            continue
        label = row["label"]
        known = name == "search"
        theirs = f"{THESIS_ACCURACY[label][i]:.3f}" if known and label in THESIS_ACCURACY else "-"
        score = f"{THESIS_SCORE[label][i]:.3f}" if known and label in THESIS_SCORE else "-"
        shown = [label, f"{row['accuracy']:.3f} +- {row['accuracy_se']:.3f}", theirs]
        shown += [f"{row['regret']:.3f} +- {row['regret_se']:.3f}", f"{row['mean_regret']:.3f}"]
        if "coverage" in row:
            early, late = row["coverage_of_halves"]
            shown += [f"{row['coverage']:.3f} +- {row['coverage_se']:.3f}", f"{early:.2f} / {late:.2f}"]
            width = "infinite" if row["width"] is None else f"{row['width']:.1f}"
            shown += [width, f"{row['sum_score']:.3f}", score, f"{row['root_score']:.3f}"]
        else:
            shown += ["-"] * 6
        shown.append(f"{row['seconds']:.1f}")
        lines.append(f"| {' | '.join(shown)} |")
    return lines
