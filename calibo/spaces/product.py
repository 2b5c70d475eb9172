"""Products of parameters, and the conversion of what a user gives to a space."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.checks import check_name, read_items, read_mapping, shown
from calibo.data import Activity, Array, Params
from calibo.errors import SpaceError
from calibo.spaces.base import (
    COUNTED,
    Part,
    Space,
    changed_in,
    column_ends,
    combinations,
    perturbed,
    stretched,
    wrong_names,
)
from calibo.spaces.conditional import Conditions, pinned
from calibo.spaces.constraints import LinearConstraint, as_constraints
from calibo.spaces.contexts import Context
from calibo.spaces.descriptors import spread_out
from calibo.spaces.encoding import as_points, described_features
from calibo.spaces.feasibility import check_feasible, check_predicate
from calibo.spaces.feasible import FeasibleSet
from calibo.spaces.foreign import as_parameter, parameters_of
from calibo.spaces.mixture import Mixture
from calibo.spaces.parameters import NO_DEFAULT, Categorical, Float, Int, Ordinal, Parameter, rounded_columns
from calibo.spaces.pool import PoolSpace, is_frame
from calibo.spaces.predicates import Predicate, Where, name_of
from calibo.spaces.region import Region
from calibo.spaces.spreading import spread_points

#: A continuous column of a part narrower than this, on the unit cube, has one value.
_NARROWEST = 1e-9

#: Conditional spaces of up to so many combinations are counted exactly.
_COUNTED = 10_000


@dataclass(frozen=True)
class ProductSpace(Space):
    """Every combination of the values of some parameters; one column for each, in the order given.

        >>> from calibo.spaces import Float, Int, ProductSpace
        >>> space = ProductSpace({"lr": Float(0.0, 0.1), "layers": Int(1, 4)})
        >>> space
        ProductSpace({'lr': Float(0.0, 0.1), 'layers': Int(1, 4)})
        >>> space.decode([[0.5, 0.9]])
        [{'lr': 0.05, 'layers': 4}]

    Parameters may also be given as other packages write them, see ``calibo.spaces.foreign``.

    A parameter may be active only with some values of others, and is left out else:

        >>> from calibo.spaces import Categorical
        >>> space = ProductSpace({"model": Categorical(["svm", "knn"]), "C": Float(0.0, 8.0, when={"model": "svm"})})
        >>> space.decode([[0.2, 0.5], [0.8, 0.5]])
        [{'model': 'svm', 'C': 4.0}, {'model': 'knn'}]

    Attributes:
        parameters: The parameters by name, the components of mixtures among them; those given as ``Context(...)`` are
            observed, not chosen, and kept without it.
        constraints: Linear constraints on numeric parameters: text such as "a + b <= 1", or ``LinearConstraint``. Every
            point that is drawn, repaired or suggested meets them. One on parameters that are not always active counts
            where all of them are, and must be an inequality.
        where: Any other condition: a function of the parameters, by name, that returns whether they may be tried. It sees
            the active parameters only.
        conditions: Which parameters are active; ``None`` if all always are.

    Raises:
        SpaceError: If the constraints leave nothing or hardly anything; it names those in conflict.
    """

    # Compared by their items, since for a dict, unlike for a point, the order does not count.
    parameters: Mapping[str, Any] = field(compare=False)
    constraints: Sequence[str | LinearConstraint] = field(default=(), kw_only=True)
    where: Where | None = field(default=None, kw_only=True)
    _items: tuple[tuple[str, Parameter], ...] = field(init=False, repr=False)
    #: Mixtures by the name under which they were given.
    mixtures: tuple[tuple[str, Mixture], ...] = field(init=False, repr=False)
    _contexts: tuple[str, ...] = field(init=False, repr=False)
    _feasible: FeasibleSet | None = field(init=False, repr=False, compare=False)
    conditions: Conditions | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parameters = read_mapping(parameters_of(self.parameters))
        if parameters is None:
            raise SpaceError(f"a space is a mapping of names to parameters, got {type(self.parameters).__name__}")
        if not parameters:
            raise SpaceError('a space needs at least one parameter, got none; write e.g. {"x": Float(0, 1)}')
        parameters, mixtures, contexts = _flattened(parameters)
        if len(contexts) == len(parameters):
            raise SpaceError(
                f"all of {list(parameters)} are contexts, so that nothing is left to choose: add a parameter"
            )
        constraints = as_constraints(self.constraints)
        if self.where is not None and not callable(self.where):
            raise SpaceError(
                f"where must be a function of the parameters, e.g. lambda p: p['a'] > 1, got {shown(self.where)}"
            )
        set_ = object.__setattr__
        set_(self, "parameters", parameters)
        set_(self, "_items", tuple(parameters.items()))
        set_(self, "_contexts", contexts)
        set_(self, "mixtures", mixtures)
        set_(self, "constraints", constraints)
        set_(self, "conditions", Conditions.of(parameters))
        if depending := [name for name in contexts if parameters[name].when is not None]:
            raise SpaceError(
                f"context {depending[0]!r}: a context is observed before anything is chosen and takes no when="
            )
        set_(self, "_feasible", self._checked(constraints))

    def _checked(self, constraints: tuple[LinearConstraint, ...]) -> FeasibleSet | None:
        """Return what the constraints leave, after checking that it is something; ``None`` if there are none."""
        feasible = self._left_by(constraints)
        if feasible is not None:
            check_feasible(feasible)
            for together in self._active_together(constraints):
                check_feasible(replace(feasible, constraints=(*feasible.constraints, *together), where=None))
            check_predicate(feasible)
        return feasible

    def _left_by(self, constraints: tuple[LinearConstraint, ...]) -> FeasibleSet | None:
        sums = tuple(mixture.sum for _, mixture in self.mixtures)
        supports = tuple(mixture.support for _, mixture in self.mixtures if mixture.support is not None)
        if not (sums or constraints or self.where):
            return None
        conditional = tuple(one for one in constraints if self._depends(one))
        for one in (*sums, *conditional):
            if self._depends(one) and one.relation == "==":
                raise SpaceError(
                    f"constraint {str(one)!r} names {self._depends(one)!r}, which is active only with some values of other "
                    "parameters: such constraints may be inequalities (<=, >=) only; leave out the parameter that follows "
                    "from the others, or use parameters that are always active"
                )
        always = (*sums, *(one for one in constraints if one not in conditional))
        where = Predicate(conditional, self.where) if conditional or self.where is not None else None
        return FeasibleSet(self.names, self.columns, self.decode, always, supports, where, activity=self.conditions)

    def _depends(self, constraint: LinearConstraint) -> str | None:
        """Return the first parameter of a constraint that is not always active; ``None`` if all are, or one is unknown."""
        if self.conditions is None or not set(constraint.names) <= set(self.names):
            return None
        return next((n for n in constraint.names if self.conditions.parents_of(self.names.index(n))), None)

    def _active_together(self, constraints: tuple[LinearConstraint, ...]) -> list[tuple[LinearConstraint, ...]]:
        """Return the constraints on parameters that are not always active, those together that count at the same points."""
        groups = dict[frozenset[Any], list[LinearConstraint]]()
        for one in constraints:
            if self.conditions is not None and self._depends(one):
                rules = frozenset(self.conditions.rules[self.names.index(name)] for name in one.names)
                groups.setdefault(rules - {()}, []).append(one)
        return [tuple(group) for group in groups.values()]

    def __repr__(self) -> str:
        components = {name for _, mixture in self.mixtures for name in mixture.components}
        given: dict[str, Any] = {**dict(self.mixtures), **self._given(set(self.names) - components)}
        further = f", constraints={[str(one) for one in self.constraints]}" if self.constraints else ""
        further += "" if self.where is None else f", where={name_of(self.where)}"
        return f"ProductSpace({given}{further})"

    def _given(self, names: Collection[str]) -> dict[str, Parameter | Context]:
        """Return some of the parameters as they were given: those observed inside ``Context``."""
        own = {name: self.parameters[name] for name in self.names if name in names}
        return {name: Context(p) if name in self.contexts else p for name, p in own.items()}

    @property
    def contexts(self) -> tuple[str, ...]:
        return self._contexts

    @property
    def totals(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        return tuple((tuple(mixture.components), mixture.total) for _, mixture in self.mixtures)

    @cached_property
    def descriptors(self) -> tuple[Array | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        described = (column.descriptors if isinstance(column, Categorical) else None for column in self.columns)
        return tuple(None if rows is None else spread_out(rows) for rows in described)

    @property
    def features(self) -> Callable[[Array], Array] | None:
        """Indicators of choices, with their descriptors after them; ``None`` if no choice has descriptors."""
        if all(rows is None for rows in self.descriptors):
            return None
        return partial(described_features, categories=self.categories, descriptors=self.descriptors)

    @cached_property
    def names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return tuple(name for name, _ in self._items)

    @cached_property
    def columns(self) -> tuple[Parameter, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return tuple(parameter for _, parameter in self._items)

    @property
    def activity(self) -> Activity | None:
        return self.conditions

    @cached_property
    def size(self) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        """Number of points; an upper bound for very many points with conditional parameters; ``None`` if infinite."""
        counts = [column.cells for column in self.columns]
        if None in counts:
            return None
        product = math.prod(count for count in counts if count is not None)
        if self.conditions is None or product > _COUNTED:
            return product
        return len(self._distinct(combinations(self.columns)))

    def enumerate(self) -> Array | None:
        every = super().enumerate()
        return every if every is None or self.conditions is None else self._distinct(every)

    def _distinct(self, X: Array) -> Array:
        """Return the different points among all combinations of values, n x d, of a conditional space."""
        assert self.conditions is not None
        return np.unique(self.conditions.settled(X), axis=0)

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return self.from_values(params)

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        return self.values(X)

    @property
    def constrained(self) -> bool:
        return self._feasible is not None or type(self).valid is not ProductSpace.valid

    def valid(self, X: Array) -> np.ndarray:
        return super().valid(X) if self._feasible is None else self._feasible.valid(X)

    def broken(self, x: Array) -> tuple[str, ...]:
        return super().broken(x) if self._feasible is None else self._feasible.broken(x)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return super().sample(n, rng) if self._feasible is None else self._settled(self._feasible.sample(n, rng))

    def spread(self, U: Array, numbers: range, *, seed: int) -> Array:
        if self._feasible is None:
            return super().spread(U, numbers, seed=seed)
        return spread_points(numbers, self.sample, self.categories, seed=seed, known=self._feasible.designs)

    def repair(self, U: npt.ArrayLike) -> Array:
        if self._feasible is None:
            return super().repair(U)
        return self._settled(self._feasible.repair(self._round(np.clip(as_points(U, self.dimension), 0.0, 1.0))))

    def neighbours(self, x: Array) -> Array:
        if self._feasible is None:
            return super().neighbours(x)
        used = set(self._feasible.used.tolist()) | set(self._feasible.held)
        others = changed_in(x, [(j, column) for j, column in enumerate(self.columns) if j not in used])
        if len(others):
            others = self._round(others)
            others = others[self.valid(others) & (others != x).any(axis=1)]
        return self._settled(np.vstack([others, self._feasible.neighbours(x)]))

    @property
    def curved(self) -> bool:
        return self._feasible is not None and self._feasible.where is not None

    @property
    def has_neighbours(self) -> bool:
        return super().has_neighbours or (self._feasible is not None and bool(self._feasible.supports))

    def admitted(self, X: Array) -> Array:
        if self._feasible is None:
            return super().admitted(X)
        # Edits of one column break every equality, so that they are repaired; a predicate is a condition like any other.
        settled = self._settled(self._feasible.settled(self._round(X)))
        return settled[self._feasible.met(settled)]

    def region(self, X: Array, columns: np.ndarray) -> Region:
        return super().region(X, columns) if self._feasible is None else self._feasible.region(X, columns)

    def holding(self, values: Mapping[str, Any]) -> Space:
        """Return the space with some parameters held at values: the same columns and coordinates, and the same constraints.

        Raises:
            SpaceError: If a name is unknown, a value is not one of its parameter's, or nothing else is left then.
        """
        if self._feasible is None and self.conditions is None:
            return super().holding(values)
        if unknown := [name for name in values if name not in self.names]:
            raise SpaceError(f"cannot hold {unknown}: the parameters are {list(self.names)}")
        held: dict[int, float] = {}
        for name, value in values.items():
            try:
                held[self.names.index(name)] = self.parameters[name].encode(value)
            except SpaceError as error:
                raise SpaceError(f"cannot hold {name!r}: {error}") from None
        if self.conditions is not None:
            self._check_held_active(held)
        if self._feasible is None:
            return pinned(self, held)
        feasible = self._feasible.holding(held)
        check_feasible(feasible, held=values)
        check_predicate(feasible)
        space = copy(self)
        object.__setattr__(space, "_feasible", feasible)
        return space

    def _check_held_active(self, held: Mapping[int, float]) -> None:
        """Check that held parameters are active whatever the others are."""
        assert self.conditions is not None
        x = self.conditions.rest.copy()
        x[list(held)] = list(held.values())
        active = self.conditions(x[None, :])[0]
        for j in held:
            parents = self.conditions.parents_of(j)
            if not active[j] or not parents <= held.keys():
                needed = ", ".join(repr(self.names[p]) for p in sorted(parents))
                raise SpaceError(
                    f"{self.names[j]!r} is active only with some values of {needed}: hold {needed} at such a value as well"
                )

    def _settled(self, X: Array) -> Array:
        """Return points, n x d, with inactive columns at their one coordinate."""
        return X if self.conditions is None else self.conditions.settled(X)

    def subspace(self, names: Collection[str]) -> Space:
        if type(self) is not ProductSpace or self._feasible is not None:
            return super().subspace(names)
        kept = {name: self.parameters[name] for name in self.names if name in names}
        if self.conditions is not None:
            needed = {self.names[p] for name in kept for p in self.conditions.parents_of(self.names.index(name))}
            if missing := sorted(needed - kept.keys()):
                raise SpaceError(
                    f"{missing} decide which of {sorted(kept)} are active and cannot be left out: leave them free as well"
                )
        return ProductSpace(self._given(names))

    def within(self, lower: Array, upper: Array, *, centre: Array) -> Part:
        """Return the part of the space within a box, stretched to the unit cube, so that steps are as fine as it is small.

        Finite numeric columns keep the values that lie in the box, categorical ones all. See ``Space.within``.
        """
        # Constraints are those of the whole space, and which columns are active follows from its coordinates.
        if type(self) is not ProductSpace or self.conditions is not None:
            return super().within(lower, upper, centre=centre)
        feasible = self._feasible
        if feasible is not None:
            # The centre may be a measured point that breaks constraints; the part must have a feasible one.
            centre = self.repair(centre[None, :])[0]
            lower, upper = np.minimum(lower, centre), np.maximum(upper, centre)
        restricted = _restricted if feasible is None else restricted_values
        local = [restricted(c, *ends) for c, *ends in zip(self.columns, lower, upper, strict=True)]
        columns = [column for column, *_ in local]
        low, high, start, width = np.array([numbers for _, *numbers in local]).T
        middle = stretched(self.repair(centre[None, :]), start, width)[0]
        # Column by column the local space has as many values as there are cells in the box.
        same_values = all(a.cells == b.cells for a, b in zip(columns, self.columns, strict=True))
        continuous = np.array([column.cells is None for column in self.columns])
        whole = same_values and bool((width[continuous] >= 1.0).all())
        named = {name: columns[j] for j, name in enumerate(self.names)}
        if feasible is None:
            inside: ProductSpace = _Stretched(named, centre=tuple(middle))
        else:
            held = {j: float(stretched(np.full(len(low), u), start, width)[j]) for j, u in feasible.held.items()}
            inside = _Restricted(named, of=feasible, held=tuple(held.items()))
        return Part(inside, low, high, start, width, is_everything=whole)

    def _round(self, U: Array) -> Array:
        rounded = rounded_columns(self.columns, U)
        return rounded if self.conditions is None else self.conditions.settled(rounded)

    def _from_values(self, i: int, point: Mapping[str, Any]) -> list[float]:
        if self.conditions is None:
            return super()._from_values(i, point)
        if wrong := wrong_names(point, self.names, ()):
            raise SpaceError(f"parameters {i}: {wrong}; there are {list(self.names)}")
        try:
            return self.conditions.encode(point)
        except SpaceError as error:
            raise SpaceError(f"parameters {i}: {error}") from None


@dataclass(frozen=True)
class _Stretched(ProductSpace):
    """A box of a product stretched to the unit cube, whose random points leave most of many columns at the centre."""

    centre: tuple[float, ...] = field(kw_only=True)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return perturbed(super().sample(n, rng), np.array(self.centre), rng)


@dataclass(frozen=True)
class _Restricted(ProductSpace):
    """A box of a constrained product stretched to the unit cube, with the same constraints on the same values."""

    of: FeasibleSet = field(kw_only=True, compare=False)
    held: tuple[tuple[int, float], ...] = field(kw_only=True)

    def _checked(self, constraints: tuple[LinearConstraint, ...]) -> FeasibleSet:
        # It has a feasible point, the centre of its box, and needs no check.
        return replace(self.of, columns=self.columns, decode=self.decode, held=dict(self.held))

    @cached_property
    def size(self) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        count = super().size
        if count is None or count > COUNTED:
            return count
        every = ProductSpace(self.parameters).enumerate()
        return None if every is None else int(self.valid(every).sum())


def _flattened(
    given: Mapping[str, Any],
) -> tuple[dict[str, Parameter], tuple[tuple[str, Mixture], ...], tuple[str, ...]]:
    """Return the parameters by name, those of mixtures among them, the mixtures, and the names of those observed."""
    parameters, mixtures, contexts = dict[str, Parameter](), list[tuple[str, Mixture]](), list[str]()
    for name, one in given.items():
        check_name("the name of a parameter", name, SpaceError)
        parameter, observed = Context.unwrapped(one)
        more = parameter.parameters if isinstance(parameter, Mixture) else {name: as_parameter(name, parameter)}
        if isinstance(parameter, Mixture):
            mixtures.append((name, parameter))
        if observed:
            contexts += more
        if twice := [one for one in more if one in parameters]:
            places = [f"mixture {name!r}" for name, mixture in mixtures if twice[0] in mixture.parameters]
            where = " and ".join(places if len(places) > 1 else [*places, "beside it"])
            raise SpaceError(f"{twice[0]!r} is given twice, in the {where}: name every amount once")
        parameters |= more
    return parameters, tuple(mixtures), tuple(contexts)


def restricted_values(column: Parameter, lower: float, upper: float) -> tuple[Parameter, float, float, float, float]:
    """Return the part of a column between two coordinates with its own values, as ``_restricted`` does without them."""
    low, high = column_ends(column, lower, upper)
    if column.categories:
        return column, 0.0, 1.0, 0.0, 1.0
    if isinstance(column, Float) and column.step is None:
        ends = column.decode(low), column.decode(high)
        if ends[0] < ends[1] and high - low > _NARROWEST:
            return Float(*ends, log=column.log), low, high, low, high - low
        return Ordinal([ends[0]]), low, low, low, 0.0
    first, last = (int(cell) for cell in column.cell(np.array([low, high])))
    choices = [column.decode(float(column.position(first))), column.decode(float(column.position(last)))]
    if first == last:
        return Ordinal(choices[:1]), low, high, low, 0.0
    if isinstance(column, Float | Int):
        local: Parameter = replace(column, low=choices[0], high=choices[1], default=NO_DEFAULT)
    else:
        local = Ordinal([column.decode(float(column.position(cell))) for cell in range(first, last + 1)])
    own_low, own_high = (float(u) for u in local.position(np.array([0, last - first])))
    width = (high - low) / (own_high - own_low)
    return local, low, high, low - own_low * width, width


def _restricted(column: Parameter, lower: float, upper: float) -> tuple[Parameter, float, float, float, float]:
    """Return the part of a column between two coordinates: as a column, and its lower and upper end, start and width."""
    if column.categories:
        return column, 0.0, 1.0, 0.0, 1.0
    low, high = column_ends(column, lower, upper)
    if column.cells is None:
        return Float(0.0, 1.0), low, high, low, high - low
    first, last = (int(cell) for cell in column.cell(np.array([low, high])))
    if first == last:
        return Categorical(["only"]), low, high, low, 0.0
    local: Parameter = Int(0, last - first)
    if isinstance(column, Int) and column.log:
        # Its values stand unevenly; the same values on a log scale of their own stand alike, up to an affine map.
        local = Int(column.decode(low), column.decode(high), log=True, step=column.step)
    own_low, own_high = (float(u) for u in local.position(np.array([0, last - first])))
    width = (high - low) / (own_high - own_low)
    return local, low, high, low - own_low * width, width


def as_space(obj: Any) -> Space:
    """Convert to a space.

    Args:
        obj: A space (returned as it is), a mapping of names to parameters, a mixture, or a table of rows to choose
            from: a pandas DataFrame or a list of dicts.

    Raises:
        SpaceError: If it is none of these.
    """
    if isinstance(obj, Space):
        return obj
    if isinstance(obj, Mixture):
        return ProductSpace({"mixture": obj})
    foreign = parameters_of(obj)
    if foreign is not None:
        return ProductSpace(foreign)
    rows = read_items(obj) if isinstance(obj, list | tuple) else None
    if is_frame(obj) or (rows is not None and all(isinstance(row, Mapping) for row in rows)):
        return PoolSpace(obj)
    if isinstance(obj, type) and issubclass(obj, Space):
        raise SpaceError(f"a space must be an object, got the class {obj.__name__}; write {obj.__name__}(...)")
    raise SpaceError(
        "a space must be a Space, a mapping of names to parameters, a DataFrame or a list of dicts, "
        f"got {type(obj).__name__}; read a TOML file with space_from_toml, and inherit from calibo.spaces.Space for "
        "a space of your own"
    )
