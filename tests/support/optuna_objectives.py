"""Objectives of Optuna's trials that behave and that do not."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

from optuna import TrialPruned

from tests.support.waiting import wait_until

_CHUNK = 32 * 2**20


def parabola(trial: Any, shift: float = 0.0) -> float:
    """A smooth one."""
    x = trial.suggest_float("x", -10.0, 10.0)
    n = trial.suggest_int("n", 1, 8, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    trial.set_user_attr("pid", os.getpid())
    return (x - shift) ** 2 + n + (0.0 if kind == "a" else 1.0)


def mixed(trial: Any) -> float:
    """Each trial ends in its own way."""
    way = trial.number
    trial.suggest_float("x", 0.0, 1.0)
    if way == 1:
        kept: list[bytearray] = []
        while True:
            kept.append(bytearray(b"x") * _CHUNK)
    if way == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if way == 3:
        threading.Event().wait()
    if way == 4:
        raise ValueError("no luck")
    return 1.0


def pruned(trial: Any) -> float:
    """Reports, and stops on request."""
    x = trial.suggest_float("x", 0.0, 1.0)
    for step in range(5):
        trial.report(float(trial.number), step)
        if trial.should_prune():
            raise TrialPruned(f"at step {step}")
    return x


def wrong(trial: Any) -> float:
    """Requests what Optuna refuses."""
    return trial.suggest_float("x", 2.0, 1.0)


def meeting(trial: Any, folder: str) -> float:
    """Ends once another trial is running as well."""
    (Path(folder) / f"trial-{trial.number}").touch()
    wait_until(lambda: len(list(Path(folder).glob("trial-*"))) > 1, what="the other trial")
    return trial.suggest_float("x", 0.0, 1.0)
