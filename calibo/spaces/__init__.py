"""Search spaces: what may be tried, encoded as points of the unit cube."""

from calibo.spaces.base import Part, Space
from calibo.spaces.cells import CellSpace, GraphCellSpace
from calibo.spaces.constraints import LinearConstraint
from calibo.spaces.contexts import Context, check_no_contexts, checked_context, held_values, moved_point
from calibo.spaces.encoding import one_hot
from calibo.spaces.mixture import Mixture
from calibo.spaces.parameters import Categorical, Float, Int, Ordinal, Parameter
from calibo.spaces.pool import PoolSpace
from calibo.spaces.product import ProductSpace, as_space
from calibo.spaces.region import Region
from calibo.spaces.spec import space_from_dict, space_from_toml, tables_of_toml

__all__ = [
    "Categorical",
    "CellSpace",
    "Context",
    "Float",
    "GraphCellSpace",
    "Int",
    "LinearConstraint",
    "Mixture",
    "Ordinal",
    "Parameter",
    "Part",
    "PoolSpace",
    "ProductSpace",
    "Region",
    "Space",
    "as_space",
    "check_no_contexts",
    "checked_context",
    "held_values",
    "moved_point",
    "one_hot",
    "space_from_dict",
    "space_from_toml",
    "tables_of_toml",
]
