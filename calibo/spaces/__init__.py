"""Search spaces: what may be tried, encoded as points of the unit cube."""

from calibo.spaces.base import Part, Space
from calibo.spaces.cells import CellSpace, GraphCellSpace
from calibo.spaces.encoding import one_hot
from calibo.spaces.parameters import Categorical, Float, Int, Ordinal, Parameter
from calibo.spaces.pool import PoolSpace
from calibo.spaces.product import ProductSpace, as_space
from calibo.spaces.spec import space_from_dict, space_from_toml

__all__ = [
    "Categorical",
    "CellSpace",
    "Float",
    "GraphCellSpace",
    "Int",
    "Ordinal",
    "Parameter",
    "Part",
    "PoolSpace",
    "ProductSpace",
    "Space",
    "as_space",
    "one_hot",
    "space_from_dict",
    "space_from_toml",
]
