"""Ray Datasets as tables (needs the extra ``ray``): batches are processed by the workers, only results are gathered."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibo.errors import CaliboError, DataError
from calibo.tables.reading import Part, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RayTable(Table):
    """Rows of a ``ray.data.Dataset``.

    Rows have no global number, so the index of a ranking only counts its own rows; their number is not known, because
    counting may read all data.
    """

    dataset: Any

    @classmethod
    def open(cls, dataset: Any, batch: int) -> RayTable:
        """Open a dataset and check its schema."""
        if not hasattr(dataset, "map_batches"):
            raise DataError(f"expected a ray.data.Dataset, got a {type(dataset).__name__} of ray")
        columns = dataset.columns()
        if not columns:
            raise DataError(
                "the Ray Dataset has no columns or no rows; expected a target and columns that describe the rows"
            )
        return cls(tuple(columns), None, batch, dataset)

    def mapped(self, function: Callable[[pd.DataFrame], Part], *, text: frozenset[str]) -> Iterator[Part]:
        parts = self.dataset.map_batches(_pickled(function), batch_size=self.batch, batch_format="pandas")
        for row in parts.iter_rows():
            part = pickle.loads(row["part"])
            if isinstance(part, CaliboError):
                raise part
            yield part


def _pickled(function: Callable[[pd.DataFrame], Part]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Wrap a function so that it returns one row of pickled bytes; calibo's errors are returned, not raised inside Ray."""

    def on_batch(frame: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        try:
            part: Any = function(frame.reset_index(drop=True))
        except CaliboError as error:
            part = error
        return pd.DataFrame({"part": [pickle.dumps(part)]})

    return on_batch
