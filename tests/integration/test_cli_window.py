"""`kmonitor --screenshot` as a process: the real window, without a screen."""

from pathlib import Path

import pytest

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
    "place", ["no-such-folder/window.png", "a-folder.png", "window.jpg", "window"]
)
def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path, place: str):
    (tmp_path / "a-folder.png").mkdir()

    ran = kmonitor("--screenshot", tmp_path / place, environ=NO_SCREEN)

    assert ran.status == 1
    assert f"{tmp_path / place} cannot be written" in ran.err


def test_a_run_that_is_not_there_is_named_and_no_window_opens(live_hub: LiveHub, tmp_path: Path):
    picture = tmp_path / "window.png"

    ran = kmonitor("--run", "zz", "--screenshot", picture, environ=NO_SCREEN)

    assert live_hub.process.poll() is None
    assert ran.status == 1
    assert 'no run "zz"' in ran.err
    assert not picture.exists()
