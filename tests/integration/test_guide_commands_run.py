"""Each command line that README and guide show does its work where it is typed."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kmonitor.connect.local_hub import request_local_hub, stop_hub
from kmonitor_agent.wire.local.folders import Folders, find_folders
from tests.support.command_line import start_kmonitor
from tests.support.guide_code import install_lines
from tests.support.guide_reader import TRAINING, Line, Reader, whole_lines
from tests.support.loopback import free_port
from tests.support.ssh_host import NAME, SshHost, live_ssh_host, ssh_host
from tests.support.team_server import team_server, team_url
from tests.support.waiting import DEADLINE_S, wait_until

__all__ = ["live_ssh_host", "ssh_host", "team_server", "team_url"]

_ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.full

MORE: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("--screenshot", "window.png"),
    ("--folder",): ("--screenshot", "folder.png"),
    ("completion", "--install"): ("--shell", "bash"),
    ("export", "RUN"): ("--format", "csv"),
    ("demo",): (
        *("--folds=4", "--epochs=2", "--seconds=0"),
        *("--no-plain", "--no-window", "--temporary"),
    ),
    ("load-cost",): ("--repeats", "1", "--ways", "uncompiled"),
    ("load-cost", "model.weights.h5", "--config", "model.json", "--repeats", "9"): (
        *("--ways", "weights"),
    ),
    ("purge",): ("--yes",),
    ("runs", "prune"): ("--yes",),
}
"""Options typed behind a line, so that it needs no answer, ends, and ends soon."""

BEFORE: dict[tuple[str, ...], tuple[str, ...]] = {
    ("alerts", "test"): ("alerts", "set", "--webhook", "", "--command", "true"),
    ("hosts", "rename", NAME, "gpu"): ("hosts", "add", NAME),
    ("hub", "move-history", "postgresql://kmonitor@db.example/team"): ("hub", "stop"),
}
"""Command that a reader has typed before."""

NAMES: set[tuple[str, ...]] = {("run",), ("runs", "prune"), ("top",), ("top", "--sort", "ram")}
"""Lines that only name a command, which says what to give it, or needs a terminal.

`kmonitor top` runs in test_cli_terminal, `kmonitor runs prune` in test_cli_places.
"""


def _scene(line: Line) -> str:
    """Place where a line is typed: at a live training, for another hub, for a team, or at home."""
    words = line.words
    if any(word.startswith("postgresql://") for word in words):
        return "team"
    if NAME in words or words[:1] == ("hosts",):
        return "far"
    if any(word.startswith("tcp://gpu-01:") for word in words):
        return "direct"
    if words[:1] == ("command",):
        return "live"
    return "leaving" if words == ("purge",) else "home"


def _lines(scene: str) -> list[Line]:
    return [line for line in whole_lines() if line.words not in NAMES and _scene(line) == scene]


@pytest.fixture
def reader(tmp_path: Path, folders: Folders) -> Iterator[Reader]:
    """A reader with scripts, a model, a run that has ended with a state saved, and a folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("train.py", "script.py"):
        (folder / name).write_text(TRAINING)
    reader = Reader(folder, _given(folder))
    reader.environ["XDG_CONFIG_HOME"] = reader.environ["XDG_DATA_HOME"] = str(folder / "own")
    reader.environ["HOME"] = str(folder)
    told = reader.run("hub", "ensure", "--json")
    assert told.status == 0, told.err
    _train(reader)
    _train(reader, KMONITOR_HUB="off", KMONITOR_SPOOL=str(folder / "spool"))
    state = min(folders.checkpoints.rglob("*.h5"))
    reader.stands_for["CHECKPOINT"] = str(state)
    yield reader
    stop_hub(folders)


def _given(folder: Path) -> dict[str, str]:
    """Values that a reader types for the words in capitals, and addresses that are not here."""
    return {
        "RUN": "last",
        "A": "last",
        "B": "last",
        "ACTION": "save",
        "ROLE": "viewer",
        "NAME": "laptop",
        "TARGET": "script.py:build_model",
        "FOLDER": str(folder / "spool"),
        "/shared/folder": str(folder / "spool"),
        "/scratch/ada/kmonitor": str(folder / "spool"),
        "pinned:main": "last",
        "FILE": "written.csv",
        "FILE.html": "report.html",
        "ADDRESS": NAME,
        "ADDRESS:PORT": f"127.0.0.1:{free_port()}",
        "127.0.0.1:9188": f"127.0.0.1:{free_port()}",
        "0.0.0.0:5577": f"127.0.0.1:{free_port()}",
        "9": "1",
    }


def _train(reader: Reader, **environ: str) -> None:
    ran = reader.run("run", "--", "python", "train.py", environ=environ)
    assert ran.status == 0, ran.err


@pytest.mark.keras
@pytest.mark.gui
@pytest.mark.prometheus_client
@pytest.mark.opentelemetry
def test_each_line_of_the_guide_works_at_home(reader: Reader) -> None:
    lines = _lines("home")
    for line in lines:
        _type(reader, line)

    assert len(lines) > 50
    assert not reader.failures, "\n".join(reader.failures)


@pytest.mark.keras
def test_the_line_that_removes_everything_works(reader: Reader, folders: Folders) -> None:
    (line,) = _lines("leaving")

    _type(reader, line)

    assert not reader.failures, "\n".join(reader.failures)
    assert list(folders.state.iterdir()) == []


@pytest.mark.keras
def test_each_line_of_the_guide_works_at_a_live_training(reader: Reader) -> None:
    lines = sorted(_lines("live"), key=lambda line: "restart" in line.words)
    with _long_training(reader):
        for line in lines:
            _type(reader, line)

    assert len(lines) > 5
    assert not reader.failures, "\n".join(reader.failures)


@pytest.mark.keras
@pytest.mark.ssh
def test_each_line_of_the_guide_works_with_another_host(
    reader: Reader, live_ssh_host: SshHost
) -> None:
    there = live_ssh_host.folder / "bin" / "kmonitor"
    reader.stands_for["/opt/venv/bin/kmonitor"] = str(there)
    lines = _lines("far")
    for line in lines:
        _type(reader, line)

    assert len(lines) > 5
    assert not reader.failures, "\n".join(reader.failures)


@pytest.mark.keras
def test_each_line_of_the_guide_works_with_a_key(reader: Reader, folders: Folders) -> None:
    stop_hub(folders)
    key = reader.run("keys", "mine").out.strip()
    words = ("hub", "--bind", f"127.0.0.1:{free_port()}")
    with start_kmonitor(*words, environ=reader.variables(), folder=reader.folder) as process:
        wait_until(lambda: request_local_hub(folders), what="the hub answers")
        reader.run("authorize", key, "--role", "viewer", "--name", "laptop")
        address = json.loads(reader.run("keys", "list", "--json").out)["address"]
        reader.stands_for["tcp://gpu-01:5577?key=..."] = address
        lines = _lines("direct")
        for line in lines:
            _type(reader, line)
        stop_hub(folders)
        process.communicate(timeout=DEADLINE_S)

    assert len(lines) == 2
    assert not reader.failures, "\n".join(reader.failures)


@pytest.mark.keras
@pytest.mark.psycopg
def test_each_line_of_the_guide_works_with_a_teams_database(reader: Reader, team_url: str) -> None:
    for name in ("postgresql://...", "postgresql://kmonitor@db.example/team"):
        reader.stands_for[name] = team_url
    lines = _lines("team")
    for line in lines:
        _type(reader, line)

    assert len(lines) > 2
    assert not reader.failures, "\n".join(reader.failures)


@pytest.mark.parametrize("line", install_lines())
def test_each_line_that_installs_finds_what_it_names(line: str) -> None:
    words = ["-m", *shlex.split(line)[2:], "--dry-run", "--no-build-isolation", "--no-deps"]

    ran = subprocess.run(
        [sys.executable, *words],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * DEADLINE_S,
    )

    assert ran.returncode == 0, ran.stderr
    assert "does not provide the extra" not in ran.stderr


def _type(reader: Reader, line: Line) -> None:
    """Type a line with what it needs before and behind it; a hub is left once it answers."""
    if _serves(line):
        _serve(reader, line)
        return
    if line.words in BEFORE:
        reader.read(Line(line.page, BEFORE[line.words]))
    more = [MORE[n] for n in (line.words, line.words[:2], line.words[:1]) if n in MORE][:1]
    drawn = "--screenshot" in line.words or "--help" in line.words
    reader.read(line, () if drawn else [word for words in more for word in words])


def _serves(line: Line) -> bool:
    return line.words[:1] == ("hub",) and all(word.startswith("-") for word in line.words[1:2])


def _serve(reader: Reader, line: Line) -> None:
    home = find_folders({"KMONITOR_HOME": str(reader.folder / f"hub-{free_port()}")})
    environ = {**reader.variables(), "KMONITOR_HOME": str(home.state)}
    with start_kmonitor(*reader.typed(line), environ=environ, folder=reader.folder) as process:
        wait_until(lambda: request_local_hub(home) or process.poll() is not None, what=line.told)
        stop_hub(home)
        _, said = process.communicate(timeout=DEADLINE_S)
    if process.returncode:
        reader.failures.append(f"{line.told}: {process.returncode}: {said}")


@contextmanager
def _long_training(reader: Reader) -> "Iterator[subprocess.Popen[str]]":
    words = ("run", "--", "python", "train.py", "--long")
    stop = ("command", "last", "stop", "--wait")
    process = start_kmonitor(*words, environ=reader.variables(), folder=reader.folder)
    try:
        wait_until(
            lambda: "training" in reader.run("runs").out or process.poll() is not None,
            what="the training is told",
        )
        yield process
    finally:
        # After a restart it takes a moment until the callback can receive it.
        wait_until(
            lambda: process.poll() is not None or not reader.run(*stop).status, what="it stops"
        )
        process.communicate(timeout=2 * DEADLINE_S)
