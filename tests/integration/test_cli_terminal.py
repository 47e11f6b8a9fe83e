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
from tests.support.pseudo_terminal import PALETTE, PseudoTerminal, colours
from tests.support.running_tests import LONG
from tests.support.ssh_host import NAME as NAME_OF_HOST
from tests.support.ssh_host import SshHost, ssh_host
from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S, wait_until

__all__ = ["ssh_host"]

pytestmark = [pytest.mark.slow, pytest.mark.keras, LONG]

NAME = "resnet50-imagenet"
SIZES = [(60, 20), (80, 24), (100, 30), (120, 40)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """A hub, and a training that continues until the last test has stopped it."""
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
) -> None:
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


def test_top_gives_the_terminal_back_as_it_was(home: Mapping[str, str]) -> None:
    with PseudoTerminal("top", environ=home) as terminal:
        terminal.wait_for("training")
        during = terminal.mode
        terminal.type("\x03")
        wait_until(lambda: terminal.process.poll() is not None, what="it ends")
        after = terminal.mode

    assert during != terminal.mode_before
    assert after == terminal.mode_before


def test_top_follows_the_size_of_its_terminal(home: Mapping[str, str]) -> None:
    with PseudoTerminal("top", columns=160, lines=40, environ=home) as terminal:
        terminal.wait_for("RAM, 10 MIN", "training")
        terminal.resize(80, 24)
        shown = terminal.wait_for("training", "q quit").splitlines()
        terminal.screen.overruns.clear()  # of a frame that was on its way in the old size
        terminal.type("?")
        terminal.wait_for("training", "PgUp")
        terminal.type("q")
        terminal.wait_end()

    assert len(shown) == 24
    assert shown[-1].startswith("q quit")
    assert "RAM, 10 MIN" not in "\n".join(shown)
    assert terminal.screen.overruns == []


def test_top_lists_details_filters_and_sorts(home: Mapping[str, str]) -> None:
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


def test_top_asks_before_it_acts(home: Mapping[str, str]) -> None:
    with PseudoTerminal("top", columns=100, environ=home) as terminal:
        terminal.wait_for("training")
        terminal.type("s")
        terminal.wait_for(f'Save a checkpoint of "{NAME}"')
        terminal.type("n")
        terminal.wait_for("Canceled.")
        for key, question, result, state in (
            ("s", "Save a checkpoint", "save is done", "training"),
            ("c", "Free traces", "collect is done", "training"),
            ("r", "Save, clear and reload", "reload is done", "training"),
            ("p", "Pause", "pause is done", "paused"),
            ("p", "Resume", "resume is done", "training"),
        ):
            terminal.type(key)
            terminal.wait_for(question)
            terminal.type("y")
            # The next question for "p" depends on the state in the row.
            terminal.wait_for(result, state)
        terminal.type("q")
        assert terminal.wait_end() == 0

    actions = [event for event in _events(home) if event["type"] == "action"]
    assert [event["action"] for event in actions] == [
        *("save", "collect", "reload", "pause", "resume"),
    ]


def _events(home: Mapping[str, str]) -> list[dict[str, object]]:
    return kmonitor("show", "last", "--json", environ=home).json["events"]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_runs_in_tmux_resizes_and_gives_the_shell_back(
    home: Mapping[str, str], tmp_path: Path
) -> None:
    tmux = ["tmux", "-S", str(tmp_path / "s"), "-f", "/dev/null"]
    environ = {**os.environ, **home, "TERM": "xterm"}
    # At its end cat writes what is typed a second time, and the terminal echoes it again.
    line = f"{sys.executable} -m {MODULE} top; echo status $?; cat"
    words = [*tmux, "new-session", "-d", "-x", "120", "-y", "30", line]
    subprocess.run(words, env=environ, check=True, cwd=ROOT)

    def do(*words: str) -> str:
        return subprocess.run([*tmux, *words], capture_output=True, text=True, check=False).stdout

    def pane() -> str:
        return do("capture-pane", "-p")

    try:
        wait_until(lambda: "VERDICT" in pane() and "training" in pane(), what="top in tmux")
        wide = pane()
        do("resize-window", "-x", "80", "-y", "24")
        wait_until(
            lambda: len(_rule(pane())) == 24 and "q quit" in _rule(pane())[-1], what="small"
        )
        small = pane()
        do("send-keys", "q")
        wait_until(lambda: "status 0" in pane(), what="it ends")
        do("send-keys", "typed", "Enter")
        wait_until(lambda: "typed\ntyped\n" in pane(), what="an echo")
        after = do("display", "-p", "#{alternate_on} #{cursor_flag}")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)

    assert "kmonitor top" in wide
    assert all(cell_len(line) <= 80 for line in small.splitlines())
    assert after.split() == ["0", "1"]


def _rule(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


@pytest.mark.ssh
def test_top_works_over_ssh_resizes_and_gives_the_terminal_back(
    home: Mapping[str, str], ssh_host: SshHost
) -> None:
    ssh_host.start(KMONITOR_HOME=home["KMONITOR_HOME"])
    command = (str(ssh_host.folder / "client" / "ssh"), "-tt", NAME_OF_HOST)
    with PseudoTerminal("kmonitor top", columns=120, lines=30, command=command) as terminal:
        terminal.wait_for("training", "VERDICT", "q quit")
        during = terminal.mode
        terminal.resize(80, 24)
        shown = terminal.wait_for("training", "q quit").splitlines()
        terminal.type("\r")
        terminal.wait_for("Limits ")
        terminal.type("q")
        wait_until(lambda: terminal.process.poll() is not None, what="ssh ends")
        after = terminal.mode

    assert terminal.process.returncode == 0
    assert len(shown) == 24
    assert shown[-1].startswith("q quit")
    assert during != terminal.mode_before
    assert after == terminal.mode_before
    assert not terminal.screen.is_alternate
    assert terminal.screen.has_cursor


@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}], ids=["colours", "NO_COLOR"])
def test_top_leaves_colours_to_the_terminal(
    home: Mapping[str, str], environ: dict[str, str]
) -> None:
    variables = {**home, **environ}
    with PseudoTerminal("top", columns=120, lines=30, environ=variables) as terminal:
        terminal.wait_for("training", "iB")
        terminal.type("q")
        terminal.wait_end()

    assert colours(terminal.output) <= (set() if environ else PALETTE)
    assert bool(colours(terminal.output)) is not bool(environ)


def test_top_in_a_pipe_says_what_to_use(home: Mapping[str, str]) -> None:
    ran = kmonitor("top", environ=home)

    assert ran.status == 2
    assert "kmonitor runs" in ran.err


@pytest.mark.parametrize(("columns", "lines"), SIZES)
def test_runs_are_watched_on_a_terminal(home: Mapping[str, str], columns: int, lines: int) -> None:
    words = ("runs", "--watch", "--state", "live", "--sort", "ram", "--limit", "5")
    with PseudoTerminal(*words, columns=columns, lines=lines, environ=home) as terminal:
        shown = terminal.wait_for("training", "press Ctrl+C to stop")
        terminal.process.terminate()
        terminal.wait_end()

    assert "iB" in shown
    assert all(cell_len(line) <= columns for line in shown.splitlines())


@pytest.mark.exposed
def test_runs_are_watched_as_json_lines(home: Mapping[str, str]) -> None:
    with start_kmonitor("runs", "--watch", "--json", environ=home) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        process.terminate()
        process.communicate()

    assert f'"name":"{NAME}"' in first.replace(": ", ":")
    assert first != second


def test_a_run_is_followed_with_memory_graph_and_step_time(home: Mapping[str, str]) -> None:
    with start_kmonitor("show", "last", "--follow", environ=home) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        epoch = next(line for line in lines if " of fit 1 took " in line)
        process.terminate()
        process.communicate()

    for words in ("RAM ", "allocator (CPU) ", "graph ", "step "):
        assert words in epoch
    assert "VRAM" not in epoch


def test_top_stops_a_training(home: Mapping[str, str]) -> None:
    with PseudoTerminal("top", columns=100, environ=home) as terminal:
        terminal.wait_for("training")
        terminal.type("x")
        terminal.wait_for("Stop ")
        terminal.type("y")
        terminal.wait_for("No run is live")
        terminal.type("a")
        ended = terminal.wait_for("incl. ended", "EPOCH")
        terminal.type("q")
        assert terminal.wait_end() == 0

    assert "stopped" in ended or "finished" in ended
