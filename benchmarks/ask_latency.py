"""CPU seconds of one suggestion: calibo against BoTorch LogEI and Optuna's GPSampler, in one run, on one thread.

Run with ``python benchmarks/ask_latency.py`` (needs the extra ``botorch``); ``--quick`` leaves out the larger sizes.
Every tool gets the same n Sobol points of the problem and proposes one more. "Cold" knows nothing but the data, "warm"
starts from the hyper-parameters stored with the previous suggestion, as every suggestion after the first does.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from calibo.data import Dataset, Forecast
from calibo.methods import auto, cbo, gp_ei, locbo, ocbo, ocbo_local
from calibo.models import GaussianProcess
from calibo.optimize import Strategy, propose
from calibo.problems import problem
from calibo.spaces import as_space

PROBLEMS = ("branin", "hartmann6", "levy20")
SIZES = (20, 50, 100, 200, 500)
HERE = Path(__file__).parent


def known(name: str, n: int, seed: int) -> Dataset:
    """n Sobol points of a problem with outcomes (larger is better) and the forecasts a running study would have."""
    task = problem(name)
    X = qmc.Sobol(task.dimension, rng=np.random.default_rng(seed)).random(n)
    data = Dataset(X=X, Y=-task(task.from_unit(X))[:, None])
    distributions = GaussianProcess().fit(data, rng=np.random.default_rng(0)).one_step_ahead().marginals()
    return replace(
        data, forecasts=tuple((Forecast((distribution, distribution, distribution)),) for distribution in distributions)
    )


def calibo_ask(strategy: Strategy, warm: bool) -> Callable[[str, Dataset, int], Callable[[], object]]:
    """Prepare a timed calibo suggestion."""

    def prepare(name: str, data: Dataset, seed: int) -> Callable[[], object]:
        space = as_space(problem(name).space())
        if warm:
            earlier = data.rows(slice(0, len(data) - 1))
            last = propose(earlier, space=space, strategy=strategy, seed=seed, number=len(data) - 1)[0]
            data = replace(data, hyperparameters=last.hyperparameters)
        return lambda: propose(data, space=space, strategy=strategy, seed=seed, number=len(data))

    return prepare


def botorch_ask(name: str, data: Dataset, seed: int) -> Callable[[], object]:
    """Prepare a timed BoTorch suggestion: SingleTaskGP, LogEI, optimize_acqf with its tutorial's settings."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.Y)
    bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()

    def ask() -> object:
        model = SingleTaskGP(X, Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=Y.max())
        return optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)

    return ask


def optuna_ask(name: str, data: Dataset, seed: int) -> Callable[[], object]:
    """Prepare a timed suggestion of Optuna's GPSampler."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=1)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    unit = optuna.distributions.FloatDistribution(0.0, 1.0)
    space: dict[str, optuna.distributions.BaseDistribution] = {f"x{j}": unit for j in range(data.X.shape[1])}
    for x, y in zip(data.X, data.Y[:, 0], strict=True):
        params = {f"x{j}": float(v) for j, v in enumerate(x)}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=float(y)))
    return lambda: study.ask(space)


TOOLS: dict[str, Callable[[str, Dataset, int], Callable[[], object]]] = {
    "auto cold": calibo_ask(auto(), warm=False),
    "auto warm": calibo_ask(auto(), warm=True),
    "gp_ei cold": calibo_ask(gp_ei(), warm=False),
    "gp_ei warm": calibo_ask(gp_ei(), warm=True),
    "ocbo cold": calibo_ask(ocbo(), warm=False),
    "ocbo warm": calibo_ask(ocbo(), warm=True),
    "locbo warm": calibo_ask(locbo(), warm=True),
    "ocbo_local warm": calibo_ask(ocbo_local(), warm=True),
    "cbo without ratio": calibo_ask(cbo(ratio=None), warm=True),
    "cbo": calibo_ask(cbo(), warm=True),
    "optuna GPSampler": optuna_ask,
    "botorch LogEI": botorch_ask,
}


def measure(repeats: int, sizes: tuple[int, ...]) -> list[dict[str, object]]:
    """Median CPU seconds of every tool on every problem and size."""
    rows: list[dict[str, object]] = []
    for name in PROBLEMS:
        for n in sizes:
            spent: dict[str, list[float]] = {tool: [] for tool in TOOLS}
            for seed in range(repeats + 1):
                data = known(name, n, seed)
                for tool, prepare in TOOLS.items():
                    ask = prepare(name, data, seed)
                    start = time.process_time()
                    ask()
                    if seed:  # the first round only warms up imports and caches
                        spent[tool].append(time.process_time() - start)
            row: dict[str, object] = {"problem": name, "n": n}
            row |= {tool: float(np.median(seconds)) for tool, seconds in spent.items()}
            rows.append(row)
            print(", ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    return rows


def ratios(row: dict[str, float]) -> dict[str, float]:
    """Return the ratios for which there are targets."""
    return {
        "auto warm / optuna": row["auto warm"] / row["optuna GPSampler"],
        "gp_ei warm / optuna": row["gp_ei warm"] / row["optuna GPSampler"],
        "gp_ei warm / botorch": row["gp_ei warm"] / row["botorch LogEI"],
        "gp_ei cold / optuna": row["gp_ei cold"] / row["optuna GPSampler"],
        "ocbo warm / gp_ei warm": row["ocbo warm"] / row["gp_ei warm"],
        "locbo warm / gp_ei warm": row["locbo warm"] / row["gp_ei warm"],
        "cbo without ratio / optuna": row["cbo without ratio"] / row["optuna GPSampler"],
        "cbo without ratio / botorch": row["cbo without ratio"] / row["botorch LogEI"],
        "cbo / botorch": row["cbo"] / row["botorch LogEI"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="only n = 100, and nothing is written")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = measure(arguments.repeats, (100,) if arguments.quick else tuple(arguments.sizes))
    for row in rows:
        row["ratios"] = ratios(row)  # pyright: ignore[reportArgumentType]
        print(row["problem"], row["n"], {k: round(v, 3) for k, v in row["ratios"].items()})  # pyright: ignore
    if not arguments.quick:
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "ask_latency.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
