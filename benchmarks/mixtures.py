"""Mixtures: are all suggestions feasible, what do designs and suggestions cost, and how large is the regret beside peers.

Run with ``python benchmarks/mixtures.py feasibility`` and ``python benchmarks/mixtures.py regret``; the latter goes on where
it was stopped. Ax has an environment of its own (``benchmarks/peers/requirements/ax.txt``), whose Python runs
``python benchmarks/mixtures.py regret --optimizer ax`` and ``... ax-seven``; calibo need not be installed there.
``python benchmarks/mixtures.py table`` prints what is stored, ``python -m benchmarks.mixtures page`` writes it into
``mixtures.md``, and ``... optima`` stores the optima, which regrets are relative to.

Ax has linear inequalities only: as its users do, the last component is left out and follows from the others.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
TRIALS, MILESTONES = 30, (15, 20, 30)
COMPONENTS = (3, 7, 10, 20, 50)
#: Suggestions of the comparison of CPU times, how many of the first, mostly the initial design, are not counted, and seeds.
_ASKS, _SKIPPED, _SEEDS = 18, 11, 6
Params = dict[str, float]


@dataclass(frozen=True)
class Blend:
    """A mixture whose response is minimized.

    Attributes:
        name: Its name.
        K: Number of components.
        high: Largest amount of each.
        response: Maps K amounts to a value.
        rows: Further constraints: coefficients and the largest sum.
    """

    name: str
    K: int
    high: float
    response: Callable[[np.ndarray], float]
    rows: tuple[tuple[tuple[float, ...], float], ...] = field(default=())

    @property
    def names(self) -> list[str]:
        return [f"x{i}" for i in range(self.K)]

    def __call__(self, params: Params) -> float:
        return self.response(np.array([params[name] for name in self.names]))

    def violation(self, params: Params) -> float:
        """Return by how much a mixture breaks the constraint that it breaks most."""
        x = np.array([params[name] for name in self.names])
        further = [float(np.dot(a, x)) - b for a, b in self.rows]
        return float(max(abs(x.sum() - 1.0), -x.min(), x.max() - self.high, *further, 0.0))

    def optimum(self) -> float:
        """Return the smallest response, by many local searches."""
        from scipy.optimize import minimize

        rng, best = np.random.default_rng(0), np.inf
        limits: list[dict[str, Any]] = [{"type": "eq", "fun": lambda x: x.sum() - 1.0}]
        limits += [{"type": "ineq", "fun": lambda x, a=a, b=b: b - np.dot(a, x)} for a, b in self.rows]
        for _ in range(60):
            start = rng.dirichlet(np.ones(self.K))
            found = minimize(
                self.response, start, bounds=[(0.0, self.high)] * self.K, constraints=limits, method="SLSQP"
            )
            x = dict(zip(self.names, found.x, strict=True))
            if self.violation(x) < 1e-6:
                best = min(best, float(found.fun))
        return best


def blends(K: int) -> list[Blend]:
    """Return three constrained problems of K components; their constants were drawn once."""
    rng = np.random.default_rng([K, 11])
    linear, pairs = rng.uniform(0.0, 2.0, K), np.triu(rng.normal(0.0, 4.0, (K, K)), 1)
    near, far = rng.dirichlet(np.ones(K)), rng.dirichlet(np.full(K, 0.5))

    def scheffe(x: np.ndarray) -> float:
        return float(linear @ x + x @ pairs @ x)

    def ripples(x: np.ndarray) -> float:
        z = x - near
        return float(10.0 * (z @ z) + 0.15 * (1.0 - np.cos(8.0 * np.pi * z)).sum())

    def saturating(x: np.ndarray) -> float:
        z = (x - far) * np.linspace(1.0, 3.0, K)
        return float(1.0 - np.exp(-3.0 * (z @ z)))

    top = [int(i) for i in np.argsort(-far)[:3]]
    together = tuple(1.0 if i in top[:2] else 0.0 for i in range(K))
    behind = tuple(1.0 if i == top[0] else -1.0 if i == top[2] else 0.0 for i in range(K))
    return [
        Blend("scheffe", K, 0.8, scheffe),
        Blend("ripples", K, 1.0, ripples),
        # The optimum without constraints is cut off by the first row.
        Blend("saturating", K, 1.0, saturating, ((together, 0.6 * (far[top[0]] + far[top[1]])), (behind, 0.05))),
    ]


def calibo_space(blend: Blend) -> Any:
    """Return a problem's space for calibo."""
    from calibo import LinearConstraint, Mixture, ProductSpace

    rows = [LinearConstraint(dict(zip(blend.names, a, strict=True)), "<=", b) for a, b in blend.rows]
    return ProductSpace({"blend": Mixture(dict.fromkeys(blend.names, (0.0, blend.high)))}, constraints=rows)


def by_calibo(blend: Blend, seed: int) -> Iterator[Params]:
    from calibo import Optimizer

    optimizer = Optimizer(calibo_space(blend), seed=seed)
    while True:
        suggestion = optimizer.ask()
        yield dict(suggestion.params)
        optimizer.tell(suggestion, blend(dict(suggestion.params)))


def at_random(blend: Blend, seed: int) -> Iterator[Params]:
    space = calibo_space(blend)
    yield from space.decode(space.sample(1000, np.random.default_rng(seed)))


def by_ax(blend: Blend, seed: int) -> Iterator[Params]:
    import logging

    import torch
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig
    from botorch.utils import sampling

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    sampling.sample_polytope = _walk
    logging.disable(logging.WARNING)
    free, last = blend.names[:-1], blend.names[-1]
    client = Client(random_seed=seed)
    client.configure_experiment(
        parameters=[RangeParameterConfig(name=n, parameter_type="float", bounds=(0.0, blend.high)) for n in free],
        parameter_constraints=_without_last(blend),
    )
    client.configure_optimization(objective="-value")
    while True:
        ((trial, found),) = client.get_next_trials(max_trials=1).items()
        params = {name: float(found[name]) for name in free}  # pyright: ignore[reportArgumentType]
        params[last] = 1.0 - sum(params.values())
        yield params
        client.complete_trial(trial_index=trial, raw_data={"value": blend(params)})


def _walk(A: Any, b: Any, x0: Any, n: int = 10000, n0: int = 100, n_thinning: int = 1, seed: int | None = None) -> Any:
    """Walk as BoTorch's ``sample_polytope`` does, by the same random numbers, in NumPy: half of Ax's time went there.

    Args:
        A: Coefficients of the inequalities A x <= b, m x d.
        b: Their bounds, m x 1 or m.
        x0: Where the walk begins, d x 1.
        n: Points to keep.
        n0: Steps before the first of them.
        n_thinning: Steps from one to the next.
        seed: Seed; ``None`` to draw one.
    """
    import torch
    from botorch.utils.sampling import manual_seed, sample_hypersphere

    kept = (A != 0).any(dim=-1)
    A, b = A[kept], b.reshape(-1, 1)[kept]
    steps = n0 + n * n_thinning
    seed = int(torch.randint(0, 1000000, (1,)).item()) if seed is None else seed
    with manual_seed(seed=seed):
        shares = torch.rand(steps, dtype=A.dtype).numpy()
    ways = sample_hypersphere(d=x0.shape[0], n=steps, dtype=A.dtype, seed=seed + 1).numpy()
    x, slack = x0.numpy().ravel().copy(), (b - A @ x0).numpy().ravel()
    slopes = ways @ A.numpy().T
    found = np.empty((n, len(x)))
    for i in range(steps):
        slope = slopes[i]
        ends = np.maximum(slack, 0.0) / slope
        high, low = ends[slope > 0.0].min(initial=np.inf), ends[slope < 0.0].max(initial=-np.inf)
        length = low + shares[i] * (high - low)
        x, slack = x + length * ways[i], slack - length * slope
        if i >= n0 and (i - n0) % n_thinning == 0:
            found[(i - n0) // n_thinning] = x
    return torch.from_numpy(found)


def _without_last(blend: Blend) -> list[str]:
    """Return the constraints with 1 - (sum of the others) in place of the last component."""
    free = blend.names[:-1]
    total = " + ".join(free)
    rows = [f"{total} <= 1"] + ([f"{total} >= {1.0 - blend.high}"] if blend.high < 1.0 else [])
    for a, b in blend.rows:
        terms = [(a[i] - a[-1], name) for i, name in enumerate(free) if a[i] != a[-1]]
        rows.append(" + ".join(f"{value}*{name}" for value, name in terms) + f" <= {b - a[-1]}")
    return rows


OPTIMIZERS = {"calibo": by_calibo, "random": at_random, "ax": by_ax}


def run(optimizer: str, blend: Blend, seed: int) -> dict[str, Any]:
    """One search: the best value after each milestone, the worst violation, and CPU seconds a trial."""
    warnings.simplefilter("ignore")
    values, worst, start = list[float](), 0.0, time.process_time()
    for params in OPTIMIZERS[optimizer](blend, seed):
        worst = max(worst, blend.violation(params))
        values.append(blend(params))
        if len(values) == TRIALS:
            break
    best = np.minimum.accumulate(values)
    return {
        "optimizer": optimizer,
        "problem": blend.name,
        "K": blend.K,
        "seed": seed,
        "best": {str(n): float(best[n - 1]) for n in MILESTONES},
        "violation": worst,
        "cpu": (time.process_time() - start) / TRIALS,
    }


def regret(optimizer: str, seeds: int) -> None:
    """Run all searches that are not stored yet, and store each when it ends."""
    path = RESULTS / "mixtures.jsonl"
    stored = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(r["optimizer"], r["problem"], r["K"], r["seed"]) for r in stored}
    for seed in range(seeds):
        for blend in [*blends(5), *blends(10)]:
            if (optimizer, blend.name, blend.K, seed) in done:
                continue
            record = run(optimizer, blend, seed)
            with path.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, flush=True)


def store_optima() -> None:
    """Store the smallest response of every problem, which the table subtracts."""
    found = {f"{blend.name} {blend.K}": blend.optimum() for blend in [*blends(5), *blends(10)]}
    (RESULTS / "mixtures_optima.json").write_text(json.dumps(found, indent=1) + "\n")


def ax_at_seven() -> None:
    """Store what Ax does with seven components, as far as it is not stored yet."""
    from itertools import islice

    path = RESULTS / "mixtures_ax_seven.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for low, high in ((0.0, 1.0), (0.05, 0.4), (0.1, 0.2)):
        if (case := f"amounts from {low} to {high}") in found:
            continue
        # The same mixture, shifted so that all amounts begin at 0.
        scaled = Blend("seven", 7, (high - low) / (1.0 - 7 * low), lambda x: float(((x - 1 / 7) ** 2).sum()))
        start = time.process_time()
        try:
            params = list(islice(by_ax(scaled, 0), 10))
            said = f"10 suggestions, worst violation {max(map(scaled.violation, params)):.1e}"
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:300]}"
        found[case] = {"outcome": said, "cpu": round(time.process_time() - start, 1)}
        print(found, flush=True)
        path.write_text(json.dumps(found, indent=1) + "\n")


def feasibility(components: Sequence[int]) -> None:
    """Measure designs and suggestions of mixtures, with and without further inequalities, beside an unconstrained space."""
    path = RESULTS / "mixtures_feasibility.json"
    rows = {(row["K"], row["kind"]): row for row in json.loads(path.read_text())} if path.exists() else {}
    for K in components:
        for kind in ("sum", "sum and inequalities", "at most 3"):
            rows[K, kind] = _measured(K, kind)
            path.write_text(json.dumps([rows[key] for key in sorted(rows)], indent=1) + "\n")


def _measured(K: int, kind: str) -> dict[str, Any]:
    from calibo import Float, LinearConstraint, Mixture, Optimizer, ProductSpace

    warnings.simplefilter("ignore")
    names = [f"x{i}" for i in range(K)]
    at_most = 3 if kind == "at most 3" and K > 3 else 2 if kind == "at most 3" else None
    high = 0.9 if at_most else min(0.9, 4.0 / K)
    rng = np.random.default_rng(K)
    rows = [rng.integers(1, 6, K) for _ in range(3)] if kind == "sum and inequalities" else []
    constraints = [LinearConstraint(dict(zip(names, map(float, a), strict=True)), "<=", float(a.mean())) for a in rows]
    start = time.process_time()
    space = ProductSpace({"m": Mixture(dict.fromkeys(names, (0.0, high)), at_most=at_most)}, constraints=constraints)
    made = time.process_time() - start
    space.sample(1, np.random.default_rng(1))  # what is kept for all later draws is measured as the first one
    first = time.process_time() - start - made
    start = time.process_time()
    drawn = space.sample(1000, np.random.default_rng(0))
    sampled = time.process_time() - start
    start = time.process_time()
    designed = space.spread(np.empty((0, K)), range(1000), seed=0)
    designs = time.process_time() - start

    def off(params: Params) -> float:
        x = np.array([params[n] for n in names])
        limits = [float(a @ x - a.mean()) for a in rows] + [float((x > 0).sum() - (at_most or K))]
        return max(abs(float(sum(params.values())) - 1.0), *limits, 0.0)

    worst = max(off(p) for p in space.decode(np.vstack([drawn, designed])))
    target = rng.dirichlet(np.ones(K))
    plain = ProductSpace({n: Float(0.0, high) for n in names})
    cpu = {"constrained": 0.0, "plain": 0.0}
    for seed, (which, one) in product(range(_SEEDS), (("constrained", space), ("plain", plain))):
        optimizer, asked = Optimizer(one, seed=seed), 0.0
        for t in range(_ASKS):
            start = time.process_time()
            suggestion = optimizer.ask()
            asked += time.process_time() - start if t >= _SKIPPED else 0.0
            x = np.array([suggestion.params[n] for n in names])
            worst = max(worst, off(dict(suggestion.params))) if one is space else worst
            optimizer.tell(suggestion, float(((x - target) ** 2).sum() + 0.1 * np.sin(9 * x).sum()))
        cpu[which] += asked / (_ASKS - _SKIPPED) / _SEEDS
    row = {
        "K": K,
        "kind": kind,
        "worst violation": worst,
        "ms to construct": round(1e3 * made, 1),
        "ms first draw": round(1e3 * first, 1),
        "ms per 1000 random": round(1e3 * sampled, 1),
        "ms per 1000 design": round(1e3 * designs, 1),
        "ms per ask": round(1e3 * cpu["constrained"], 1),
        "ms per ask, unconstrained": round(1e3 * cpu["plain"], 1),
        "ratio": round(cpu["constrained"] / cpu["plain"], 2),
    }
    print(row, flush=True)
    return row


def table() -> str:
    """Return a table of the stored regrets: medians over seeds after each milestone, and the worst after all trials."""
    records = [json.loads(line) for line in (RESULTS / "mixtures.jsonl").read_text().splitlines()]
    optima = json.loads((RESULTS / "mixtures_optima.json").read_text())
    lines = [
        "| problem | K | optimizer | seeds | after 15 | after 20 | after 30 | worst | violation | CPU s a trial |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for blend in [*blends(5), *blends(10)]:
        ours = [r for r in records if (r["problem"], r["K"]) == (blend.name, blend.K)]
        best = min(optima[f"{blend.name} {blend.K}"], *(r["best"][str(TRIALS)] for r in ours))
        for name in OPTIMIZERS:
            if own := [r for r in ours if r["optimizer"] == name]:
                lines.append(_row(blend, name, own, best))
    return "\n".join(lines)


def _row(blend: Blend, name: str, own: Sequence[dict[str, Any]], best: float) -> str:
    gaps = {n: [r["best"][str(n)] - best for r in own] for n in MILESTONES}
    cells = [blend.name, blend.K, name, len(own), *(f"{np.median(gaps[n]):.2g}" for n in MILESTONES)]
    cells += [f"{max(gaps[TRIALS]):.2g}", f"{max(r['violation'] for r in own):.0e}"]
    return "| " + " | ".join(map(str, [*cells, f"{np.mean([r['cpu'] for r in own]):.2f}"])) + " |"


def page() -> None:
    """Write the table of the stored regrets into the page."""
    from benchmarks import page_tables

    page_tables.write("mixtures", "mixtures", table())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["feasibility", "regret", "ax-seven", "optima", "table", "page"])
    parser.add_argument("--optimizer", choices=list(OPTIMIZERS), default="calibo")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--components", type=int, nargs="+", default=list(COMPONENTS))
    arguments = parser.parse_args()
    actions = {
        "feasibility": lambda: feasibility(arguments.components),
        "regret": lambda: regret(arguments.optimizer, arguments.seeds),
        "ax-seven": ax_at_seven,
        "optima": store_optima,
        "table": lambda: print(table()),
        "page": page,
    }
    actions[arguments.what]()


if __name__ == "__main__":
    main()
