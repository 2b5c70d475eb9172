"""The architecture: imports go one way, optional and heavy packages are imported where and when they are needed."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import calibo

PACKAGE = Path(calibo.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

_CORE = {
    "arguments",
    "data",
    "digits",
    "errors",
    "files",
    "formulas",
    "pareto",
    "checks",
    "progress",
    "scalarization",
    "secrets",
    "threads",
}
_BELIEFS = _CORE | {"spaces", "distributions"}
_MODELS = _BELIEFS | {"models"}
_CALIBRATED = _MODELS | {"calibration"}
_ACQUIRING = _CALIBRATED | {"acquisition"}
_OPTIMIZING = _ACQUIRING | {"search", "classifiers", "diagnostics", "trials", "optimize"}
_STUDYING = _OPTIMIZING | {"study", "methods", "report", "citation"}
#: What each package may import besides itself (docs/architecture.md); a module of calibo/ itself counts as a package.
ALLOWED: dict[str, set[str]] = {
    "arguments": {"checks", "errors"},
    "checks": {"errors"},
    "data": {"digits", "errors"},
    "digits": set(),
    "errors": set(),
    "files": set(),
    "formulas": set(),
    "progress": set(),
    "secrets": set(),
    "threads": set(),
    "pareto": {"data", "errors"},
    "scalarization": {"arguments", "checks", "data", "pareto"},
    "chemistry": {"data", "errors"},
    "networks": _CORE | {"spaces"},
    "notebooks": {"data", "digits"},
    "spaces": _CORE | {"chemistry"},
    "distributions": _CORE,
    "models": _BELIEFS | {"networks"},
    "calibration": _MODELS | {"networks"},
    "acquisition": _MODELS,
    "search": _CORE | {"spaces", "models.base"},
    "classifiers": _CORE | {"spaces", "networks", "models.scikit"},
    "trials": _ACQUIRING | {"diagnostics", "notebooks"},
    "optimize": _OPTIMIZING,
    "diagnostics": _CORE | {"distributions"},
    "report": _CORE | {"diagnostics", "distributions", "spaces", "trials", "optimize.slices"},
    "problems": _CORE | {"spaces"},
    "methods": _OPTIMIZING,
    "citation": _STUDYING,
    "study": _STUDYING,
    "search_cv": _OPTIMIZING,
    "tables": _OPTIMIZING | {"chemistry"},
    "auditing": _STUDYING | {"botorch"},
    "cli": _STUDYING | {"auditing", "cli", "problems", "tables"},
    "testing": _OPTIMIZING | {"methods"},
    "botorch": _CALIBRATED,
    "__main__": {"cli"},
}
#: Imports in the other direction, inside functions only: methods are looked up by name when an Optimizer is made or a table
#: ranked, optimizers write reports, records are shown in notebooks, and BoTorch partitions the space dominated by fronts of
#: three and more objectives.
LAZY = {
    ("data", "notebooks"): {"data.py"},
    ("optimize", "methods"): {"optimize/optimizer.py"},
    ("optimize", "report"): {"optimize/reporting.py"},
    ("tables", "methods"): {"tables/accept.py", "tables/rank.py", "tables/replay.py"},
    ("acquisition", "botorch"): {"acquisition/hypervolume.py"},
}
#: Files outside calibo/botorch that may import torch, inside functions only.
TORCH = {"classifiers/composite.py"}
HEAVY = (
    "torch",
    "botorch",
    "sklearn",
    "pandas",
    "matplotlib",
    "plotly",
    "optuna",
    "pyarrow",
    "openpyxl",
    "rdkit",
    "ray",
)


@functools.cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def calls(path: Path) -> list[ast.Call]:
    """Return every call in a file."""
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]


def statements(node: ast.AST, late: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement inside a node, and whether it does not run on import: in functions and under ``if TYPE_CHECKING``."""
    late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            inside = late or (typing and child in node.body)
            yield child, inside
            yield from statements(child, inside)


@functools.cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Every module that a file imports anywhere: its full name, the line, and whether it is not imported with the file."""
    parents = ["calibo", *path.relative_to(PACKAGE).parts[:-1]]
    found: list[tuple[str, int, bool]] = []
    for node, late in statements(tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno, late) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # "from calibo import methods" imports calibo.methods.
            names = [alias.name for alias in node.names if not alias.name.startswith("__")]
            modules = [f"calibo.{name}" for name in names] if module == "calibo" else [module]
            found += [(module, node.lineno, late) for module in modules]
    return found


def test_imports_go_one_way() -> None:
    for path in FILES:
        if path == PACKAGE / "__init__.py":
            continue  # it names all packages, lazily
        here, name = package_of(path), name_of(path)
        assert here in ALLOWED, f"new package {here!r}: say in ALLOWED what it may import"
        for module, line, late in imports(path):
            if not module.startswith("calibo."):
                continue
            there, _, rest = module.removeprefix("calibo.").partition(".")
            allowed = there == here or there in ALLOWED[here] or f"{there}.{rest.partition('.')[0]}" in ALLOWED[here]
            lazy = name in LAZY.get((here, there), set()) and late
            assert allowed or lazy, f"{name}:{line} imports {module}, which {here} must not import"


def test_torch_is_imported_only_where_it_is_needed() -> None:
    for path in FILES:
        if package_of(path) != "botorch" and name_of(path) not in TORCH:
            found = {module.partition(".")[0] for module, _, _ in imports(path)} & {"torch", "botorch", "gpytorch"}
            assert not found, f"{name_of(path)} imports {found}: add it to TORCH, or do without"


def test_heavy_packages_are_imported_when_used() -> None:
    """At the top of a module only in packages that are about nothing else."""
    own = {"study": {"optuna"}, "botorch": {"torch", "botorch"}, "report": {"plotly"}, "search_cv": {"sklearn"}}
    for path in FILES:
        early = {module.partition(".")[0] for module, _, late in imports(path) if not late}
        found = early & set(HEAVY) - own.get(package_of(path), set())
        assert not found, f"{name_of(path)} imports {found} at its top: import it in the function that uses it"


def test_every_module_has_a_docstring() -> None:
    missing = [name_of(path) for path in FILES if not ast.get_docstring(tree(path))]
    assert not missing


def test_spaces_are_used_through_their_interface() -> None:
    """A space written by a user against ``Space`` then works wherever a shipped one does."""
    spaces = [node for path in FILES if package_of(path) == "spaces" for node, _ in statements(tree(path))]
    named = {node.name for node in spaces if isinstance(node, ast.ClassDef)}
    concrete = {name for name in named if name.endswith("Space")} - {"Space"}
    for path in FILES:
        if package_of(path) == "spaces":
            continue
        for node in calls(path):
            if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                tested = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)} & concrete
                assert not tested, f"{name_of(path)}:{node.lineno} tests for {tested}: use the interface of Space"


def test_warnings_are_given_in_one_way() -> None:
    """``errors.warn`` finds the line of the user's that they are about; a fixed number of frames does not."""
    own = {path.name for path in FILES if any(_is_warning(call) for call in calls(path))}
    assert own == {"errors.py"}


def _is_warning(call: ast.Call) -> bool:
    named = call.func
    return isinstance(named, ast.Attribute) and ast.unparse(named) in ("warnings.warn", "warnings.warn_explicit")
