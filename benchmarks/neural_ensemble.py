"""CPU seconds of training an ensemble for every fold: all networks in one program, one after another, and in torch.

Run with ``python benchmarks/neural_ensemble.py`` (needs the extra ``bench``); ``--quick`` only times, in few steps, and
writes nothing. One round of a conformal search by three folds trains 3 x 5 networks on 150 points, each on two thirds of
them. All ways to do it take the same number of steps on batches of the same size, in single precision, on one thread.
The accuracy of the presets is measured on NAS-Bench-201 (path encoding) beside it.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from calibo.data import Array, Dataset
from calibo.models import NeuralEnsemble, Perceptron
from calibo.networks import AbsoluteError, random_batches, train
from calibo.problems import NAS_BENCH_201, nas_bench_201
from calibo.problems.nas_bench_201 import CELL

POINTS, FOLDS, MEMBERS = 150, 3, 5
HERE = Path(__file__).parent
PARTS = ("speed", "searches", "accuracy")
RECIPES = {"paper": Perceptron.paper(), "bananas": Perceptron.bananas(), "default": Perceptron()}
PRESETS = {
    "published": NeuralEnsemble.published(),
    "paper": NeuralEnsemble.paper(),
    "bananas": NeuralEnsemble.bananas(),
    "default": NeuralEnsemble(),
}


def cells() -> Array:
    """All cells encoded, 15,625 x 6, in the order of the tables."""
    codes = np.stack(np.unravel_index(np.arange(5**6), (5,) * 6), axis=1)
    return np.asarray((codes + 0.5) / 5.0, dtype=np.float64)


def folds(n: int, seed: int) -> list[np.ndarray]:
    """Two thirds of the rows, three times."""
    parts = np.array_split(np.random.default_rng(seed).permutation(n), FOLDS)
    return [np.setdiff1d(np.arange(n), part) for part in parts]


def batches(masks: Array, recipe: Perceptron, rng: np.random.Generator) -> np.ndarray:
    """Rows of each step and network, steps x M x b."""
    owned = [np.flatnonzero(mask) for mask in masks]
    return random_batches(owned, recipe.steps(max(map(len, owned))), recipe.batch, rng).copy()


def together(recipe: Perceptron, X: Array, y: Array, masks: Array) -> Callable[[], object]:
    """All networks in one program."""
    rng = np.random.default_rng(0)
    start, training = recipe.networks(X.shape[1], len(masks), rng), recipe.training(AbsoluteError())
    steps = recipe.steps(int(masks.sum(axis=1).max()))
    return lambda: train(start, X, y, training, steps=steps, batch=recipe.batch, rng=rng, weights=masks)


def one_by_one(recipe: Perceptron, X: Array, y: Array, masks: Array) -> Callable[[], object]:
    """Run the same program for each network."""
    runs = [together(recipe, X, y, mask[None]) for mask in masks]
    return lambda: [run() for run in runs]


def torch_together(recipe: Perceptron, X: Array, y: Array, masks: Array) -> Callable[[], object]:
    """All networks in one program of torch: batched matrix products and one Adam."""
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    start = recipe.networks(X.shape[1], len(masks), rng)
    features, targets = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y.astype(np.float32))

    def run() -> None:
        weights = [torch.tensor(layer[:, :-1], requires_grad=True) for layer in start.layers]
        biases = [torch.tensor(layer[:, -1:], requires_grad=True) for layer in start.layers]
        adam = torch.optim.Adam([*weights, *biases], lr=recipe.learning_rate, foreach=True)
        for rows in torch.from_numpy(batches(masks, recipe, rng)):
            out = features[rows]
            for j, (w, b) in enumerate(zip(weights, biases, strict=True)):
                out = torch.baddbmm(b, out, w)
                out = torch.relu(out) if j < recipe.layers else out
            loss = (out[..., 0] - targets[rows]).abs().mean(dim=1).sum()
            adam.zero_grad()
            loss.backward()
            adam.step()

    return run


def torch_one_by_one(recipe: Perceptron, X: Array, y: Array, masks: Array) -> Callable[[], object]:
    """Plain torch modules, one after another, as the published code trains them."""
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    features, targets = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y.astype(np.float32))
    sizes = (X.shape[1], *[recipe.width] * recipe.layers)

    def run() -> None:
        for mask in masks:
            hidden: list[Any] = []
            for size, following in pairwise(sizes):
                hidden += [torch.nn.Linear(size, following), torch.nn.ReLU()]
            network = torch.nn.Sequential(*hidden, torch.nn.Linear(recipe.width, 1))
            adam = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate)
            for rows in torch.from_numpy(batches(mask[None], recipe, rng)[:, 0]):
                loss = (network(features[rows])[:, 0] - targets[rows]).abs().mean()
                adam.zero_grad()
                loss.backward()
                adam.step()

    return run


WAYS = {
    "together": together,
    "one by one": one_by_one,
    "torch together": torch_together,
    "torch one by one": torch_one_by_one,
}


def speed(epochs: int, repeats: int) -> list[dict[str, Any]]:
    """CPU milliseconds of a step of all 15 networks, the least of some repeats, for every recipe and way."""
    rng = np.random.default_rng(0)
    X, y = CELL.path_encoding(rng.random((POINTS, 6))), rng.standard_normal(POINTS)
    masks = np.repeat(np.stack([np.isin(np.arange(POINTS), rows) for rows in folds(POINTS, 0)]), MEMBERS, axis=0)
    rows: list[dict[str, Any]] = []
    for name, preset in RECIPES.items():
        recipe = replace(preset, epochs=epochs, fewest_steps=1)
        steps = recipe.steps(POINTS * 2 // 3)
        row: dict[str, Any] = {"recipe": name, "steps": steps}
        runs = {way: prepare(recipe, X, y, masks.astype(np.float64)) for way, prepare in WAYS.items()}
        for _ in range(repeats):  # in turns, so that whatever else the machine does meets all of them
            for way, run in runs.items():
                start = time.process_time()
                run()
                spent = 1000.0 * (time.process_time() - start) / steps
                row[way] = min(row.get(way, np.inf), spent)
        row |= {f"{way} / together": row[way] / row["together"] for way in list(WAYS)[1:]}
        rows.append(row)
        print({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return rows


def searches() -> dict[str, dict[str, float]]:
    """CPU seconds of the networks of a search, training and prediction: 14 rounds of 10 cells; and of the last round."""
    X = cells()
    table = nas_bench_201("cifar10").values[:, 0]
    found: dict[str, dict[str, float]] = {}
    for name, ensemble in PRESETS.items():
        if name == "paper":
            continue  # takes as long as the published settings
        rng, rounds = np.random.default_rng(0), []
        rows = rng.permutation(len(X))[:250]
        for n in range(10, POINTS, 10):
            data = Dataset(X=X[rows[:n]], Y=table[rows[:n], None], features=CELL.features)
            start = time.process_time()
            for model in ensemble.fit_many(data, folds(n, n), rng=rng):
                model.predict(X[rows[150:]], latent=False)
            rounds.append(time.process_time() - start)
        found[name] = {"search": sum(rounds), "last round": rounds[-1]}
        print(name, {k: round(v, 2) for k, v in found[name].items()}, flush=True)
    return found


def split(accuracy: Array, n: int, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n cells to learn from and cells to judge by: random ones, or as in a search: half of the n, and all judged by, are
    among the 1,000 best."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        order = rng.permutation(len(accuracy))
        return order[:n], order[n : n + 2000]
    best = rng.permutation(np.argsort(-accuracy)[:1000])
    rest = rng.permutation(np.setdiff1d(np.arange(len(accuracy)), best))
    return np.concatenate([rest[: n - n // 2], best[: n // 2]]), best[n // 2 : n // 2 + 500]


def judged(ensemble: NeuralEnsemble, accuracy: Array, n: int, kind: str, seed: int) -> dict[str, float]:
    """Return the errors of an ensemble, in standard deviations of all accuracies."""
    seen, new = split(accuracy, n, kind, seed)
    X, truth = cells(), accuracy[new]
    data = Dataset(X=X[seen], Y=accuracy[seen, None], features=CELL.features)
    start = time.process_time()
    distribution = ensemble.fit(data, rng=np.random.default_rng(seed)).predict(X[new], latent=False)
    spent = time.process_time() - start
    top = np.argsort(-truth)[:200]
    low, high = distribution.interval(0.8)

    def rank(among: np.ndarray) -> float:
        # An ensemble that says the same of all cells ranks none.
        mean = distribution.mean[among]
        return float(spearmanr(mean, truth[among]).statistic) if np.ptp(mean) > 0.0 else 0.0  # pyright: ignore

    return {
        "rmse": float(np.sqrt(np.mean(np.square(distribution.mean - truth))) / accuracy.std()),
        "median error": float(np.median(np.abs(distribution.mean - truth)) / accuracy.std()),
        "rank": rank(np.arange(len(new))),
        "rank of the top 200": rank(top),
        "coverage of 80 %": float(np.mean((low <= truth) & (truth <= high))),
        "cpu": spent,
    }


def accuracy_of_presets(seeds: int) -> list[dict[str, Any]]:
    """Means over three data sets and some seeds, other ones than those the default was chosen by."""
    tables = [nas_bench_201(name).values[:, 0] for name in NAS_BENCH_201]
    rows: list[dict[str, Any]] = []
    for kind in ("random", "search"):
        for n in (50, 100, 150):
            for name, ensemble in PRESETS.items():
                found = [judged(ensemble, table, n, kind, seed) for table in tables for seed in range(100, 100 + seeds)]
                means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
                rows.append({"cells": kind, "n": n, "preset": name, **means})
                print({k: round(v, 3) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40, help="of the comparison of ways; the steps are alike")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="the others are kept")
    parser.add_argument("--quick", action="store_true", help="only a few steps are timed, and nothing is written")
    arguments = parser.parse_args()
    if arguments.quick:
        speed(5, 1)
        return
    measure: dict[str, Callable[[], object]] = {
        "speed": lambda: speed(arguments.epochs, arguments.repeats),
        "searches": searches,
        "accuracy": lambda: accuracy_of_presets(arguments.seeds),
    }
    path = HERE / "results" / "neural_ensemble.json"
    path.parent.mkdir(exist_ok=True)
    for part in arguments.parts:
        found = json.loads(path.read_text()) if path.exists() else {}
        found[part] = measure[part]()
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
