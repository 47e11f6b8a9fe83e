"""The demo as a user starts it: a real training that leaks, crosses, reloads and stays equal."""

import os
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.demo import command
from kmonitor.cli.demo.evidence import DemoEvidence
from kmonitor.cli.demo.processes import DemoProcess, DemoScene
from kmonitor.cli.main import main
from kmonitor.connect.local_hub import request_local_hub, stop_hub
from kmonitor.demo.reports import FoldDone
from kmonitor_agent.wire.local.folders import Folders
from tests.support.command_line import kmonitor
from tests.support.running_tests import LONG
from tests.support.waiting import DEADLINE_S

pytestmark = LONG

NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
SHORT = ("demo", "--folds=4", "--epochs=2", "--seconds=0")


@pytest.mark.slow
@pytest.mark.keras
def test_the_demo_grows_crosses_reloads_and_goes_on(folders: Folders):
    try:
        ran = kmonitor(*SHORT, "--no-plain", "--no-window", timeout_s=4 * DEADLINE_S)
        shown = kmonitor("show", "last", "--json").json
    finally:
        stop_hub(folders)

    assert ran.status == 0, ran.err
    assert "Reloaded after epoch 1" in ran.out
    assert shown["summary"]["state"] == "finished"
    (record,) = [event for event in shown["events"] if event["type"] == "action"]
    assert record["action"] == "reload"
    assert record["fit"] == 4
    assert record["after"]["graph_operations"] < record["before"]["graph_operations"] / 4


@pytest.mark.full
@pytest.mark.gui
@pytest.mark.keras
def test_the_whole_demo_without_a_screen_leaves_a_picture_and_equal_results(
    tmp_path: Path, folders: Folders
):
    picture = tmp_path / "demo.png"

    ran = kmonitor(
        *SHORT, "--temporary", f"--png={picture}", environ=NO_SCREEN, timeout_s=4 * DEADLINE_S
    )

    assert ran.status == 0, ran.err + ran.out
    assert "identical results" in ran.out
    assert ran.out.count(" equal ") == 4  # one for each model
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert request_local_hub(folders) is None
    assert not folders.state.exists()


def test_without_keras_the_demo_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(UserError) as raised:
        command.demo()

    assert "keras and tensorflow" in raised.value.what
    assert ".[demo]" in raised.value.remedy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--png={tmp}/gone/a.png",), "the folder {tmp}/gone"),
        (("--png=a.jpg",), "the image must be a PNG file"),
        (("--png=a.png", "--no-window"), "cannot be combined with --no-window"),
    ],
)
def test_a_picture_that_cannot_be_is_refused_before_anything_starts(
    words: tuple[str, ...],
    said: str,
    folders: Folders,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    # Nothing starts if what is tested here does not hold either.
    monkeypatch.setattr(command, "play", lambda plan: 0)

    status = main(["demo", *(word.format(tmp=tmp_path) for word in words)])

    assert status == 2
    assert said.format(tmp=tmp_path) in capsys.readouterr().err
    assert not folders.state.exists()


def test_a_picture_that_fails_after_all_takes_no_result_along(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refuse(_scene: DemoScene, _picture: Path) -> None:
        raise UserError("The window could not be drawn.")

    folds = [FoldDone(1, 1.0, 700, 28, 10**9, 0.9, "digest")]
    for name, value in {
        "start": lambda _scene, plain: None,
        "watch": lambda _scene: None,
        "monitored": folds,
        "plain": folds,
        "stored_evidence": lambda _scene: DemoEvidence((), (), (), 700, 0),
        "draw_window": refuse,
    }.items():
        monkeypatch.setattr(DemoScene, name, value)
    plan = command.DemoPlan(4, 2, 0.0, plain=True, screenshot=folders.state / "a.png", window=True)

    with pytest.raises(UserError, match="could not be drawn"):
        command.play(plan)

    told = capsys.readouterr()
    assert "Without kmonitor, and with it" in told.out
    assert "missing: crossing" in told.err


@pytest.mark.slow
def test_a_training_that_fails_is_reported_with_what_it_said(tmp_path: Path):
    reports: Queue[tuple[DemoProcess, Any]] = Queue()
    training = DemoProcess("plain", ["--folds=0"], reports, log=tmp_path / "log")

    with pytest.raises(UserError) as raised:
        training.wait()

    assert "(plain) exited with status" in raised.value.what
    assert "folds" in raised.value.remedy


@pytest.mark.slow
@pytest.mark.keras
def test_a_training_that_is_stopped_leaves_nothing_behind(tmp_path: Path):
    reports: Queue[tuple[DemoProcess, Any]] = Queue()
    training = DemoProcess("plain", ["--plain"], reports, log=tmp_path / "log")

    training.stop()

    assert reports.get(timeout=DEADLINE_S)[1] is None
    with pytest.raises(ProcessLookupError):
        os.kill(training.pid, 0)
