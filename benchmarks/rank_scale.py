"""Rows per second and peak memory of ``calibo.rank`` on Parquet pools, against a plain NumPy pass that computes the GP mean.

Run with ``python benchmarks/rank_scale.py`` (needs the extra ``tables``); ``--sizes 100000`` takes fewer rows, and nothing
is written unless all three sizes ran. The pools have 12 features, uniform, and 100 measured rows; they are made in a
temporary folder and deleted. Each measurement is a process of its own, on one thread, so that its peak memory is its own.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (100_000, 1_000_000, 10_000_000)
FEATURES = 12
LABELS = 100
HERE = Path(__file__).parent


def outcome(X: np.ndarray) -> np.ndarray:
    """Something smooth with a few columns that matter, N x 12 -> N."""
    return np.sin(5.0 * X[:, 0]) + X[:, 1] * X[:, 2] - 2.0 * (X[:, 3] - 0.4) ** 2 + 0.3 * X[:, 4]


def make(path: Path, rows: int) -> None:
    """Write a pool of ``rows`` rows as a Parquet file, a million at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(rows)
    measured = np.sort(rng.choice(rows, LABELS, replace=False))
    names = [f"x{j}" for j in range(FEATURES)]
    schema = pa.schema([(name, pa.float64()) for name in (*names, "y")])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - start)
            X = rng.random((count, FEATURES))
            y = np.full(count, np.nan)
            here = measured[(measured >= start) & (measured < start + count)] - start
            y[here] = outcome(X[here]) + 0.05 * rng.standard_normal(len(here))
            columns = [pa.array(X[:, j]) for j in range(FEATURES)]
            writer.write_table(pa.table([*columns, pa.array(y, from_pandas=True)], schema=schema))


def ranked(path: Path, method: str) -> None:
    """Make the call that is measured."""
    import calibo

    calibo.rank(path, target="y", n=10, method=method, study=False, progress=False)


def plain(path: Path) -> None:
    """Do less with plain NumPy: the mean of a GP with given hyper-parameters, and the ten largest of it.

    One pass for the measured rows, one for the candidates; no ranges, no sample, no variance, no sets.
    """
    import pyarrow.parquet as pq
    from scipy.spatial.distance import cdist

    def batches() -> Iterator[Any]:
        return pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False).iter_batches(65_536)

    def correlation(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        r = np.sqrt(5.0) * cdist(A, B)
        return (1.0 + r + r * r / 3.0) * np.exp(-r)

    known = []
    for batch in batches():
        table = np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
        known.append(table[~np.isnan(table[:, -1])])
    data = np.vstack(known)
    X, y = data[:, :-1], data[:, -1]
    dual = np.linalg.solve(correlation(X, X) + 0.01 * np.eye(len(X)), y - y.mean())
    best: list[tuple[float, int]] = []
    start = 0
    for batch in batches():
        table = np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
        for i in range(0, len(table), 4096):
            chunk = table[i : i + 4096]
            mean = np.where(np.isnan(chunk[:, -1]), correlation(chunk[:, :-1], X) @ dual, -np.inf)
            top = np.argpartition(mean, -10)[-10:] if len(mean) > 10 else np.arange(len(mean))
            best = sorted([*best, *((float(mean[j]), start + i + int(j)) for j in top)])[-10:]
        start += len(table)


TASKS: dict[str, Callable[[Path], None]] = {
    "NumPy, GP mean alone": plain,
    "gp_ei": lambda path: ranked(path, "gp_ei"),
    "cbo": lambda path: ranked(path, "cbo"),
}


def child(task: str, path: Path) -> None:
    """Run one task and print its seconds, without those of the imports, and its peak memory."""
    warnings.simplefilter("ignore")
    if task == "make":
        make(path, int(path.stem))
        return
    for module in ("pandas", "pyarrow.parquet", "scipy.spatial.distance", "calibo.tables", "calibo.methods"):
        importlib.import_module(module)
    start, cpu = time.perf_counter(), time.process_time()
    TASKS[task](path)
    used = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    # Kilobytes on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(json.dumps(used | {"peak_mib": peak}))


def in_child(task: str, path: Path) -> str:
    """Return what a process that runs a task prints."""
    words = [sys.executable, __file__, "--child", task, str(path)]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def measure(sizes: list[int]) -> list[dict[str, object]]:
    """Every task on every size, each in a process of its own."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.parquet"
            # A process begins with the peak memory of the one it was forked from, so this one must stay small.
            in_child("make", path)
            for task in TASKS:
                found = json.loads(in_child(task, path).splitlines()[-1])
                row = {"rows": size, "task": task, **found, "rows_per_second": size / found["cpu"]}
                rows.append(row)
                print(row, flush=True)
            path.unlink()
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Return the measurements as a Markdown table."""
    lines = ["| rows | what | seconds (CPU) | rows per second | of NumPy's | peak MiB |", "|---|---|---|---|---|---|"]
    plain_speed = {row["rows"]: row["rows_per_second"] for row in rows if row["task"] == next(iter(TASKS))}
    for row in rows:
        share = float(row["rows_per_second"]) / float(plain_speed[row["rows"]])  # pyright: ignore
        lines.append(
            f"| {row['rows']:,} | {row['task']} | {row['cpu']:.1f} | {row['rows_per_second']:,.0f} | {share:.2f} | "
            f"{row['peak_mib']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--child", nargs=2, metavar=("TASK", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
        return
    rows = measure(arguments.sizes)
    print(table(rows))
    if set(SIZES) <= set(arguments.sizes):
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "rank_scale.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
