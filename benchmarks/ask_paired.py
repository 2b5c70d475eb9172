"""CPU time of one suggestion by two versions of calibo: ratios of medians, in turns, one process each, on one thread.

Run with ``python benchmarks/ask_paired.py OLD`` where ``OLD`` is another checkout of calibo, such as
``git worktree add /tmp/old COMMIT``. Two measurements are made of each method, problem and number n of results:

- *the same data*: both versions get the same n Sobol points with Gaussian forecasts and hyperparameters of their own last
  suggestion (warm), and suggest one more, several times; the quickest of these counts, and the median over data sets;
- *running searches*: each version runs searches of its own, and the median over the suggestions at about n results counts.

What a version suggested is compared, too: how many of the suggestions are the same to 1e-9.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("gp_ei", "ocbo", "locbo", "ocbo_local")
PROBLEMS = ("branin", "hartmann6")
SIZES = (50, 100)
#: Suggestions of a running search around n results whose median counts.
WINDOW = 7


def same_data(method: str, name: str, n: int, seed: int, repeats: int) -> dict[str, Any]:
    """Return the shortest CPU time of one suggestion from n Sobol points, and the suggestion."""
    from dataclasses import replace

    from scipy.stats import qmc

    from calibo.data import Dataset, Forecast
    from calibo.methods import strategy
    from calibo.models import GaussianProcess
    from calibo.optimize import propose
    from calibo.problems import problem
    from calibo.spaces import as_space

    task, made = problem(name), strategy(method)
    X = qmc.Sobol(task.dimension, rng=np.random.default_rng(seed)).random(n)
    data = Dataset(X=X, Y=-task(task.from_unit(X))[:, None])
    marginals = GaussianProcess().fit(data, rng=np.random.default_rng(0)).one_step_ahead().marginals()
    data = replace(data, forecasts=tuple((Forecast((marginal,) * 3),) for marginal in marginals))
    space = as_space(task.space())
    last = propose(data.rows(slice(0, n - 1)), space=space, strategy=made, seed=seed, number=n - 1)[0]
    data = replace(data, hyperparameters=last.hyperparameters)
    spent: list[float] = []
    found = last
    for _ in range(repeats):
        start = time.process_time()
        found = propose(data, space=space, strategy=made, seed=seed, number=n)[0]
        spent.append(time.process_time() - start)
    return {"seconds": min(spent), "x": found.x.tolist()}


def running(method: str, name: str, n: int, seed: int) -> dict[str, Any]:
    """Return the median CPU time of the suggestions of a search around n results, and the last suggestion."""
    from calibo.optimize import Optimizer
    from calibo.problems import problem

    task = problem(name)
    optimizer = Optimizer(task.space(), method, seed=seed)
    spent: list[float] = []
    x: list[float] = []
    for _ in range(n + WINDOW // 2):
        start = time.process_time()
        suggestion = optimizer.ask()
        spent.append(time.process_time() - start)
        x = suggestion.x.tolist()
        optimizer.tell(suggestion, float(task(np.array([list(suggestion.params.values())], dtype=np.float64))[0]))
    return {"seconds": float(np.median(spent[-WINDOW:])), "x": x}


def serve() -> None:
    """Answer requests, one JSON object a line, until the input ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        work = {"same data": same_data, "running searches": running}[request.pop("what")]
        print(json.dumps(work(**request)), flush=True)


@dataclass
class Version:
    """A process that runs one version of calibo."""

    process: subprocess.Popen[str]

    @classmethod
    def of(cls, checkout: Path) -> Version:
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment))

    def answer(self, **request: Any) -> dict[str, Any]:
        """Return the answer to one request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def compare(old: Version, new: Version, what: str, arguments: argparse.Namespace) -> None:
    """Print the ratios of one kind of measurement."""
    for method in arguments.methods:
        for name in arguments.problems:
            for n in arguments.sizes:
                request = {"what": what, "name": name, "n": n}
                asked = {id(old): arguments.old_method or method, id(new): method}
                if what == "same data":
                    request["repeats"] = arguments.repeats
                pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
                # The first round only warms up imports and caches.
                for seed in range(arguments.seeds + 1):
                    first, second = (old, new) if seed % 2 else (new, old)
                    answers = {id(v): v.answer(**request, method=asked[id(v)], seed=seed) for v in (first, second)}
                    pairs.append((answers[id(old)], answers[id(new)]))
                seconds = np.array([[a["seconds"], b["seconds"]] for a, b in pairs[1:]])
                same = sum(np.allclose(a["x"], b["x"], rtol=0.0, atol=1e-9) for a, b in pairs)
                before, after = np.median(seconds, axis=0)
                ratio = float(np.median(seconds[:, 1] / seconds[:, 0]))
                print(
                    f"{what}: {method:10s} {name:10s} n = {n:3d}: {1e3 * before:6.2f} -> {1e3 * after:6.2f} ms, "
                    f"ratio of medians {after / before:.3f}, median ratio {ratio:.3f}, same {same} of {len(pairs)}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?", help="another checkout of calibo")
    parser.add_argument("--new", type=Path, default=Path(__file__).parent.parent, help="by default this one")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--old-method", help="the method of the other checkout, if it is not the same")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=9, help="number of data sets, or of searches")
    parser.add_argument("--repeats", type=int, default=5, help="how often each suggestion from the same data is timed")
    parser.add_argument("--running", action="store_true", help="measure running searches instead of the same data")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    if arguments.old is None:
        parser.error("name the checkout to compare with")
    old, new = Version.of(arguments.old), Version.of(arguments.new)
    compare(old, new, "running searches" if arguments.running else "same data", arguments)


if __name__ == "__main__":
    main()
