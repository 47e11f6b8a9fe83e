"""`top`, `runs --watch` and `show --follow` in a terminal, on a real hub and training."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.command_line import MODULE, kmonitor, start_kmonitor
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.running_tests import LONG
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.keras, LONG]

NAME = "resnet50-imagenet"
SIZES = [(60, 20), (80, 24), (100, 30), (120, 40)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """A hub, and a training that goes on until the last test has stopped it."""
    folder = tmp_path_factory.mktemp("terminal")
    environ = {"KMONITOR_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    ensured = kmonitor("hub", "ensure", environ=environ)
    assert ensured.status == 0, ensured.err
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.paced_training", NAME],
        env={**os.environ, **environ, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
    )
    try:
        wait_until(lambda: _first_epoch_has_ended(environ), what="an epoch is stored")
        yield environ
    finally:
        process.kill()
        process.wait(DEADLINE_S)
        kmonitor("hub", "stop", environ=environ)


def _first_epoch_has_ended(environ: Mapping[str, str]) -> bool:
    runs = kmonitor("runs", "--json", environ=environ).json
    return bool(runs) and runs[0]["epochs_done"] > 0 and "value" in runs[0]["ram"]


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_top_shows_the_training_at_each_size_and_leaves_no_trace(
    home: Mapping[str, str], columns: int, lines: int
):
    with PseudoTerminal("top", columns=columns, lines=lines, environ=home) as terminal:
        shown = terminal.wait_for("training", "iB").splitlines()
        row = next(line for line in shown if "training" in line)
        terminal.type("q")
        status = terminal.wait_end()

    assert status == 0
    assert len(shown) == lines
    assert NAME[:4] in row
    assert " MiB" in row or " GiB" in row
    assert terminal.screen.overruns == []
    assert not terminal.screen.is_alternate
    assert terminal.screen.has_cursor


def test_top_gives_the_terminal_back_as_it_was(home: Mapping[str, str]):
    with PseudoTerminal("top", environ=home) as terminal:
        terminal.wait_for("training")
        during = terminal.mode
        terminal.type("\x03")
        wait_until(lambda: terminal.process.poll() is not None, what="it ends")
        after = terminal.mode

    assert during != terminal.mode_before
    assert after == terminal.mode_before


def test_top_follows_the_size_of_its_terminal(home: Mapping[str, str]):
    with PseudoTerminal("top", columns=160, lines=40, environ=home) as terminal:
        terminal.wait_for("RAM, 10 MIN", "training")
        terminal.resize(80, 24)
        shown = terminal.wait_for("training", "q quit").splitlines()
        terminal.type("q")
        terminal.wait_end()

    assert len(shown) == 24
    assert shown[-1].startswith("q quit")
    assert "RAM, 10 MIN" not in "\n".join(shown)
    assert terminal.screen.overruns == []


def test_top_lists_details_filters_and_sorts(home: Mapping[str, str]):
    with PseudoTerminal("top", environ=home) as terminal:
        terminal.wait_for(NAME[:4], "training")
        terminal.type("\r")
        details = terminal.wait_for("RAM, 10 min", "Limits       none", "Fit 1 started")
        terminal.type("\x1b")
        terminal.type("/nothing like it")
        terminal.wait_for("in its name, host or model")
        terminal.type("\x1b")
        terminal.wait_for("training")
        terminal.type("o")
        terminal.wait_for("by name")
        terminal.type("q")
        assert terminal.wait_end() == 0

    assert "Step time" in details
    assert f"{NAME} started" in details


def test_top_asks_before_it_acts(home: Mapping[str, str]):
    with PseudoTerminal("top", columns=100, environ=home) as terminal:
        terminal.wait_for("training")
        terminal.type("s")
        terminal.wait_for(f'Save a checkpoint of "{NAME}"')
        terminal.type("n")
        terminal.wait_for("Cancelled.")
        for key, question, result in (
            ("s", "Save a checkpoint", "save is done"),
            ("c", "Collect traces", "collect is done"),
            ("r", "Save, clear and reload", "reload is done"),
            ("p", "Pause", "pause is done"),
            ("p", "Resume", "resume is done"),
        ):
            terminal.type(key)
            terminal.wait_for(question)
            terminal.type("y")
            terminal.wait_for(result)
        terminal.type("q")
        assert terminal.wait_end() == 0

    actions = [event for event in _events(home) if event["type"] == "action"]
    assert [event["action"] for event in actions] == [
        *("save", "collect", "reload", "pause", "resume"),
    ]


def _events(home: Mapping[str, str]) -> list[dict[str, object]]:
    return kmonitor("show", "last", "--json", environ=home).json["events"]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_runs_in_tmux(home: Mapping[str, str], tmp_path: Path):
    tmux = ["tmux", "-S", str(tmp_path / "s"), "-f", "/dev/null"]
    environ = {**os.environ, **home, "TERM": "xterm"}
    command = f"{sys.executable} -m {MODULE} top"
    words = [*tmux, "new-session", "-d", "-x", "80", "-y", "24", command]
    subprocess.run(words, env=environ, check=True, cwd=ROOT)

    def pane() -> str:
        return subprocess.run(
            [*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False
        ).stdout

    try:
        wait_until(lambda: "training" in pane(), what="top in tmux")
        shown = pane()
        subprocess.run([*tmux, "send-keys", "q"], check=True)
        wait_until(lambda: not pane(), what="top and its session end")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)

    assert "kmonitor top" in shown
    assert "q quit" in shown


def test_top_in_a_pipe_says_what_to_use(home: Mapping[str, str]):
    ran = kmonitor("top", environ=home)

    assert ran.status == 2
    assert "kmonitor runs" in ran.err


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_runs_are_watched_on_a_terminal(home: Mapping[str, str], columns: int, lines: int):
    words = ("runs", "--watch", "--state", "live", "--sort", "ram", "--limit", "5")
    with PseudoTerminal(*words, columns=columns, lines=lines, environ=home) as terminal:
        shown = terminal.wait_for("training", "Ctrl+C ends this")
        terminal.process.terminate()
        terminal.wait_end()

    assert "iB" in shown
    assert all(cell_len(line) <= columns for line in shown.splitlines())


def test_runs_are_watched_as_json_lines(home: Mapping[str, str]):
    with start_kmonitor("runs", "--watch", "--json", environ=home) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        process.terminate()
        process.communicate()

    assert f'"name":"{NAME}"' in first.replace(": ", ":")
    assert first != second


def test_a_run_is_followed_with_memory_graph_and_step_time(home: Mapping[str, str]):
    with start_kmonitor("show", "last", "--follow", environ=home) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        epoch = next(line for line in lines if " of fit 1 took " in line)
        process.terminate()
        process.communicate()

    for words in ("RAM ", "allocator (CPU) ", "graph ", "step "):
        assert words in epoch
    assert "VRAM" not in epoch


def test_top_stops_a_training(home: Mapping[str, str]):
    with PseudoTerminal("top", columns=100, environ=home) as terminal:
        terminal.wait_for("training")
        terminal.type("x")
        terminal.wait_for("Stop ")
        terminal.type("y")
        terminal.wait_for("No run is live")
        terminal.type("a")
        ended = terminal.wait_for("ended too", "EPOCH")
        terminal.type("q")
        assert terminal.wait_end() == 0

    assert "stopped" in ended or "finished" in ended
