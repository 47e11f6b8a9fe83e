"""A real IPython kernel: one run, a fit for each cell, and an interrupt shown as what it is."""

import contextlib
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import FitEnded, SessionEnded, SessionStarted
from tests.support.spooled import spooled_events
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.keras, pytest.mark.slow]

SETUP = """
import os, pathlib, keras, numpy as np
from kmonitor_agent import MonitorCallback
monitor = MonitorCallback(hub="off")
x = np.ones((32, 4), "float32"); y = np.ones((32, 1), "float32")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
flag = pathlib.Path(os.environ["KMONITOR_HOME"], "began")
class Flag(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        flag.touch()
def fit(epochs):
    model.fit(x, y, epochs=epochs, verbose=0, callbacks=[monitor, Flag()])
monitor.run_id
"""


class Notebook:
    """A kernel and its client."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client: Any = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=2 * DEADLINE_S)

    def run(self, code: str) -> dict[str, Any]:
        """Run a cell to its end; the shell's reply."""
        return self.reply(self.begin(code))

    def begin(self, code: str) -> str:
        """Start a cell; its message's id."""
        # After a cell that fails a kernel drops those that come too soon; these come at once.
        return self.client.execute(
            code, user_expressions={"run": "monitor.run_id"}, stop_on_error=False
        )

    def reply(self, message: str, timeout_s: float = 2 * DEADLINE_S) -> dict[str, Any]:
        """The shell's reply to a cell. Raises: `queue.Empty`."""
        while True:
            answer = self.client.get_shell_msg(timeout=timeout_s)
            if answer["parent_header"].get("msg_id") == message:
                return answer["content"]

    def interrupt(self, message: str) -> dict[str, Any]:
        """Interrupt a running cell; the shell's reply.

        Python drops an interrupt that comes while an object is being deleted, hence again.
        """
        for _ in range(5):
            self.manager.interrupt_kernel()
            with contextlib.suppress(queue.Empty):
                return self.reply(message, timeout_s=DEADLINE_S)
        raise AssertionError("the cell goes on")


@pytest.fixture
def notebook(kmonitor_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/study.ipynb")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kmonitor_home.mkdir()
    manager = KernelManager()
    manager.start_kernel()
    notebook = Notebook(manager)
    try:
        yield notebook
    finally:
        notebook.client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def test_fits_of_cells_belong_to_one_run_and_an_interrupted_one_is_told_at_once(
    notebook: Notebook, kmonitor_home: Path, folders: Folders
):
    run = notebook.run(SETUP)["user_expressions"]["run"]["data"]["text/plain"].strip("'")
    assert notebook.run("fit(2)")["status"] == "ok"
    flag = kmonitor_home / "began"
    flag.unlink()
    endless = notebook.begin("fit(100_000)")
    wait_until(flag.exists, 2 * DEADLINE_S, "the endless fit began")
    assert notebook.interrupt(endless)["ename"] == "KeyboardInterrupt"
    assert notebook.run("raise ValueError('outside of any fit')")["ename"] == "ValueError"
    assert notebook.run("model.fit(x, 'nonsense', callbacks=[monitor])")["status"] == "error"
    assert notebook.run("fit(1)")["status"] == "ok"
    notebook.client.shutdown()
    wait_until(lambda: not notebook.manager.is_alive(), DEADLINE_S, "the kernel ended")

    events = spooled_events(folders, run)
    ends = [e for e in events if isinstance(e, FitEnded)]
    [session] = [e for e in events if isinstance(e, SessionStarted)]
    assert session.name == "study.ipynb"
    assert [(e.how, e.error_type) for e in ends] == [
        ("finished", ""),
        ("interrupted", "KeyboardInterrupt"),
        ("finished", ""),
    ]
    assert isinstance(events[-1], SessionEnded)
    assert events[-1].why == "finished"
