"""What may be tried, and how it becomes points of the unit cube."""

from calibo.space.cell import CellSpace
from calibo.space.encoding import from_one_hot, one_hot
from calibo.space.graph_cell import GraphCellSpace
from calibo.space.parameters import Categorical, Float, Int, Ordinal, Parameter
from calibo.space.pool import PoolSpace
from calibo.space.product import HasFeatures, ProductSpace, Space, as_space, features_of
from calibo.space.spec import space_from_dict, space_from_toml

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
