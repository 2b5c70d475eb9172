"""What may be tried, and how it becomes points of the unit cube."""

from calibo.spaces.cell import CellSpace
from calibo.spaces.encoding import from_one_hot, one_hot
from calibo.spaces.graph_cell import GraphCellSpace
from calibo.spaces.parameters import Categorical, Float, Int, Ordinal, Parameter
from calibo.spaces.pool import PoolSpace
from calibo.spaces.product import HasFeatures, ProductSpace, Space, as_space, features_of
from calibo.spaces.spec import space_from_dict, space_from_toml

__all__ = [
    "Categorical",
    "CellSpace",
    "Float",
    "GraphCellSpace",
    "HasFeatures",
    "Int",
    "Ordinal",
    "Parameter",
    "PoolSpace",
    "ProductSpace",
    "Space",
    "as_space",
    "features_of",
    "from_one_hot",
    "one_hot",
    "space_from_dict",
    "space_from_toml",
]
