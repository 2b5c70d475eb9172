"""Do descriptors of choices pay: on a table of 1,728 reactions with three reagents, described by RDKit from their SMILES.

Run with ``python benchmarks/descriptors.py --table-file direct_arylation.parquet`` (10 seeds; needs the extra ``chem``);
``--seeds`` does fewer and ``--table`` only prints what was measured before.

The table has every combination of 4 bases, 12 ligands, 4 solvents, 3 concentrations and 3 temperatures, so that it is the
objective of a search space of five parameters. Each is measured with the choices as they are ("plain") and with
``descriptors="smiles"``:

- predictions: models fitted to 40 random rows predict all others; the root mean squared error of the expected yield (in %)
- unseen ligand: models fitted to 60 random rows with other ligands predict all rows with one
- searches: the best yield after 15 and 40 evaluations, and the evaluation at which one of the best 17 rows (1 %) was found
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import csv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from calibo import Categorical, Optimizer, Ordinal
from calibo.data import Dataset
from calibo.models import GaussianProcess, NeuralEnsemble, QuantileTrees, Surrogate
from calibo.spaces import Space, as_space

RESULTS = Path(__file__).parent / "results" / "descriptors.csv"
FIELDS = ("what", "by", "choices", "seed", "rmse", "best_15", "best_40", "found")
MODELS: dict[str, Surrogate] = {"gp": GaussianProcess(), "trees": QuantileTrees(), "networks": NeuralEnsemble()}
METHODS = ("auto", "gp_ei")
ROWS, UNSEEN_ROWS, TRIALS, TOP = 40, 60, 40, 17
REAGENTS = ("Base_SMILES", "Ligand_SMILES", "Solvent_SMILES")


def space_of(table: pd.DataFrame, choices: str) -> Space:
    """Return the space of a table, with or without descriptors."""
    more: dict[str, Any] = {} if choices == "plain" else {"descriptors": "smiles"}
    space: dict[str, Any] = {name: Categorical(sorted(table[name].unique()), **more) for name in REAGENTS}
    return as_space(space | {name: Ordinal(sorted(table[name].unique())) for name in ("Concentration", "Temp_C")})


def predicted(table: pd.DataFrame, what: str, by: str, choices: str, seed: int) -> dict[str, Any]:
    """Return the error of a model's predictions."""
    space, rng = space_of(table, choices), np.random.default_rng(seed)
    X, y = space.encode(table[list(space.names)].to_dict("records")), table["yield"].to_numpy(float)
    known = rng.permutation(len(y))[:ROWS]
    asked = np.setdiff1d(np.arange(len(y)), known)
    if what == "unseen ligand":
        own = X[:, 1] == np.unique(X[:, 1])[seed % 12]
        known, asked = rng.permutation(np.flatnonzero(~own))[:UNSEEN_ROWS], np.flatnonzero(own)
    data = Dataset(
        X=X[known],
        Y=y[known, None],
        categories=space.categories,
        features=space.features,
        descriptors=space.descriptors,
    )
    mean = MODELS[by].fit(data, rng=rng).predict(X[asked], latent=True).mean
    return {"rmse": f"{np.sqrt(np.mean((mean - y[asked]) ** 2)):.3f}"}


def searched(table: pd.DataFrame, what: str, by: str, choices: str, seed: int) -> dict[str, Any]:
    """Return what a search found."""
    space = space_of(table, choices)
    names = list(space.names)
    values = {tuple(row[:-1]): float(row[-1]) for row in table[[*names, "yield"]].itertuples(index=False)}
    top = sorted(values.values())[-TOP]
    optimizer, found = Optimizer(space, by, direction="maximize", seed=seed), list[float]()
    for _ in range(TRIALS):
        suggestion = optimizer.ask()
        found.append(values[tuple(suggestion.params[name] for name in names)])
        optimizer.tell(suggestion, found[-1])
    first = next((t for t, value in enumerate(found, start=1) if value >= top), TRIALS + 1)
    return {"best_15": max(found[:15]), "best_40": max(found), "found": first}


def table_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per model or method, and kind of choices."""
    lines = ["| | choices | runs | RMSE | best of 15 | best of 40 | top 1 % found at |", "|---" * 7 + "|"]
    for what, by, choices in dict.fromkeys((r["what"], r["by"], r["choices"]) for r in rows):
        own = [r for r in rows if (r["what"], r["by"], r["choices"]) == (what, by, choices)]
        cells = [f"{what} by {by}", choices, str(len(own))]
        for key in FIELDS[4:]:
            known = [float(r[key]) for r in own if r.get(key) not in ("", None)]
            cells.append(f"{np.median(known) if key == 'found' else np.mean(known):.1f}" if known else "")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table-file", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--table", action="store_true", help="print what was measured before")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    if RESULTS.exists():
        with RESULTS.open() as file:
            rows = list(csv.DictReader(file))
    done = {(r["what"], r["by"], r["choices"], int(r["seed"])) for r in rows}
    kinds = [(what, by) for what in ("predictions", "unseen ligand") for by in MODELS]
    kinds += [("searches", by) for by in METHODS]
    work = [(*kind, c, seed) for seed in range(arguments.seeds) for kind in kinds for c in ("plain", "described")]
    table = pd.DataFrame() if arguments.table else pd.read_parquet(arguments.table_file)
    for what, by, choices, seed in tqdm([] if arguments.table else [one for one in work if one not in done]):
        measured = (searched if what == "searches" else predicted)(table, what, by, choices, seed)
        rows.append({"what": what, "by": by, "choices": choices, "seed": seed, **measured})
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print(*table_of(rows), sep="\n")


if __name__ == "__main__":
    main()
