"""The rooms see each other only in one direction, stay small, and open quickly."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import calibo

HOUSE = Path(calibo.__file__).parent
FILES = sorted(p for p in HOUSE.rglob("*.py"))

_CORE = {"data", "errors", "pareto", "checks"}
_BELIEFS = _CORE | {"spaces", "distributions"}
_MODELS = _BELIEFS | {"models"}
_CALIBRATED = _MODELS | {"calibration"}
_ACQUIRING = _CALIBRATED | {"acquisition"}
_OPTIMIZING = _ACQUIRING | {"search", "classifiers", "diagnostics", "optimize"}
_STUDYING = _OPTIMIZING | {"study", "methods", "report", "citation"}
#: What each room may see besides itself (docs/architecture.md, section 3); files under calibo/ itself are rooms too.
ALLOWED: dict[str, set[str]] = {
    "checks": {"errors"},
    "data": {"errors"},
    "errors": set(),
    "pareto": {"data", "errors"},
    "networks": _CORE | {"spaces"},
    "spaces": _CORE,
    "distributions": _CORE,
    "models": _BELIEFS | {"networks"},
    "calibration": _MODELS | {"networks"},
    "acquisition": _CALIBRATED,
    "search": _CORE | {"spaces", "models.base"},
    "classifiers": _CORE | {"spaces", "networks", "models.scikit"},
    "optimize": _OPTIMIZING,
    "diagnostics": _CORE | {"distributions"},
    "report": _CORE | {"diagnostics", "distributions", "spaces", "optimize.records", "optimize.slices"},
    "problems": _CORE | {"spaces", "models.kernels"},
    "methods": _OPTIMIZING,
    "bibliography": set(),
    "citation": _OPTIMIZING | {"methods", "bibliography"},
    "study": _STUDYING,
    "tables": _OPTIMIZING,
    "cli": _STUDYING | {"cli", "problems", "tables"},
    "testing": _OPTIMIZING | {"methods"},
    "botorch": _CALIBRATED,
    "__main__": {"cli"},
}
#: The ways back up: names become methods at the door, when an Optimizer is made or a table ranked, and fronts of three
#: and more objectives are cut into boxes by BoTorch.
LAZY = {
    ("optimize", "methods"): {"optimize/optimizer.py"},
    ("tables", "methods"): {"tables/rank.py", "tables/replay.py"},
    ("acquisition", "botorch"): {"acquisition/boxes.py"},
}
#: What the extra `neural` is for; torch is imported there when it is used.
NEURAL = {"classifiers/composite.py"}
HEAVY = ("torch", "sklearn", "pandas", "matplotlib", "plotly", "optuna", "pyarrow", "openpyxl", "rdkit", "ray")


def room(path: Path) -> str:
    first = path.relative_to(HOUSE).parts[0]
    return first.removesuffix(".py")


def imports(tree: ast.AST, path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Every module imported anywhere in a file, by its full name, with the node that does it."""
    package = ["calibo", *path.relative_to(HOUSE).parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # "from calibo import methods" imports calibo.methods.
            if module == "calibo":
                for alias in node.names:
                    if not alias.name.startswith("__"):
                        yield f"calibo.{alias.name}", node
            else:
                yield module, node


def for_types_only(tree: ast.AST) -> set[ast.AST]:
    """Nodes under ``if TYPE_CHECKING``, which never run."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found |= {inner for statement in node.body for inner in ast.walk(statement)}
    return found


def inside_functions(tree: ast.AST) -> set[ast.AST]:
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {inner for f in functions for inner in ast.walk(f)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_imports_go_one_way(path: Path) -> None:
    if path == HOUSE / "__init__.py":
        return  # it names all rooms, lazily: the import budget below sees to that
    tree, here = ast.parse(path.read_text(encoding="utf-8")), room(path)
    assert here in ALLOWED, f"a new room {here!r}: say in ALLOWED what it may see"
    name = path.relative_to(HOUSE).as_posix()
    for module, node in imports(tree, path):
        if not module.startswith("calibo."):
            continue
        there, _, rest = module.removeprefix("calibo.").partition(".")
        allowed = there == here or there in ALLOWED[here] or f"{there}.{rest.partition('.')[0]}" in ALLOWED[here]
        lazy = name in LAZY.get((here, there), set()) and node in inside_functions(tree)
        assert allowed or lazy, f"{name}:{node.lineno} imports {module}, which {here} must not see"  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_torch_stays_in_its_rooms(path: Path) -> None:
    if room(path) == "botorch" or path.relative_to(HOUSE).as_posix() in NEURAL:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    outside = {module.partition(".")[0] for module, _ in imports(tree, path)}
    assert not outside & {"torch", "botorch", "gpytorch"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_heavy_packages_are_imported_when_used(path: Path) -> None:
    """At module level only where the room is about nothing else."""
    own = {"study": {"optuna"}, "botorch": {"torch"}, "report": {"plotly"}}.get(room(path), set())
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = inside_functions(tree) | for_types_only(tree)
    early = {module.partition(".")[0] for module, node in imports(tree, path) if node not in late}
    assert not early & set(HEAVY) - own


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 70, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(HOUSE)))
def test_every_file_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def loaded_by(code: str) -> set[str]:
    """Top-level packages in sys.modules after ``code`` ran in a fresh process."""
    script = f"{code}\nimport sys\nprint('LOADED', *sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=HOUSE.parent, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_import_calibo_loads_nothing_heavy() -> None:
    assert not loaded_by("import calibo; dir(calibo)") & {*HEAVY, "scipy", "botorch"}


def test_a_suggestion_loads_nothing_heavy() -> None:
    code = (
        "import numpy as np\nfrom calibo import Float, Optimizer\n"
        "o = Optimizer({'x': Float(0, 1)}, seed=0)\n"
        "for _ in range(7):\n    s = o.ask()\n    o.tell(s, s.params['x'])\n"
    )
    assert not loaded_by(code) & set(HEAVY)


@pytest.mark.skipif(
    not ((HOUSE / "__main__.py").exists() or (HOUSE / "cli" / "__main__.py").exists()), reason="no command line yet"
)
def test_help_loads_nothing_heavy() -> None:
    module = "calibo" if (HOUSE / "__main__.py").exists() else "calibo.cli"
    code = (
        "import runpy, sys\nsys.argv = ['calibo', '--help']\n"
        f"try:\n    runpy.run_module({module!r}, run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
    )
    assert not loaded_by(code) & set(HEAVY)


def test_every_public_name_can_be_had() -> None:
    for name in getattr(calibo, "__all__", ()):
        assert getattr(calibo, name) is not None
