"""Cost of `run_folds` beside the folds themselves, and of loops that people write by hand.

Our own cost is the time of a study of functions that do nothing, less the time of as many fresh
Python processes that import the same; the imports of the next fold overlap the one that runs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any, Final

import psutil

from kmonitor_agent import run_folds
from kmonitor_agent.studies.bounds import SilenceTracker, StepGaps, TimeBound
from kmonitor_agent.studies.fold_messages import StepProgress
from tests.support.fold_functions import nothing, take_and_wait

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDS: Final = 50
MODELS: Final = 8
COST_TARGET_S: Final = 0.3
GROWTH_TARGET_MIB: Final = 5.0
KILL_TARGET_S: Final = 2.0
IMPORTS: Final = "import numpy, kmonitor_agent.studies.fold_child, tests.support.fold_functions"

LOOP = """
    import json, sys, time, psutil
    began = time.perf_counter()
    from tests.support.fold_trainings import train_model
    rss = []
    for _ in range({models}):
        train_model({clears})
        rss.append(psutil.Process().memory_info().rss / 2**20)
    print(json.dumps([time.perf_counter() - began, rss[0], rss[-1]]))
"""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="without Keras")
    quick = parser.parse_args().quick
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KMONITOR_HOME"] = str(Path(folder, "home"))
        print("| what | found | target |\n|---|---|---|")
        _print_cost(Path(folder, "cost"))
        _print_kill(Path(folder, "kill"))
        _print_simulated()
        if not quick:
            _print_loops(Path(folder, "loops"))


def _print_cost(study: Path) -> None:
    process = psutil.Process()
    began_s = time.monotonic()
    run_folds(nothing, folds=1, study=study / "first")
    one_s = time.monotonic() - began_s
    before = process.memory_info().rss
    began_s = time.monotonic()
    ended = run_folds(nothing, folds=FOLDS, study=study / "many")
    took_s = time.monotonic() - began_s
    assert ended.ok
    growth = (process.memory_info().rss - before) / 2**20
    alone_s = statistics.median(_import_s() for _ in range(10))
    print(f"| a fold that does nothing, in a study of {FOLDS} | {took_s / FOLDS:.3f} s | |")
    print(f"| a study of one that does nothing, all told | {one_s:.3f} s | |")
    print(f"| a fresh Python with the same imports | {alone_s:.3f} s | |")
    own_s = max(0.0, took_s / FOLDS - alone_s)
    print(f"| our own cost a fold | {own_s:.3f} s | {COST_TARGET_S:g} s |")
    print(
        f"| growth of the study's process over {FOLDS} folds | {growth:+.1f} MiB"
        f" | {GROWTH_TARGET_MIB:g} MiB |"
    )


def _import_s() -> float:
    began_s = time.monotonic()
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", IMPORTS], env=environ, check=True)
    return time.monotonic() - began_s


def _print_kill(folder: Path) -> None:
    """From the moment at which a fold holds too much until its memory is free again."""
    study = run_folds(take_and_wait, folds=3, study=folder, memory="560 MiB", retries=0)
    freed_s = [each.attempts[0].seconds - _took_s(each.directory) for each in study.results]
    assert {each.cause for each in study.results} == {"out_of_memory"}
    print(f"| from 560 MiB, its bound, to free | {max(freed_s):.2f} s | {KILL_TARGET_S:g} s |")


def _took_s(folder: Path) -> float:
    return float((folder / "crossed").read_text())


def _print_simulated() -> None:
    import random  # noqa: PLC0415 - only here

    dice, ended, folds = random.Random(1), 0, 0  # noqa: S311 - a simulation
    late = 0
    for _ in range(2000):
        usual_s, spread = 10 ** dice.uniform(0, 4), dice.uniform(0.05, 0.4)
        times = [usual_s * dice.lognormvariate(0.0, spread) for _ in range(10)]
        for at, time_s in enumerate(times):
            limit_s = TimeBound().limit_s(time_s, None, times[:at], 1)
            ended += limit_s is not None and time_s > limit_s
            folds += 1
        silence, now_s, longest_s = SilenceTracker(0.0, StepGaps()), 0.0, 0.0
        for step in range(1, 50):
            gap_s = usual_s / 100 * dice.lognormvariate(0.0, 0.15)
            longest_s = max(longest_s, gap_s)
            ended += bool(silence.judgement(now_s + gap_s).hang())
            now_s += gap_s
            silence.note_progress(StepProgress(now_s, step, "step"))
        late += not silence.judgement(now_s + max(60.0, 3 * longest_s) + 0.1).hang()
    print(f"| healthy folds ended, of {folds} simulated | {ended} | 0 |")
    print(f"| hung folds found later than 3 x their history or 60 s, of 2000 | {late} | 0 |")


def _print_loops(folder: Path) -> None:
    print(f"\n| {MODELS} models | seconds a model | RAM after the first | after the last |")
    print("|---|---|---|---|")
    for name, clears in (("loop in one process", "False"), ("with clear_session", "True")):
        text = textwrap.dedent(LOOP.format(models=MODELS, clears=clears))
        took_s, first, last = json.loads(_run(text))
        print(f"| {name} | {took_s / MODELS:.2f} | {first:.0f} MiB | {last:.0f} MiB |")
    from tests.support.fold_trainings import train_one  # noqa: PLC0415 - only here

    for at_once in (1, 2):
        began_s = time.monotonic()
        study = run_folds(train_one, folds=MODELS, study=folder / str(at_once), at_once=at_once)
        took_s = time.monotonic() - began_s
        peaks: list[Any] = [each.peak_bytes / 2**20 for each in study.attempts]
        print(
            f"| run_folds, {at_once} at once | {took_s / MODELS:.2f} | {peaks[0]:.0f} MiB"
            f" | {peaks[-1]:.0f} MiB |"
        )


def _run(text: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", text],
        env=environ,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return ran.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
