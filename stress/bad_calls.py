"""Generated bad calls over the whole public surface: only errors of calibo's own may come out.

Every public name of ``calibo`` and its subpackages is called with odd values in place of one or two good ones, and so are
the methods of the objects that users hold, spaces in TOML, tables, names of storages, and the command line. A call ends in
one of these ways:

- ``accepted``: it returned;
- ``named``: it raised a ``CaliboError`` (on the command line: exit status 2 with a message);
- ``python``: Python itself refused the call (a ``TypeError`` for an unknown or missing argument) before any code ran;
- ``raw``: it raised anything else; ``slow``: it took more than 20 CPU seconds. Neither may happen.

Nothing outside of a temporary folder can be written meanwhile (confinement.py), whatever a call names as a file.

Usage: ``python -m stress.bad_calls [--calls 10000] [--seed 0] [--no-store] [--add]``
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import collections
import contextlib
import enum
import importlib
import inspect
import io
import random
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import optuna

import calibo
from calibo import CalibratedSampler, Categorical, Float, Int, Optimizer, Ordinal, minimize, space_from_toml
from calibo.errors import CaliboError
from calibo.study import load_result, open_storage
from stress.confinement import confined
from stress.good_values import CSV, POINT, SPACE, Good
from stress.odd_values import Odd, Refusal, shown
from stress.results import printed, read_stored, store

SUBPACKAGES = (
    *("acquisition", "auditing", "calibration", "classifiers", "diagnostics", "distributions", "methods", "models"),
    *("optimize", "problems", "report", "search", "spaces", "study", "tables", "trials"),
)

#: CPU seconds that a call may take.
LIMIT = 20

#: Called in other ways, or reading data sets from the network.
LEFT_OUT = ("fcnet", "hpobench", "nas_bench_201", "minimize", "maximize", "rank", "Interrupted")


@dataclass(frozen=True)
class Call:
    """A call to make: the entry point, what to run, and its arguments for the record."""

    entry: str
    run: Callable[[], Any]
    about: str


@dataclass
class Tally:
    """How calls ended, by entry point, with one example of every raw error."""

    counts: dict[str, collections.Counter[str]] = field(
        default_factory=lambda: collections.defaultdict(collections.Counter)
    )
    raw: dict[tuple[str, str, str], tuple[int, str, str]] = field(default_factory=dict)

    def add(self, call: Call) -> None:
        """Make a call and record how it ended."""
        ended, error = outcome(call.run)
        self.counts[call.entry][ended] += 1
        if error is not None:
            key = (call.entry, type(error).__name__, _place(error))
            count = self.raw.get(key, (0, "", ""))[0] + 1
            self.raw[key] = (count, call.about[:300], _said(error))

    def total(self, ended: str) -> int:
        """Return the number of calls that ended in this way."""
        return sum(counter[ended] for counter in self.counts.values())


class _Slow(BaseException):
    """A call took too long."""


def outcome(run: Callable[[], Any]) -> tuple[str, BaseException | None]:
    """Make a call; return how it ended, and the error if it was a raw one."""

    def stop(*_: Any) -> None:
        raise _Slow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run()
        return "accepted", None
    except CaliboError:
        return "named", None
    except _Slow as error:
        return "slow", error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, TypeError) and not _entered(error):
            return "python", None
        return "raw", error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))


def _entered(error: BaseException) -> bool:
    """Return whether code of a function had run when an error was raised, other than the matching of its arguments."""
    frames = [frame for frame in _frames(error) if frame.filename != __file__]
    return bool(frames) and not (
        frames[0].filename.endswith("arguments.py") and (len(frames) == 1 or frames[-1].filename == inspect.__file__)
    )


def _place(error: BaseException) -> str:
    own = [
        frame
        for frame in _frames(error)
        if f"{os.sep}calibo{os.sep}" in frame.filename and "site-packages" not in frame.filename
    ]
    return f"{own[-1].filename.rpartition(os.sep + 'calibo' + os.sep)[2]}:{own[-1].lineno}" if own else "?"


def _said(error: BaseException) -> str:
    try:
        return str(error)[:150]
    except Exception:
        return "?"


def surface() -> dict[str, Callable[..., Any]]:
    """Return all public functions and classes by the name of their module and their own."""
    found: dict[int, tuple[str, Any]] = {}
    for package in ("", *SUBPACKAGES):
        module = importlib.import_module("calibo" + (f".{package}" if package else ""))
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            value = getattr(module, name)
            home = str(getattr(value, "__module__", ""))
            own = home.startswith("calibo") if hasattr(module, "__all__") else home == module.__name__
            if callable(value) and own and name not in LEFT_OUT and _signature(value) is not None:
                found.setdefault(id(value), (f"{package or 'calibo'}.{name}", value))
    return dict(found.values())


def _signature(value: Any) -> inspect.Signature | None:
    # Errors, enumerations (whose calls are Python's own) and abstract classes are not called by users.
    if inspect.isclass(value) and (issubclass(value, BaseException | enum.Enum) or inspect.isabstract(value)):
        return None
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return None


def call_of(entry: str, function: Callable[..., Any], odd: Odd, good: Good) -> Call:
    """Return a call with one or two odd arguments among good ones."""
    signature = inspect.signature(function)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)
    names = [name for name, one in signature.parameters.items() if one.kind in kinds]
    wrong = set(odd.random.sample(names, min(len(names), odd.random.choice([1, 1, 1, 2]))))
    arguments: dict[str, Any] = {}
    for name in names:
        value = odd.value() if name in wrong else good.of(signature.parameters[name])
        if value is not inspect.Parameter.empty:
            arguments[name] = value
    if odd.random.random() < 0.03:
        arguments["no_such_argument"] = 1
    return Call(entry, lambda: function(**arguments), _about(arguments))


def _about(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={shown(value, 60)}" for name, value in arguments.items())


class Calls:
    """Generators of calls, each for one part of the surface."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.odd: Odd = Odd(seed)
        self.good: Good = Good(folder)
        self.folder: Path = folder
        self.surface: dict[str, Callable[..., Any]] = surface()
        # Imported before calls are timed: BoTorch, which audits use, takes seconds.
        with contextlib.suppress(ImportError):
            importlib.import_module("calibo.botorch")
        (folder / "obj.py").write_text("def objective(p): return p['x']\n")
        (folder / "space.toml").write_text("[x]\ntype='float'\nlow=0\nhigh=1\n")

    def generate(self, number: int) -> Iterator[Call]:
        """Yield about ``number`` calls, of each part by its share."""
        shares = {
            self.any_name: 0.42,
            self.parameter: 0.1,
            self.optimizer: 0.07,
            self.tell: 0.1,
            self.method_of_optimizer: 0.05,
            self.method_of_result: 0.04,
            self.method_of_space: 0.05,
            self.run: 0.03,
            self.storage: 0.03,
            self.toml: 0.03,
            self.rank_table: 0.02,
            self.rank_settings: 0.03,
            self.sampler: 0.02,
            self.command_line: 0.03,
        }
        plan = [(make, i) for make, share in shares.items() for i in range(max(1, round(share * number)))]
        # Mixed, so that a run that is stopped has tried a part of everything.
        random.Random(0).shuffle(plan)
        for make, i in plan:
            yield make(i)

    def any_name(self, i: int) -> Call:
        """Call a public name."""
        entries = sorted(self.surface)
        entry = entries[i % len(entries)]
        return call_of(entry, self.surface[entry], self.odd, self.good)

    def parameter(self, i: int) -> Call:
        """Make a parameter, and use it in a space."""
        odd = self.odd
        kind = (Float, Int, Categorical, Ordinal)[i % 4]
        if kind in (Float, Int):
            arguments = [
                odd.mostly([0, 1, -1, 0.1]),
                odd.mostly([1, 2, 10, 0.3]),
                odd.mostly([True, False], 0.8),
                odd.mostly([1, 0.1], 0.7),
            ]
        else:
            arguments = [
                odd.value() if odd.random.random() < 0.3 else [odd.value() for _ in range(odd.random.randrange(4))]
            ]

        def run() -> None:
            parameter = kind(*arguments)
            space = calibo.spaces.ProductSpace({"x": parameter})
            space.encode(space.decode(np.array([[0.0], [0.5], [1.0]])))

        return Call(f"{kind.__name__}, used in a space", run, _about(dict(enumerate(arguments))))  # pyright: ignore[reportArgumentType]

    def optimizer(self, i: int) -> Call:
        """Make an optimizer and ask it."""
        odd, settings = self.odd, dict[str, Any]()
        options = {
            "method": ["ocbo", "gp_ei"],
            "direction": ["minimize", "max"],
            "directions": [None, ["min", "max"]],
            "reference": [None, [1, 2]],
            "seed": [0, 1, None],
            "n_initial": [None, 3],
            "composite": [None],
        }
        for name, values in options.items():
            if odd.random.random() < 0.35:
                settings[name] = odd.mostly(values, 0.35)
        space = SPACE if i % 2 else self.space()
        return Call(
            "Optimizer(...).ask()", lambda: Optimizer(space, **settings).ask(), _about({"space": space, **settings})
        )

    def space(self) -> Any:
        """Return something odd as a space."""
        odd = self.odd
        makers: list[Callable[[], Any]] = [
            odd.value,
            lambda: {odd.name(): Float(0, 1)},
            lambda: {"x": odd.value(), "y": Float(0, 1)},
            lambda: [{"x": odd.value(), "y": i} for i in range(odd.random.randrange(4))],
            lambda: [{"x": 1.0}, {"x": 2.0, "z": odd.value()}],
            lambda: {"x": Float(-1e308, 1e307), "y": Int(0, 2**49)},
            lambda: {f"x{i}": Float(0, 1) for i in range(3)} | {odd.name(): odd.value()},
        ]
        return odd.random.choice(makers)()

    def params(self) -> Any:
        """Return something odd as parameters."""
        odd = self.odd
        if odd.random.random() < 0.15:
            return odd.value()
        point: dict[Any, Any] = {
            name: odd.value() if odd.random.random() < 0.3 else value for name, value in POINT.items()
        }
        if odd.random.random() < 0.1:
            point.pop(odd.random.choice(list(point)))
        if odd.random.random() < 0.1:
            with contextlib.suppress(TypeError, Refusal):
                point[odd.name()] = odd.value()
        return point

    def tell(self, i: int) -> Call:
        """Tell an optimizer an outcome; every tenth time, ask it then."""
        odd, optimizer = self.odd, self.good.used_optimizer()
        what = self.params() if odd.random.random() < 0.6 else dict(POINT)
        value, sem = odd.mostly([1.0, 2.0], 0.4), odd.mostly([None, 0.1], 0.75)
        limits = odd.random.choice([{"m": 1.0}, {odd.name(): 1.0}, odd.value(), {"m": odd.value()}])

        def run() -> None:
            optimizer.tell(what, value, sem, constraints=limits)
            if i % 10 == 0:
                optimizer.ask()

        return Call("Optimizer.tell", run, _about({"what": what, "value": value, "sem": sem, "constraints": limits}))

    def method_of_optimizer(self, i: int) -> Call:
        """Call another method of an optimizer."""
        odd, optimizer = self.odd, self.good.used_optimizer() if i % 7 < 2 else self.good.optimizer
        value: Any = odd.value()
        name = ("ask", "tell_failed", "predict", "calibration", "calibration_by_place", "stopping", "predict")[i % 7]
        if name == "predict":
            value = [self.params() for _ in range(odd.random.randrange(3))] if i % 3 else value
        if name == "ask" and isinstance(value, int | np.integer) and 200 < value < 10**7:
            value = -int(value)
        return Call(f"Optimizer.{name}", lambda: getattr(optimizer, name)(value), shown(value, 200))

    def method_of_result(self, i: int) -> Call:
        """Call a method of a result."""
        value: Any = self.odd.value()
        name = ("predict", "calibration", "calibration_by_place", "report", "best_params_of")[i % 5]
        if name == "predict" and i % 2:
            value = [self.params()]
        if name == "report":
            value = self.odd.random.choice([value, self.odd.name()])
        return Call(f"Result.{name}", lambda: getattr(self.good.result, name)(value), shown(value, 200))

    def method_of_space(self, i: int) -> Call:
        """Call a method of a space."""
        space = self.good.by_name["space"]
        value: Any = self.odd.value()
        name = ("encode", "decode", "sample", "values", "from_values", "repair", "valid")[i % 7]
        if name in ("encode", "from_values") and i % 2:
            value = [self.params()]
        if name == "sample":
            number = value if not isinstance(value, int | np.integer) or value < 10**6 else -1
            return Call("Space.sample", lambda: space.sample(number, np.random.default_rng(0)), shown(number))
        return Call(f"Space.{name}", lambda: getattr(space, name)(value), shown(value, 200))

    def run(self, i: int) -> Call:
        """Run a study of two trials, or try to."""
        odd = self.odd
        settings: dict[str, Any] = {"n_trials": 2, "progress": False, "method": "gp_ei"}
        options: dict[str, list[Any]] = {
            "n_trials": [1, 2],
            "method": ["gp_ei"],
            "storage": [None],
            "study_name": [None, "a"],
            "seed": [None, 1],
            "timeout": [None, 1.0],
            "callbacks": [()],
            "directions": [None],
            "reference": [None],
            "composite": [None],
            "stop": [None, calibo.Patience(3)],
        }
        for name, values in options.items():
            if odd.random.random() < 0.2:
                settings[name] = odd.mostly(values, 0.25)
        if isinstance(settings["n_trials"], int | np.integer) and settings["n_trials"] > 50:
            settings["n_trials"] = 2
        if "study_name" in settings and odd.random.random() < 0.5:
            settings["study_name"] = odd.name()
        objective = self.objective()
        space = SPACE if odd.random.random() < 0.8 else self.space()
        entry = minimize if i % 2 else calibo.maximize
        if entry is calibo.maximize:
            settings = {name: value for name, value in settings.items() if name not in ("directions", "reference")}
        return Call(
            entry.__name__,
            lambda: entry(objective, space, **settings),
            _about({"objective": objective, "space": space, **settings}),
        )

    def objective(self) -> Any:
        """Return an objective that may return or raise anything."""
        odd = self.odd
        chance, returned = odd.random.random(), odd.value()
        if chance < 0.1:
            return odd.value()
        if chance < 0.3:
            return lambda params: returned
        if chance < 0.4:
            return lambda params: calibo.Outcome(1.0, returned, odd.mostly([None, 0.1]))
        if chance < 0.5:
            return _raises_unshowable
        return lambda params: 1.0

    def storage(self, i: int) -> Call:
        """Open a storage by an odd name."""
        odd = self.odd
        where = STORAGES[i % len(STORAGES)] if i < len(STORAGES) or odd.random.random() < 0.5 else odd.value()
        if i % 2:
            return Call("load_result", lambda: load_result(where, odd.mostly([None, "s"])), shown(where))
        return Call("open_storage", lambda: open_storage(where), shown(where))

    def sampler(self, i: int) -> Call:
        """Make a sampler, and ask an Optuna study with it."""
        odd = self.odd
        names = ("method", "seed", "space", "n_initial", "reference", "composite")
        settings = {name: odd.value() for name in names if odd.random.random() < 0.3}

        def run() -> None:
            study = optuna.create_study(sampler=CalibratedSampler(**settings))
            study.ask().suggest_float("x", 0, 1)

        return Call("CalibratedSampler", run, _about(settings))

    def toml(self, i: int) -> Call:
        """Read a space from a TOML file with a few characters changed."""
        text = TOML_TEXTS[i] if i < len(TOML_TEXTS) else _mutated(TOML, self.odd)
        path = self.folder / "space_odd.toml"

        def run() -> None:
            path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
            space_from_toml(path)

        return Call("space_from_toml", run, shown(text, 200))

    def rank_table(self, i: int) -> Call:
        """Rank a damaged table."""
        text, path = _damaged_csv(self.odd), self.folder / "odd.csv"

        def run() -> None:
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            calibo.rank(path, target="yield", n=3, study=False, progress=False, method="gp_ei")

        return Call("rank(damaged table)", run, shown(text, 200))

    def rank_settings(self, i: int) -> Call:
        """Rank a good table with odd settings."""
        odd = self.odd
        settings: dict[str, Any] = {"target": "yield", "n": 2, "study": False, "progress": False, "method": "gp_ei"}
        names = [name for name in inspect.signature(calibo.rank).parameters if name not in ("table", "progress")]
        for name in odd.random.sample(names, odd.random.choice([1, 1, 2])):
            settings[name] = odd.value()
        table = str(self.folder / "good.csv") if odd.random.random() < 0.8 else odd.value()
        return Call("rank", lambda: calibo.rank(table, **settings), _about({"table": table, **settings}))

    def command_line(self, i: int) -> Call:
        """Run a command with odd words."""
        odd, folder = self.odd, self.folder
        commands = (
            [
                "run",
                f"{folder}/obj.py:objective",
                "--space",
                f"{folder}/space.toml",
                "--trials",
                "1",
                "--no-progress",
                "--storage",
                f"{folder}/cli.db",
            ],
            ["report", self.good.storage, "s", "-o", f"{folder}/r.html"],
            ["predict", self.good.storage, "s", "--params", '{"x": 0.5, "y": 2, "c": "a"}'],
            [
                "rank",
                f"{folder}/good.csv",
                "--target",
                "yield",
                "-n",
                "2",
                "--no-study",
                "--no-progress",
                "--method",
                "gp_ei",
            ],
            ["audit", self.good.storage, "s"],
            ["methods"],
        )
        words = list(commands[i % len(commands)])
        for _ in range(odd.random.choice([1, 1, 2])):
            words[odd.random.randrange(1, len(words)) if len(words) > 1 else 0] = odd.random.choice(WORDS)
        if words[0] == "run" and "9" * 400 in words:
            words.remove("9" * 400)  # as many trials as asked for would be run
        return Call(f"calibo {commands[i % len(commands)][0]}", lambda: _command(words), " ".join(words)[:300])


class _Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")

    __repr__ = __str__


def _raises_unshowable(params: Any) -> float:
    raise _Unshowable


def _command(words: list[str]) -> None:
    from typer.testing import CliRunner

    from calibo.cli.app import app

    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code:
        raise CaliboError(f"exit status {result.exit_code}")


WORDS = (
    *(
        "",
        "x",
        "-1",
        "0",
        "nan",
        "inf",
        "1e400",
        "abc",
        "\x00",
        "../../nonexistent/x",
        "{x}",
        "{}",
        "{x!r}",
        "{x.__class__}",
    ),
    *(
        "obj.py:nope",
        "nope.py:f",
        "{'x': 1}",
        '{"x": 2}',
        '{"x": NaN}',
        '{"x": "a"}',
        "[1]",
        "[",
        '"',
        "[" * 3000,
        "[" * 100_000,
        "null",
    ),
    *(
        "minimize,foo",
        "1,2",
        "sqlite:///nope.db",
        "é",
        "--",
        "-o",
        "\ud800",
        "a" * 600,
        "9" * 400,
        "postgresql://u:secret@[::1/x",
    ),
)

STORAGES = (
    *(
        "",
        ".db",
        "/",
        "x",
        "a.db/",
        "/nonexistent/x.db",
        "~/nope/x.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:////",
        "sqlite:///:memory:",
    ),
    *(
        "/nonexistent/{x}.db",
        "\x00.db",
        "/nonexistent/\ud800.db",
        "/nonexistent/" + "a" * 300 + ".db",
        "postgresql://",
        "postgresql+psycopg://",
    ),
    *(
        "postgresql+psycopg://u:se{c}ret@127.0.0.1:1/x",
        "postgresql+psycopg://u:secret@127.0.0.1:notaport/x",
        "postgresql+psycopg://u:secret@127.0.0.1:99999/x",
    ),
    *(
        "mysql://u:secret@h/x",
        "redis://x",
        "oracle://u:secret@x",
        "foo://x",
        "://",
        "sqlite+pysqlcipher://:p@/x",
        "file:x.db",
    ),
    *(
        "sqlite:////nonexistent/x.db?timeout=abc",
        "sqlite:////nonexistent/x.db?nonsense=1",
        "http://127.0.0.1/x",
        "/nonexistent/passwd",
        "/dev/null.db",
    ),
    *(
        "postgresql+asyncpg://u:secret@h/x",
        "mssql+pyodbc://u:secret@h/x",
        "postgresql+psycopg://u:secret@[::1/x",
        "C:\\x.db",
    ),
)

TOML = (
    "[x]\ntype='float'\nlow=0.0\nhigh=1.0\nlog=false\n[n]\ntype='int'\nlow=1\nhigh=8\n"
    "[c]\ntype='categorical'\nchoices=['a','b']\n"
)

TOML_TEXTS: tuple[str | bytes, ...] = (
    *(
        "",
        "x",
        "x = 1",
        "[x]",
        "[x]\ntype='float'",
        "[x]\ntype='float'\nlow=0\nhigh=nan",
        "[x]\ntype='float'\nlow='0'\nhigh=1",
    ),
    *(
        "[x]\ntype='int'\nlow=0\nhigh=99999999999999999999",
        "[x]\ntype=1",
        "[x]\ntype=['float']",
        "[x]\ntype='categorical'\nchoices='abc'",
    ),
    *(
        "[x]\ntype='categorical'\nchoices=[]",
        "[x]\ntype='categorical'\nchoices=[[1,2],[1,2]]",
        "[x]\ntype='categorical'\nchoices=[{a=1},{b=2}]",
    ),
    *(
        "[x]\ntype='float'\nlow=0\nhigh=1\nextra=3",
        "[x]\ntype='float'\nlow=0\nhigh=1\nlog='yes'",
        "[x.y]\ntype='float'\nlow=0\nhigh=1",
    ),
    *(
        "[[x]]\ntype='float'\nlow=0\nhigh=1",
        "['']\ntype='float'\nlow=0\nhigh=1",
        "[cell]\ntype='cell'",
        "[cell]\ntype='graph_cell'\nnodes='a'",
    ),
    *(
        "[cell]\ntype='cell'\nnodes=-1\noperations=[]",
        "\x00",
        "a=" + "[" * 5000 + "]" * 5000,
        "[x]\ntype='categorical'\nchoices=[nan, 1.0]",
    ),
    *(
        '["x\\u0000y"]\ntype="float"\nlow=0\nhigh=1',
        "[x]\ntype='int'\nlow=0.5\nhigh=3",
        "[x]\nlow=0\nhigh=1",
        "a." * 20000 + "b=1",
    ),
    *(
        b"\xff\xfe",
        b"\x80" * 200,
        "[x]\ntype='float'\nlow=0\nhigh=1".encode("utf-16"),
        "[x]\ntype='categorical'\nchoices=[" + "[" * 900 + "]" * 900 + "]",
    ),
)


def _mutated(text: str, odd: Odd) -> str:
    letters = list(text)
    for _ in range(odd.random.randrange(1, 4)):
        letters[odd.random.randrange(len(letters))] = odd.random.choice(
            ["", "[", "]", "=", "'", "0", "-", "9" * 30, "\n", "nan", "inf", "true", "é", ",", "."]
        )
    return "".join(letters)


CELLS = (
    *(
        "",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e308",
        "-1e308",
        "abc",
        "=1+1",
        "\x00",
        "é",
        "1,5",
        '"',
        "1 000",
        "TRUE",
        "0x10",
    ),
    *("1_000", "2020-01-01", "None", "NULL", "5e-324", "9" * 23),
)


def _damaged_csv(odd: Odd) -> str:
    lines, kind = CSV.splitlines(), odd.random.randrange(8)
    if kind < 4:
        for _ in range(odd.random.randrange(1, 6)):
            row = odd.random.randrange(1, len(lines))
            cells = lines[row].split(",")
            cells[odd.random.randrange(len(cells))] = odd.random.choice(CELLS)
            lines[row] = ",".join(cells)
        return "\n".join(lines)
    if kind == 4:
        return odd.random.choice(
            [
                "",
                "\n",
                "a",
                "a,b\n",
                "yield\n1\n",
                "a,yield\n",
                "a,yield\n1,2\n",
                "a,yield\n1,\n",
                "a,a,yield\n1,2,3\n2,3,\n",
                ",,\n1,2,3\n",
                "\x00\x00",
                "a;yield\n1;2\n",
            ]
        )
    if kind == 5:
        return "\n".join(lines).replace("yield", odd.random.choice(["Yield", "", "yield ", "a", "=yield"]))
    if kind == 6:
        return "\n".join([lines[0], *(",".join([odd.random.choice(CELLS)] * 4) for _ in range(12))])
    return CSV[: odd.random.randrange(len(CSV))]


def hammer(number: int, seed: int = 0, progress: bool = False, limit: float = float("inf")) -> Tally:
    """Make about ``number`` bad calls, the same ones for the same seed; none are begun after ``limit`` seconds."""
    end = time.monotonic() + limit
    tally = Tally()
    with confined() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        try:
            for i, call in enumerate(Calls(seed, folder).generate(number)):
                if time.monotonic() > end:
                    break
                began = time.process_time()
                faults = len(tally.raw)
                tally.add(call)
                if progress and len(tally.raw) > faults:
                    print("RAW", *next(reversed(tally.raw.items())), flush=True)
                if progress and time.process_time() - began > 3:
                    print(f"{time.process_time() - began:.1f} s: {call.entry}({call.about[:200]})", flush=True)
                if progress and i % 1000 == 0:
                    print(i, "calls,", tally.total("raw"), "raw", flush=True)
        finally:
            optuna.logging.set_verbosity(before)
    return tally


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no further call is made")
    parser.add_argument("--no-store", action="store_true")
    parser.add_argument("--add", action="store_true", help="add to the stored result, of another seed")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    began = time.process_time()
    tally = hammer(asked.calls, asked.seed, progress=True, limit=asked.limit)
    kinds = ("accepted", "named", "python", "raw", "slow")
    rows = [[entry, *(tally.counts[entry][kind] for kind in kinds)] for entry in sorted(tally.counts)]
    print(printed(("entry point", *kinds), rows))
    for (entry, kind, place), (count, about, said) in sorted(tally.raw.items(), key=lambda item: -item[1][0]):
        print(f"RAW {count} x {entry}: {kind} at {place}: {said}\n    {about}")
    totals = {kind: tally.total(kind) for kind in kinds}
    print(sum(totals.values()), "calls:", totals)
    if not asked.no_store:
        before = read_stored("bad_calls") if asked.add else None
        groups: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for entry, counter in tally.counts.items():
            groups[_group(entry)].update(counter)
        for group, _, *counts in [] if before is None else before["rows"][:-1]:
            groups[group].update(dict(zip(kinds, counts, strict=True)))
        rows = [[one, sum(groups[one].values()), *(groups[one][kind] for kind in kinds)] for one in sorted(groups)]
        rows.append(["all", *(sum(row[i] for row in rows) for i in range(1, len(kinds) + 2))])
        store(
            "bad_calls",
            f"{rows[-1][1]} generated bad calls over {len(tally.counts)} entry points.",
            ("part", "calls", *kinds),
            rows,
            seeds=[*([] if before is None else before["facts"]["seeds"]), asked.seed],
            cpu_seconds=round(time.process_time() - began) + (0 if before is None else before["facts"]["cpu_seconds"]),
        )
    raise SystemExit(bool(tally.total("raw") + tally.total("slow")))


def _group(entry: str) -> str:
    package, dot, _ = entry.partition(".")
    if entry.startswith("calibo "):
        return "command line"
    return f"calibo.{package}" if dot and package in SUBPACKAGES else "calibo"


if __name__ == "__main__":
    main()
