# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
"""A signal comes at a line of ours, in a reload or any hook: it arrives, and the model is whole.

Ctrl+C, and a handler that raises at a time limit, as many scripts have one. The script decides
where the signal is let through; half a model or a lost signal is not allowed.
"""

import functools
import hashlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import keras
import numpy as np
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.recording.runs import RUNS
from tests.support.reloading import KERAS
from tests.support.running_tests import LONG

pytestmark = [*KERAS, pytest.mark.slow, LONG]

Line = tuple[str, int, str]
"""File of ours, line and function."""

COUNTS = [2, pytest.param(6, marks=pytest.mark.full)]
"""Lines of each kind of training, half of a reload's where variables are made again."""

PARTS = 6

ACTION = ("action_executor.py", "_perform")
"""Function of ours that carries out an action."""

HOOKS = "hooks"
"""No reload: all hooks from the fit's begin to its first epoch's end."""

X, Y = np.ones((32, 8), "float32"), np.ones((32, 4), "float32")


class TimeIsUp(Exception):
    """Raised by a script's own handler."""


def time_is_up(number: int, frame: FrameType | None) -> None:
    raise TimeIsUp


KINDS: dict[str, tuple[int, Any, type[BaseException]]] = {
    "Ctrl+C": (signal.SIGINT, signal.default_int_handler, KeyboardInterrupt),
    "a time limit": (signal.SIGUSR1, time_is_up, TimeIsUp),
}


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number, _, _ in KINDS.values()}
    for number, handler, _ in KINDS.values():
        signal.signal(number, handler)
    yield
    RUNS.close()
    for number, handler in before.items():
        signal.signal(number, handler)


@functools.cache
def name_of_ours(path: str) -> str:
    """Name of a file of the agent's; empty for others."""
    return Path(path).name if "kmonitor_agent" in path else ""


class Tracing:
    """Sees each line of the agent's on this thread, or sends a signal at one of them."""

    def __init__(self, target: Line | None, number: int, *, is_seen: bool) -> None:
        self.lines: dict[Line, None] = {}
        self.target = target
        self.is_sent = False
        self._number = number
        self._is_seen = is_seen

    def of_calls(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        file = name_of_ours(code.co_filename)
        of_target = self.target is None or (file, code.co_name) == self.target[::2]
        return self._of_lines if file and (of_target or code.co_name == ACTION[1]) else None

    def _of_lines(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        line = (name_of_ours(code.co_filename), frame.f_lineno, code.co_name)
        if line[::2] == ACTION:
            self._is_seen = event != "return"
        if event == "line" and self._is_seen:
            self.lines.setdefault(line)
            if line == self.target and not self.is_sent:
                self.is_sent = True
                sys.settrace(None)
                signal.raise_signal(self._number)
        return self._of_lines


class Before(keras.callbacks.Callback):
    """Has lines traced: those of the reload that it requests, or of all our hooks."""

    def __init__(self, monitor: Any, mode: str, tracing: Tracing) -> None:
        super().__init__()
        self.state = ""
        self._monitor, self._mode, self._tracing = monitor, mode, tracing

    def on_train_begin(self, logs: Any = None) -> None:
        if self._mode == HOOKS:
            sys.settrace(self._tracing.of_calls)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch == 0:
            self.state = state_of(self.model)
        if epoch == 0 and self._mode != HOOKS:
            self._monitor.request("reload", mode=self._mode)
            sys.settrace(self._tracing.of_calls)


class After(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        sys.settrace(None)


def state_of(model: Any) -> str:
    every = [*model.variables, *model.optimizer.variables]
    return hashlib.sha256(b"".join(np.asarray(each).tobytes() for each in every)).hexdigest()


def interrupted(mode: str, target: Line | None, kind: str) -> tuple[Tracing, str]:
    """Lines that were seen, and what went wrong."""
    number, _, error = KINDS[kind]
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), keras.layers.Dense(4)])
    model.compile("adam", "mse")
    tracing = Tracing(target, number, is_seen=mode == HOOKS)
    monitor = MonitorCallback(hub="off")
    before = Before(monitor, mode, tracing)
    met: BaseException | None = None
    try:
        model.fit(X, Y, epochs=2, verbose=0, callbacks=[before, monitor, After()])
    except (KeyboardInterrupt, TimeIsUp) as exc:
        met = exc
    finally:
        sys.settrace(None)
    if target is None:
        is_done = mode == HOOKS or monitor.records[-1].ok
        return tracing, "" if is_done else monitor.records[-1].why
    return tracing, _judged(model, before.state, tracing, is_met=isinstance(met, error))


def _judged(model: Any, state: str, tracing: Tracing, *, is_met: bool) -> str:
    if not tracing.is_sent:
        return "" if not is_met else "a signal that was never sent"
    if not is_met:
        return "the signal is lost"
    if SIGNALS.is_open:
        return "later signals are lost"
    try:
        if state and state_of(model) != state:
            return "the weights differ"
        model.predict(X, verbose=0)
        model.fit(X, Y, epochs=1, verbose=0)
    except Exception as exc:  # noqa: BLE001 - whatever half a model raises
        return f"the model is broken: {exc!r}"
    return ""


def wrong_at(mode: str, kind: str, chosen: Callable[[list[Line]], list[Line]]) -> list[str]:
    interrupted(mode, None, kind)  # what is imported at the first reload
    tracing, why = interrupted(mode, None, kind)
    assert not why
    lines = [each for each in tracing.lines if each[0] != "deferred_signals.py"]
    assert len(lines) > 160
    found = [(line, interrupted(mode, line, kind)[1]) for line in chosen(lines)]
    return [f"{line}: {why}" for line, why in found if why]


def spread(lines: list[Line], count: int) -> list[Line]:
    """This many of all lines, or one more, evenly; with few lines none at the ends."""
    step = max(1, len(lines) // count)
    return lines[step // 2 :: step]


@pytest.mark.promise(19)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("mode", ["assign", "recreate"])
def test_a_signal_at_some_lines_of_a_reload_arrives_and_leaves_the_model_whole(
    mode: str, count: int
):
    def chosen(lines: list[Line]) -> list[Line]:
        critical = [each for each in lines if each[2] in {"_make_all", "_rename_all", "recreate"}]
        return [*spread(lines, count // 2), *spread(critical, count // 2)]

    kind = "Ctrl+C" if mode == "recreate" else "a time limit"
    wrong = wrong_at(mode, kind, chosen)
    assert not wrong, "\n".join(wrong)


@pytest.mark.promise(19)
@pytest.mark.parametrize("count", COUNTS)
def test_what_a_handler_raises_at_some_lines_of_our_hooks_arrives(count: int):
    wrong = wrong_at(HOOKS, "a time limit", lambda lines: spread(lines, count))
    assert not wrong, "\n".join(wrong)


@pytest.mark.promise(19)
@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("mode", ["assign", "recreate", HOOKS])
def test_a_signal_at_every_third_line_of_ours_arrives_and_leaves_the_model_whole(
    mode: str, part: int
):
    wrong = wrong_at(mode, list(KINDS)[part % 2], lambda lines: lines[3 * part :: 3 * PARTS])
    assert not wrong, "\n".join(wrong)
