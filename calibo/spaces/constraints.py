"""Linear constraints among parameters, as objects or as text: ``"2*a - b <= 3"``.

They are about the values a user sees, not about coordinates of the unit cube: on a log scale, ``a + b <= 1`` still means
the sum of the two values.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calibo.checks import is_text, read_items, read_mapping, shown
from calibo.errors import SpaceError

#: Relations that may be written, and what each is turned into when its two sides change places.
_RELATIONS = {ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "=="}
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, init=False)
class LinearConstraint:
    """A weighted sum of numeric parameters that is at most, at least or exactly a number.

        >>> from calibo import LinearConstraint
        >>> LinearConstraint({"a": 2, "b": -1}, "<=", 3)
        LinearConstraint('2*a - b <= 3')
        >>> LinearConstraint.parse("0.2 <= a + b <= 0.8")
        (LinearConstraint('a + b >= 0.2'), LinearConstraint('a + b <= 0.8'))

    Attributes:
        terms: Names of parameters with their coefficients, none of them 0.
        relation: "<=", ">=" or "==".
        bound: The number on the right-hand side.
    """

    terms: tuple[tuple[str, float], ...]
    relation: str
    bound: float
    #: As the user has written it; empty if it was not read from text.
    text: str = field(compare=False)

    def __init__(self, coefficients: Mapping[str, float], relation: str, bound: float) -> None:
        """Check and keep a constraint.

        Args:
            coefficients: Coefficient of each parameter, by name.
            relation: "<=", ">=" or "==".
            bound: The number on the right-hand side.

        Raises:
            SpaceError: If a number is not finite, a name is not a string, the relation is unknown, or no parameter is left.
        """
        given = read_mapping(coefficients)
        if given is None:
            raise SpaceError(
                f'a constraint takes coefficients by name, e.g. {{"a": 2, "b": -1}}, got {shown(coefficients)}'
            )
        if not is_text(relation) or relation not in _RELATIONS.values():
            raise SpaceError(f'the relation of a constraint is "<=", ">=" or "==", got {shown(relation)}')
        for name in given:
            if not is_text(name) or not name:
                raise SpaceError(f"a constraint names parameters by non-empty strings, got {shown(name)}")
        numbers = {name: _finite(f"coefficient of {name!r}", value) for name, value in given.items()}
        terms = tuple((name, value) for name, value in numbers.items() if value != 0.0)
        if not terms:
            raise SpaceError(f"a constraint needs a parameter with a coefficient other than 0, got {given}")
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "relation", relation)
        object.__setattr__(self, "bound", _finite("bound of a constraint", bound))
        object.__setattr__(self, "text", "")

    @classmethod
    def parse(cls, text: str) -> tuple[LinearConstraint, ...]:
        """Read constraints from text: one, or one for each relation of a chain such as ``0 <= a - b <= 1``.

        Parameters may stand on both sides, with numbers as factors and divisors, and parentheses. A name that is not a
        Python name is written in quotes: ``"'part A' + b <= 1"``; one with dots needs none.

        Raises:
            SpaceError: If the text is no linear constraint.
        """
        if not is_text(text):
            raise SpaceError(f'a constraint is text such as "a + b <= 1" or a LinearConstraint, got {shown(text)}')
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise SpaceError(f"constraint {text!r} cannot be read ({error.args[0]}){_hint(text)}") from None
        if isinstance(tree, ast.Tuple):
            raise SpaceError(
                f"constraint {text!r} has a comma: write numbers with a decimal point, and several constraints as a list"
            )
        if not isinstance(tree, ast.Compare):
            raise SpaceError(f'constraint {text!r} has no relation: write e.g. "a + b <= 1"')
        sides = [_linear(side, text) for side in (tree.left, *tree.comparators)]
        found: list[LinearConstraint] = []
        for relation, left, right in zip(tree.ops, sides[:-1], sides[1:], strict=True):
            if type(relation) not in _RELATIONS:
                raise SpaceError(f"constraint {text!r}: relations are <=, >= and ==; write <= for < and >= for >")
            terms = {name: left.get(name, 0.0) - right.get(name, 0.0) for name in {**left, **right} if name}
            bound, written = right.get("", 0.0) - left.get("", 0.0), _RELATIONS[type(relation)]
            # "0.2 <= a" reads more easily as "a >= 0.2".
            if not any(left.get(name) for name in terms) and written != "==":
                terms, bound = {name: -value for name, value in terms.items()}, -bound
                written = "<=" if written == ">=" else ">="
            try:
                found.append(cls(terms, written, bound + 0.0))
            except SpaceError as error:
                raise SpaceError(f"constraint {text!r}: {error}") from None
        if len(found) == 1:
            object.__setattr__(found[0], "text", text.strip())
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(name for name, _ in self.terms)

    @property
    def lower(self) -> float:
        """Smallest allowed sum; minus infinity if there is none."""
        return -math.inf if self.relation == "<=" else self.bound

    @property
    def upper(self) -> float:
        """Largest allowed sum; infinite if there is none."""
        return math.inf if self.relation == ">=" else self.bound

    def __str__(self) -> str:
        if self.text:
            return self.text
        text = ""
        for name, value in self.terms:
            sign = "-" if value < 0 else "+"
            shown = _written(name) if abs(value) == 1.0 else f"{_shown(abs(value))}*{_written(name)}"
            text += (f" {sign} " if text else "-" if value < 0 else "") + shown
        return f"{text} {self.relation} {_shown(self.bound)}"

    def __repr__(self) -> str:
        return f"LinearConstraint({str(self)!r})"


def as_constraints(given: Any) -> tuple[LinearConstraint, ...]:
    """Return constraints given as text, objects or a list of these.

    Raises:
        SpaceError: If one is neither, or cannot be read.
    """
    if isinstance(given, str | LinearConstraint):
        given = (given,)
    items = read_items(given)
    if items is None:
        raise SpaceError(f'constraints are a list of text such as ["a + b <= 1"], got {shown(given)}')
    found: list[LinearConstraint] = []
    for one in items:
        found += [one] if isinstance(one, LinearConstraint) else LinearConstraint.parse(one)
    return tuple(found)


def _hint(text: str) -> str:
    """Return what to write instead of something that is often written, but cannot be read."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text)
    if "≤" in bare or "≥" in bare or re.search(r"=[<>]", bare):
        return '; write "<=" and ">="'
    if re.search(r"(?<![<>=!])=(?!=)", bare):
        return '; write "==" for an equality'
    if "%" in bare:
        return "; write percentages as numbers in the unit of the parameters"
    if re.search(r"(?<![\w.])(\d+\.?\d*|\.\d+)\s*(?![eE][-+]?\d)[^\W\d]", bare):
        return '; write "*" between a number and a name, and quotes around names with spaces or signs'
    if re.search(r"[^\W\d]\w*\s+[^\W\d]", bare):
        return "; names with spaces or signs are written in quotes"
    return '; write it like "2*a + b <= 3"'


def _finite(what: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise SpaceError(f"the {what} must be a finite number, got {shown(value)}")
    return number


def _shown(value: float) -> str:
    """Return a number as it is read again, without the point of a whole one."""
    return repr(value).removesuffix(".0")


def _written(name: str) -> str:
    return name if all(part.isidentifier() for part in name.split(".")) else repr(name)


def _linear(node: ast.expr, text: str) -> dict[str, float]:
    """Return the coefficients of an expression, by name; the constant has the empty name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return {"": float(node.value)}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        return {node.value: 1.0}
    if isinstance(node, ast.Name):
        return {node.id: 1.0}
    if isinstance(node, ast.Attribute):
        return {ast.unparse(node): 1.0}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        return {name: sign * value for name, value in _linear(node.operand, text).items()}
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _combined(node, _linear(node.left, text), _linear(node.right, text), text)
    raise SpaceError(
        f"constraint {text!r}: {ast.unparse(node)!r} is not linear: write sums of parameters with numbers as factors, or "
        "give the condition as where=lambda p: ..."
    )


def _combined(node: ast.BinOp, left: dict[str, float], right: dict[str, float], text: str) -> dict[str, float]:
    apply = _OPERATIONS[type(node.op)]
    if isinstance(node.op, ast.Add | ast.Sub):
        return {name: apply(left.get(name, 0.0), right.get(name, 0.0)) for name in {**left, **right}}
    if isinstance(node.op, ast.Mult) and not any(left):
        left, right = right, left
    if any(right) or (isinstance(node.op, ast.Div) and right[""] == 0.0):
        raise SpaceError(
            f"constraint {text!r}: {ast.unparse(node)!r} is not linear: one factor, and any divisor, must be a number other "
            "than 0; give other conditions as where=lambda p: ..."
        )
    return {name: apply(value, right[""]) for name, value in left.items()}
