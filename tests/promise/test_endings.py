"""Signals end commands quietly: their status, their children and their files."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from tests.support.command_line import kmonitor
from tests.support.running_tests import LONG
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.slow, LONG]

SLEEPER = """
import time
def build():
    open("begun", "w").close()
    time.sleep(900)
"""

COMMANDS = (
    ("runs",),
    ("show", "last"),
    ("doctor",),
    ("map", "model.json"),
    ("hub", "status"),
    ("--help",),
)


def started(
    words: tuple[str, ...], folder: Path, environ: Mapping[str, str]
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "kmonitor", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_signal_during_the_imports_ends_a_command_quietly(
    words: tuple[str, ...], number: signal.Signals, tmp_path: Path
):
    environ = {"KMONITOR_HOME": str(tmp_path), "PYTHONVERBOSE": ""}
    process = started(words, tmp_path, environ)
    # Python itself catches SIGINT; our first line catches SIGTERM too.
    wait_until(
        lambda: _catches(process, signal.SIGTERM) or process.poll() is not None, what="the handler"
    )
    process.send_signal(number)
    _, err = process.communicate(timeout=DEADLINE_S)

    assert process.returncode in (128 + number, 0, 1)
    assert "Traceback" not in err


def _catches(process: "subprocess.Popen[str]", number: int) -> bool:
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    except OSError:
        return True
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.full),
        signal.SIGTERM,
        pytest.param(signal.SIGKILL, marks=pytest.mark.full),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "words",
    [
        ("map", "model.py:build"),
        pytest.param(("load-cost", "model.keras"), marks=pytest.mark.full),
    ],
    ids=str,
)
def test_a_command_that_is_ended_ends_its_children(
    words: tuple[str, ...], number: signal.Signals, tmp_path: Path
):
    pytest.importorskip("keras")
    (tmp_path / "model.py").write_text(SLEEPER, encoding="utf-8")
    (tmp_path / "custom.py").write_text(SLEEPER + "build()\n", encoding="utf-8")
    if words[0] == "load-cost":
        _save_model(tmp_path / "model.keras")
        words = (*words, "--custom", "custom.py", "--allow-code")
    process = started(words, tmp_path, {"KMONITOR_HOME": str(tmp_path / "home")})
    wait_until((tmp_path / "begun").exists, 3 * DEADLINE_S, "the child")
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    process.communicate(timeout=DEADLINE_S)

    assert children
    wait_until(lambda: not any(map(_runs, children)), what="the children have ended")


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _save_model(path: Path) -> None:
    code = (
        "import keras, sys; m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]);"
        " m.compile('sgd', 'mse'); m.save(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)


def test_ctrl_c_ends_a_hub_with_130(tmp_path: Path):
    environ = {"KMONITOR_HOME": str(tmp_path)}
    process = started(("hub",), tmp_path, environ)
    wait_until(
        lambda: kmonitor("hub", "status", environ=environ).status == 0, 2 * DEADLINE_S, "the hub"
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, "Traceback" in err) == (130, False)
