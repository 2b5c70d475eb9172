"""A Ray Dataset gives the answer that the same table in memory gives; on a local Ray."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import ray
import ray.data

from calibo.errors import DataError, ValueRejected
from calibo.tables.rank import rank
from calibo.tables.ray_tables import RayTable

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    """Ray with one worker in this machine, and nothing on the screen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray.data
        ray.shutdown()


def quick(table: Any, **settings: Any) -> pd.DataFrame:
    return rank(table, **({"target": "yield", "n": 4, "method": "gp_ei", "progress": False} | settings))


@pytest.mark.slow  # half a minute, most of it for Ray to start
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_the_same_answer_as_in_memory(local: Any, candidates: Callable[..., pd.DataFrame]) -> None:
    frame = candidates(rows=300)
    dataset = local.from_pandas([frame[:100], frame[100:]])
    answer, whole = quick(dataset, batch_size=64), quick(frame)
    columns = [name for name in whole if name != "reason"]
    pd.testing.assert_frame_equal(
        answer[columns].reset_index(drop=True), whole[columns].reset_index(drop=True), check_dtype=False, rtol=1e-6
    )
    # An error on a worker has the message that it would have here.
    bad = frame.astype({"yield": object})
    bad.loc[5, "yield"] = "failed"
    with pytest.raises(ValueRejected, match="expected a number, or an empty cell"):
        quick(local.from_pandas(bad.astype({"yield": str}).replace("nan", None)))


def test_what_is_no_dataset() -> None:
    with pytest.raises(DataError, match="expected a ray.data.Dataset"):
        RayTable.open(np.zeros(3), 64)
