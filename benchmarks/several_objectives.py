"""Hypervolume after 30 and 60 trials of two and three objectives, without a reference point, against peers.

Run with ``python benchmarks/several_objectives.py``; it goes on where it was stopped. No method is told a reference point;
the hypervolume is judged by a fixed one, which none of them sees, as a share of the largest that is known. ``--table``
prints the table from the stored results only, and ``python -m benchmarks.several_objectives --page`` writes it into
``several_objectives.md``.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from calibo import Categorical, Float, Int, Optimizer, Ordinal
from calibo.optimize.design import initial_size
from calibo.pareto import hypervolume, pareto_front
from calibo.spaces import Parameter

STEPS = 60
MILESTONES = (30, 60)
RESULTS = Path(__file__).parent / "results" / "several_objectives.jsonl"
Values = tuple[float, ...]


@dataclass(frozen=True)
class Problem:
    """Objectives, all of them minimized, over parameters by name.

    Attributes:
        space: The parameters.
        objectives: Their values without noise.
        reference: The reference point of the judge.
        largest: The largest hypervolume: exact where the front is known, else that of a long search (`--largest`).
        noise: Standard deviation of each measured objective.
    """

    space: Mapping[str, Parameter]
    objectives: Callable[[Mapping[str, Any]], Values]
    reference: Values
    largest: float
    noise: Values = ()

    def params(self, u: np.ndarray) -> dict[str, Any]:
        """Return the parameters of a point of the unit cube, one coordinate per parameter."""
        pairs = zip(self.space.items(), u, strict=True)
        return {name: column.decode(min(float(value), 1.0 - 1e-12)) for (name, column), value in pairs}

    def volume(self, Y: np.ndarray) -> float:
        """Return the hypervolume of `n x m` values above the judge's reference point."""
        return hypervolume(-Y, -np.array(self.reference))


def _box(d: int) -> dict[str, Parameter]:
    return {f"x{i}": Float(0.0, 1.0) for i in range(d)}


def _unit(p: Mapping[str, Any]) -> np.ndarray:
    return np.array([p[name] for name in sorted(p)])


def _branin_currin(p: Mapping[str, Any]) -> Values:
    u, v = _unit(p)
    a, b = 15.0 * u - 5.0, 15.0 * v
    branin = (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2
    branin += 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10
    factor = 1.0 - math.exp(-1.0 / (2.0 * v)) if v > 0.0 else 1.0
    currin = factor * (2300 * u**3 + 1900 * u**2 + 2092 * u + 60) / (100 * u**3 + 500 * u**2 + 4 * u + 20)
    return branin, currin


def _zdt(shape: Callable[[float, float], float]) -> Callable[[Mapping[str, Any]], Values]:
    def objectives(p: Mapping[str, Any]) -> Values:
        x = _unit(p)
        g = 1.0 + 9.0 * float(x[1:].mean())
        return float(x[0]), g * shape(float(x[0]), g)

    return objectives


def _waves(a: float, g: float) -> float:
    return 1.0 - math.sqrt(a / g) - a / g * math.sin(10.0 * math.pi * a)


def _dtlz2(p: Mapping[str, Any]) -> Values:
    x = _unit(p)
    g, angles = float(((x[2:] - 0.5) ** 2).sum()), x[:2] * math.pi / 2
    c, s = np.cos(angles), np.sin(angles)
    return (1 + g) * float(c[0] * c[1]), (1 + g) * float(c[0] * s[1]), (1 + g) * float(s[0])


def _kursawe(p: Mapping[str, Any]) -> Values:
    x = 10.0 * _unit(p) - 5.0
    first = sum(-10.0 * math.exp(-0.2 * math.hypot(a, b)) for a, b in pairwise(x))
    return first, float((np.abs(x) ** 0.8 + 5.0 * np.sin(x**3)).sum())


def _fonseca(p: Mapping[str, Any]) -> Values:
    x, centre = 4.0 * _unit(p) - 2.0, 1.0 / math.sqrt(len(p))
    return tuple(1.0 - math.exp(-float(((x - sign * centre) ** 2).sum())) for sign in (1.0, -1.0))


def _network(p: Mapping[str, Any]) -> Values:
    """Error against latency of a network: what the issue's first measurement was made with."""
    error = 0.1 * (math.log10(p["lr"]) + 2.0) ** 2 + 0.3 / p["layers"] + 0.1 * (p["act"] != "gelu")
    return error + 0.05 * abs(math.log2(p["batch"]) - 5.0), p["layers"] + p["batch"] / 64


_NETWORK: dict[str, Parameter] = {
    "lr": Float(1e-4, 1.0, log=True),
    "layers": Int(1, 6),
    "act": Categorical(["relu", "tanh", "gelu"]),
    "batch": Ordinal([16, 32, 64, 128]),
}


def _reaction(p: Mapping[str, Any]) -> Values:
    """Loss of yield against cost (in thousands) of a reaction: base and solvent are choices, equivalents are whole."""
    bases = {"KOH": (0.0, 1.0), "K2CO3": (-0.25, 0.6), "DBU": (0.35, 2.4), "Et3N": (0.15, 1.5)}
    solvents = {"water": (-0.3, 0.2, 75.0), "DMF": (0.3, 1.6, 95.0), "toluene": (0.1, 1.1, 85.0)}
    strength, price = bases[p["base"]]
    polar, cost, best = solvents[p["solvent"]]
    rate = 1.2 + strength + polar + 0.4 * math.log(p["equivalents"]) - ((p["temperature"] - best) / 30.0) ** 2
    rate += 0.8 * math.log10(p["loading"]) - 0.5 * strength * polar
    made = 1.0 / (1.0 + math.exp(-2.0 * (rate - 1.0)))
    spent = 900 * p["loading"] * (1.0 if p["base"] != "DBU" else 1.3) + 250 * price * p["equivalents"] + 700 * cost
    return 100.0 * (1.0 - made), (spent + 4.0 * p["temperature"]) / 1000.0


_REACTION: dict[str, Parameter] = {
    "base": Categorical(["KOH", "K2CO3", "DBU", "Et3N"]),
    "solvent": Categorical(["water", "DMF", "toluene"]),
    "temperature": Float(30.0, 130.0),
    "loading": Float(0.5, 10.0, log=True),
    "equivalents": Int(1, 5),
}

#: Problems on which the rule was chosen, and those on which it is judged.
CHOOSING = {
    "kursawe": Problem(_box(3), _kursawe, (-10.0, 5.0), 127.5413),
    "fonseca": Problem(_box(4), _fonseca, (1.1, 1.1), 0.5517),
    "zdt2": Problem(_box(5), _zdt(lambda a, g: 1.0 - (a / g) ** 2), (1.1, 3.0), 3.3 - 2 / 3),
    "network": Problem(_NETWORK, _network, (1.0, 8.0), 5.9275),
}
JUDGING = {
    "branin_currin": Problem(_box(2), _branin_currin, (18.0, 6.0), 59.3601),
    "reaction": Problem(_REACTION, _reaction, (100.0, 12.0), 991.4288),
    "zdt1": Problem(_box(6), _zdt(lambda a, g: 1.0 - math.sqrt(a / g)), (1.1, 3.0), 3.3 - 1 / 3),
    "zdt3": Problem(_box(4), _zdt(_waves), (1.1, 3.0), 3.4216),
    "dtlz2": Problem(_box(5), _dtlz2, (1.5, 1.5, 1.5), 1.5**3 - math.pi / 6),
    "noisy_branin_currin": Problem(_box(2), _branin_currin, (18.0, 6.0), 59.3601, noise=(5.0, 0.5)),
}
PROBLEMS = {**CHOOSING, **JUDGING}

Evaluate = Callable[[Mapping[str, Any]], Values]


def calibo_method(method: str) -> Callable[[Problem, Evaluate, int], None]:
    """Return a search by one of calibo's methods."""

    def search(problem: Problem, evaluate: Evaluate, seed: int) -> None:
        optimizer = Optimizer(problem.space, method, directions=["minimize"] * len(problem.reference), seed=seed)
        for _ in range(STEPS):
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, evaluate(suggestion.params))

    return search


def optuna_sampler(name: str) -> Callable[[Problem, Evaluate, int], None]:
    """Return a search by one of Optuna's samplers; a population of 50, the default, would be random for 50 trials."""

    def search(problem: Problem, evaluate: Evaluate, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        samplers = {
            "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
            "tpe_multivariate": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True),
            "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=10),
            "gp": lambda: optuna.samplers.GPSampler(seed=seed),
        }
        study = optuna.create_study(directions=["minimize"] * len(problem.reference), sampler=samplers[name]())

        def suggested(trial: optuna.Trial, key: str, column: Parameter) -> Any:
            if isinstance(column, Float):
                return trial.suggest_float(key, column.low, column.high, log=column.log)
            if isinstance(column, Int):
                return trial.suggest_int(key, column.low, column.high)
            assert isinstance(column, Categorical | Ordinal)
            return trial.suggest_categorical(key, list(column.choices))

        study.optimize(
            lambda trial: evaluate({key: suggested(trial, key, column) for key, column in problem.space.items()}), STEPS
        )

    return search


@dataclass(frozen=True)
class _BotorchColumns:
    """Parameters as BoTorch's mixed models and optimizer expect them: one column each, a choice by its number.

    Attributes:
        space: The parameters.
    """

    space: Mapping[str, Parameter]

    @property
    def categories(self) -> dict[int, list[float]]:
        """Allowed values of the columns whose values have no order: 0, 1, 2, ..."""
        columns = enumerate(self.space.values())
        return {i: [float(k) for k in range(len(c.choices))] for i, c in columns if isinstance(c, Categorical)}

    @property
    def levels(self) -> dict[int, list[float]]:
        """Allowed values of the columns of whole numbers and of ordered values: evenly spaced from 0 to 1."""
        columns = enumerate(self.space.values())
        return {i: list(np.linspace(0.0, 1.0, len(_values(c)))) for i, c in columns if isinstance(c, Int | Ordinal)}

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper ends of the columns, `2 x d`."""
        upper = [max(self.categories.get(i, [1.0])) for i in range(len(self.space))]
        return np.array([[0.0] * len(upper), upper])

    def encode(self, params: Mapping[str, Any]) -> list[float]:
        """Return the columns of a point."""
        allowed = {**self.categories, **self.levels}
        return [
            allowed[i][_values(c).index(params[name])] if i in allowed else c.encode(params[name])
            for i, (name, c) in enumerate(self.space.items())
        ]

    def decode(self, x: np.ndarray) -> dict[str, Any]:
        """Return the parameters of columns."""
        allowed = {**self.categories, **self.levels}
        return {
            name: _values(c)[int(np.abs(np.array(allowed[i]) - x[i]).argmin())]
            if i in allowed
            else c.decode(min(float(x[i]), 1.0 - 1e-12))
            for i, (name, c) in enumerate(self.space.items())
        }


def _values(column: Parameter) -> list[Any]:
    """Return the values of a column that has finitely many."""
    if isinstance(column, Int):
        return list(range(column.low, column.high + 1))
    assert isinstance(column, Categorical | Ordinal)
    return list(column.choices)


def _botorch_suggestion(columns: _BotorchColumns, X: np.ndarray, Y: np.ndarray, seed: int) -> np.ndarray:
    """Return the next point of BoTorch's qLogNEHVI, `d`, after results `n x d` and `n x m`, smaller is better."""
    import torch
    from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.models.transforms.input import NumericToCategoricalEncoding
    from botorch.optim import optimize_acqf
    from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
    from botorch.sampling import SobolQMCNormalSampler
    from botorch.utils.multi_objective.hypervolume import infer_reference_point
    from botorch.utils.multi_objective.pareto import is_non_dominated
    from gpytorch.mlls import SumMarginalLogLikelihood

    inputs, values, bounds = torch.tensor(X), -torch.tensor(Y), torch.tensor(columns.bounds)
    choices, levels = columns.categories, columns.levels
    sizes = {i: len(some) for i, some in choices.items()}
    encoders = {i: partial(torch.nn.functional.one_hot, num_classes=size) for i, size in sizes.items()}

    def model_of(outcomes: torch.Tensor) -> SingleTaskGP:
        encoding = NumericToCategoricalEncoding(len(bounds.T), sizes, encoders) if sizes else None
        return SingleTaskGP(inputs, outcomes, outcome_transform=Standardize(1), input_transform=encoding)

    model = ModelListGP(*(model_of(values[:, [j]]) for j in range(values.shape[1])))
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model,
        infer_reference_point(values[is_non_dominated(values)]),
        inputs,
        sampler=SobolQMCNormalSampler(torch.Size([128]), seed=seed),
        prune_baseline=True,
    )
    if choices or levels:
        found, _ = optimize_acqf_mixed_alternating(
            acquisition, bounds, discrete_dims=levels, cat_dims=choices, num_restarts=8, raw_samples=256
        )
    else:
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)
    return found[0].numpy()


def botorch_nehvi(problem: Problem, evaluate: Evaluate, seed: int) -> None:
    """Search by BoTorch's qLogNEHVI with its inferred reference point.

    Choices are one-hot columns of its Gaussian process (`NumericToCategoricalEncoding`), and choices and whole numbers are
    searched by its mixed optimizer (`optimize_acqf_mixed_alternating`), so that no suggestion has to be rounded.
    """
    import torch
    from botorch.utils.sampling import draw_sobol_samples

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    columns = _BotorchColumns(problem.space)
    d = len(problem.space)
    unit = torch.stack([torch.zeros(d), torch.ones(d)]).double()
    points = [problem.params(u) for u in draw_sobol_samples(unit, n=initial_size(d), q=1, seed=seed)[:, 0].numpy()]
    X, Y = [], []
    for step in range(STEPS):
        new = step >= len(points)
        params = columns.decode(_botorch_suggestion(columns, np.array(X), np.array(Y), seed)) if new else points[step]
        X.append(columns.encode(params))
        Y.append(evaluate(params))


METHODS: dict[str, Callable[[Problem, Evaluate, int], None]] = {
    "auto": calibo_method("auto"),
    "gp_ei": calibo_method("gp_ei"),
    "optuna_tpe": optuna_sampler("tpe"),
    "optuna_nsga2": optuna_sampler("nsga2"),
    "optuna_gp": optuna_sampler("gp"),
    "botorch_nehvi": botorch_nehvi,
}


def run(problem: str, method: str, seed: int) -> dict[str, Any]:
    """Run one search: hypervolume of the values without noise and points on the front after each milestone, CPU seconds."""
    warnings.simplefilter("ignore")
    where, rng = PROBLEMS[problem], np.random.default_rng([seed, 20])
    exact: list[Values] = []

    def evaluate(params: Mapping[str, Any]) -> Values:
        exact.append(where.objectives(params))
        noise = where.noise or (0.0,) * len(exact[-1])
        return tuple(y + s * float(rng.standard_normal()) for y, s in zip(exact[-1], noise, strict=True))

    start = time.process_time()
    METHODS[method](where, evaluate, seed)
    seconds = time.process_time() - start
    Y = np.array(exact)
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "volume": [round(where.volume(Y[:step]), 6) for step in MILESTONES],
        "front": [len(pareto_front(-Y[:step])) for step in MILESTONES],
        "cpu": round(seconds, 2),
    }


def largest(problem: Problem) -> float:
    """Return the hypervolume of a long search: random points, then steps from the front that become smaller."""
    rng = np.random.default_rng(0)
    U = rng.random((20_000, len(problem.space)))
    for step in 0.2 * 0.6 ** np.arange(12):
        Y = -np.array([problem.objectives(problem.params(u)) for u in U])
        front = pareto_front(Y)
        best = U[[bool((y == front).all(axis=1).any()) for y in Y]]
        start = best[rng.integers(len(best), size=4000)]
        moved = start + step * rng.standard_normal(start.shape) * (rng.random(start.shape) < 0.5)
        ends = rng.random(start.shape) < 0.02
        U = np.vstack([best, np.clip(np.where(ends, rng.choice([0.0, 1.0], start.shape), moved), 0.0, 1.0)])
    return problem.volume(-front)


def stored() -> list[dict[str, Any]]:
    """Return the runs that are done."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Return a table of medians, as shares of the largest hypervolume known, with the quartiles."""
    lines = [
        "| problem | method | seeds | after 30 | after 60 | front 30 | front 60 | CPU s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for problem, method in product(PROBLEMS, METHODS):
        some = [row for row in rows if (row["problem"], row["method"]) == (problem, method)]
        if not some:
            continue
        shares = np.array([row["volume"] for row in some]) / PROBLEMS[problem].largest
        low, middle, high = np.quantile(shares, [0.25, 0.5, 0.75], axis=0)
        volumes = [f"{m:.3f} ({a:.3f} to {b:.3f})" for m, a, b in zip(middle, low, high, strict=True)]
        fronts = np.median([row["front"] for row in some], axis=0)
        cells = [problem, f"`{method}`", str(len(some)), *volumes, *(f"{k:.0f}" for k in fronts)]
        lines.append("| " + " | ".join([*cells, f"{np.median([row['cpu'] for row in some]):.1f}"]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--problems", nargs="+", default=list(JUDGING), choices=list(PROBLEMS))
    parser.add_argument("--largest", action="store_true", help="print the hypervolume of a long search only")
    parser.add_argument("--table", action="store_true", help="print the table of the stored runs only")
    parser.add_argument("--page", action="store_true", help="write the table of the stored runs into the page only")
    arguments = parser.parse_args()
    if arguments.largest:
        for name in arguments.problems:
            print(name, largest(PROBLEMS[name]), flush=True)
        return
    if arguments.page:
        from benchmarks import page_tables

        page_tables.write(RESULTS.stem, RESULTS.stem, table(stored()))
        return
    done = stored()
    known = {(row["problem"], row["method"], row["seed"]) for row in done}
    all_runs = list(product(range(arguments.seeds), arguments.problems, arguments.methods))
    jobs = [(p, m, s) for s, p, m in all_runs if (p, m, s) not in known]
    for job in tqdm([] if arguments.table else jobs):
        row = run(*job)
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        done.append(row)
    print(table(done))


if __name__ == "__main__":
    main()
