"""Ray Tune with a calibrated sampler, as docs/ray.md has it: killed in the middle, and restored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.extras

TRIALS, FINISHED = 7, 4
#: Seconds between two states that Ray saves, and most seconds to wait: every trial is a process that imports Ray and calibo,
#: which takes many times as long on a busy machine as on an idle one.
PERIOD, PATIENCE = 2.0, 600.0

SCRIPT = """
import sys, time
from pathlib import Path

import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from calibo import CalibratedSampler

folder = Path(sys.argv[1])
log = folder / "log"


def train(config):
    if log.exists() and len(log.read_text().split()) == %d and not (folder / "killed").exists():
        (folder / "waiting").touch()
        time.sleep(600)
    tune.report({"loss": (config["x"] - 0.3) ** 2 + config["y"] ** 2})
    with log.open("a") as lines:
        lines.write("done\\n")


ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
if tune.Tuner.can_restore(folder / "runs" / "first"):
    print("RESTORED", flush=True)
    tuner = tune.Tuner.restore(str(folder / "runs" / "first"), train, resume_unfinished=True)
else:
    search = OptunaSearch(sampler=CalibratedSampler("gp_ei", seed=1, n_initial=3))
    tuner = tune.Tuner(
        train,
        param_space={"x": tune.uniform(0, 1), "y": tune.uniform(-1, 1)},
        tune_config=tune.TuneConfig(
            search_alg=search, metric="loss", mode="min", num_samples=%d, max_concurrent_trials=1
        ),
        run_config=tune.RunConfig(name="first", storage_path=str(folder / "runs"), verbose=0),
    )
results = tuner.fit()
print("FOUND", len(results), len(results.errors), len({tuple(result.config.items()) for result in results}))
"""


@contextmanager
def _started(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the script in a session of its own; afterwards end what it has started, which Ray leaves behind if killed."""
    (folder / "script.py").write_text(SCRIPT % (FINISHED, TRIALS))
    environment = {**os.environ, "TUNE_GLOBAL_CHECKPOINT_S": str(PERIOD), "RAY_AIR_NEW_OUTPUT": "0"}
    command = [sys.executable, str(folder / "script.py"), str(folder)]
    with subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _finished(folder: Path) -> int:
    log = folder / "log"
    return log.read_text().count("done") if log.exists() else 0


def _saved(folder: Path) -> dict[str, int]:
    """Return when Ray saved each file about the run and its search."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "runs" / "first").iterdir() if path.is_file()}


def _wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)


def test_a_run_that_is_killed_goes_on_when_it_is_restored(tmp_path: Path) -> None:
    with _started(tmp_path) as first:
        _wait_for((tmp_path / "waiting").exists, first)
        # Ray saves the run and its search one after the other: killed between the two, it would wait forever for a trial that
        # is finished already. So it is killed when it has saved both since the trial began, and before it saves them again.
        for _ in range(2):
            before = _saved(tmp_path)
            _wait_for(lambda before=before: _saved(tmp_path) != before, first)
            time.sleep(PERIOD / 4)
        first.send_signal(signal.SIGKILL)
        first.wait()
    (tmp_path / "killed").touch()
    assert _finished(tmp_path) == FINISHED
    with _started(tmp_path) as second:
        said, _ = second.communicate(timeout=PATIENCE)
    assert "RESTORED" in said
    found, errors, distinct = map(int, said.rpartition("FOUND")[2].split())
    assert (found, errors) == (TRIALS, 0)
    assert distinct == TRIALS and _finished(tmp_path) == TRIALS
