"""`kmonitor --screenshot` as a process: the real window, without a screen."""

from pathlib import Path

import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.window import check_screenshot_name
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent

pytestmark = [pytest.mark.slow, pytest.mark.gui]

NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}


def test_the_window_is_drawn_into_a_file_on_a_machine_without_a_screen(
    live_hub: LiveHub, tmp_path: Path
):
    picture = tmp_path / "window.png"
    with SimulatedAgent(live_hub.folders, name="resnet") as agent:
        agent.start_fit()
        agent.start_epoch()
        agent.sample()
        agent.wait_acked()

        ran = kmonitor("--run", "resnet", "--screenshot", picture, environ=NO_SCREEN)

    assert ran.status == 0, ran.err
    assert ran.err == ""
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("no-such-folder/window.png", "the folder {}/no-such-folder does not exist"),
        ("a-folder.png", "it is a folder"),
        ("window.jpg", "the image must be a PNG file"),
        ("window", "the image must be a PNG file"),
    ],
)
def test_a_picture_that_cannot_be_written_is_named_with_the_cause(
    tmp_path: Path, place: str, why: str
):
    (tmp_path / "a-folder.png").mkdir()

    ran = kmonitor("--screenshot", tmp_path / place, environ=NO_SCREEN)

    assert ran.status == 1
    assert f"{tmp_path / place} cannot be written: {why.format(tmp_path)}." in ran.err


@pytest.mark.parametrize("place", ["../", "..", ".", "a-folder"])
def test_a_folder_is_no_stem_of_a_pictures_name(tmp_path: Path, place: str):
    (tmp_path / "a-folder").mkdir()

    with pytest.raises(UserError) as told:
        check_screenshot_name(tmp_path / place)

    assert told.value.remedy == "Choose a file name that ends in .png."


def test_a_disk_that_is_full_is_the_one_cause_that_is_told(live_hub: LiveHub, tmp_path: Path):
    picture = tmp_path / "window.png"
    picture.symlink_to("/dev/full")

    ran = kmonitor("--screenshot", picture, environ=NO_SCREEN)

    assert live_hub.process.poll() is None
    assert ran.status == 1
    assert ran.err.splitlines() == [
        f"kmonitor: {picture} cannot be written: No space left on device.",
        "Choose another file.",
    ]


def test_a_run_that_is_not_there_is_named_and_no_window_opens(live_hub: LiveHub, tmp_path: Path):
    picture = tmp_path / "window.png"

    ran = kmonitor("--run", "zz", "--screenshot", picture, environ=NO_SCREEN)

    assert live_hub.process.poll() is None
    assert ran.status == 1
    assert 'Unknown run: "zz"' in ran.err
    assert not picture.exists()


def test_a_home_that_cannot_be_written_is_told_once_with_what_to_do(tmp_path: Path):
    picture = tmp_path / "window.png"
    environ = {**NO_SCREEN, "KMONITOR_HOME": "/proc/kmonitor"}

    drawn = kmonitor("--screenshot", picture, environ=environ)
    hub = kmonitor("hub", environ=environ)

    for ran in (drawn, hub):
        assert ran.status == 1
        told, remedy = ran.err.splitlines()
        assert told.startswith("kmonitor: /proc/kmonitor")
        assert "set KMONITOR_HOME to a folder that you can write to" in remedy.replace(
            "Set", "set"
        )
    assert not picture.exists()
