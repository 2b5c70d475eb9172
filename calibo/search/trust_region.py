"""Search within a plan's trust region, with whatever search is used inside it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import SearchWrapper
from calibo.search.plan import Box, Plan
from calibo.spaces import Space
from calibo.spaces.base import Part


@dataclass(frozen=True)
class TrustRegion(SearchWrapper):
    """Restricts a search to the region of the plan, if it has one.

    The search is given a space of its own, the box stretched to the unit cube: its steps, its draws and its points near
    anchors are then as fine as the box is small. Finite numeric columns keep the values that lie in the box (at least
    the centre's), categorical ones keep all. A box in which too few points are left to try is doubled until it has enough.

    In more than 20 columns a random point of the box differs from its centre in each column with probability 20 / d
    only, and in one at least (Eriksson et al. 2019, their section on candidates).

    Attributes:
        search: The search used inside the region.
    """

    def explore(self, plan: Plan, space: Space, *, rng: np.random.Generator) -> Plan:
        if plan.region is None or plan.learn is None:
            return self.search.explore(plan, space, rng=rng)
        part = _part(plan, plan.region, space, 1)
        explored = self.search.explore(_LocalPlan.of(plan, part), part.space, rng=rng)
        if not isinstance(explored, _LocalPlan):
            raise RecipeError(
                f"explore of a search must return the plan it was given, changed by dataclasses.replace(plan, ...) or "
                f"plan.learned(...), got a new {type(explored).__name__} from {self.search!r}"
            )
        return replace(explored.whole, anchors=space.repair(part.outward(explored.anchors)))

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        if plan.region is None:
            return self.search.maximize(plan, space, q, rng=rng)
        part = _part(plan, plan.region, space, q)
        found = self.search.maximize(_LocalPlan.of(plan, part), part.space, q, rng=rng)
        return space.repair(part.outward(found))


@dataclass(frozen=True, eq=False)
class _LocalPlan(Plan):
    """A plan in the coordinates of a part of the space.

    Attributes:
        whole: The same plan in the coordinates of the whole space.
    """

    whole: Plan = field(kw_only=True)

    @classmethod
    def of(cls, whole: Plan, part: Part) -> _LocalPlan:
        """Express a plan in the coordinates of a part, with the centre of its region as the first anchor."""
        assert whole.region is not None
        same: dict[str, Any] = {one.name: getattr(whole, one.name) for one in fields(Plan)}
        local = same | {
            "acquisition": lambda X: whole.acquisition(part.outward(X)),
            "anchors": part.inward(np.vstack([whole.region.centre, whole.anchors])),
            "avoid": part.inward(whole.avoid),
            "region": None,
        }
        if whole.learn is not None:
            local["learn"] = lambda plan, X, rng: cls.of(plan.whole.learned(part.outward(X), rng=rng), part)
        return cls(**local, whole=whole)


def _part(plan: Plan, box: Box, space: Space, q: int) -> Part:
    """Return the part of the space in the box, doubled until ``q`` points are left to try."""
    part = space.within(box.lower, box.upper, centre=box.centre)
    while not part.is_everything and part.remaining(plan.avoid) < q:
        box = box.doubled()
        part = space.within(box.lower, box.upper, centre=box.centre)
    return part
