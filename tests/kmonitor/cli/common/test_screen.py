import tomllib
from pathlib import Path

import pytest

from kmonitor.cli.common import display
from kmonitor.cli.common.display import Display, find_display, install_line, missing_libraries

TABLE = Path(__file__).parents[4] / "packaging" / "system_libraries.toml"


def test_the_libraries_are_those_that_set_up_installs():
    rows = tomllib.loads(TABLE.read_text())["needed"]
    by_purpose = {
        "window": display.OFFSCREEN_LIBRARIES,
        "x11": display.X11_LIBRARIES,
        "wayland": display.WAYLAND_LIBRARIES,
    }

    for purpose, libraries in by_purpose.items():
        assert libraries == {
            row["soname"]: row["package"]
            for row in rows
            if row["for"] == purpose and "soname" in row
        }


def test_a_missing_library_comes_with_its_package(monkeypatch: pytest.MonkeyPatch):
    gone = {"libkmonitor-is-not-there.so.7": "libkmonitor7"}
    monkeypatch.setattr(display, "X11_LIBRARIES", gone)

    found = missing_libraries(for_screen=True, environ={"DISPLAY": ":0"})

    assert "libkmonitor-is-not-there.so.7" in found
    assert "libkmonitor7" in install_line(found)


def test_libraries_of_a_screen_that_is_not_there_are_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
):
    gone = {"libkmonitor-is-not-there.so.7": "libkmonitor7"}
    monkeypatch.setattr(display, "X11_LIBRARIES", gone)
    monkeypatch.setattr(display, "OFFSCREEN_LIBRARIES", {})

    assert missing_libraries(for_screen=False, environ={"DISPLAY": ":0"}) == {}
    assert missing_libraries(for_screen=True, environ={}) == {}


def test_without_a_display_there_is_no_screen():
    found = find_display({})

    assert found.display is Display.NONE
    assert "DISPLAY" in found.description


@pytest.mark.parametrize("platform", ["offscreen", "minimal:key=value", "vnc"])
def test_a_platform_without_screen_draws_into_memory(platform: str):
    assert find_display({"QT_QPA_PLATFORM": platform}).display is Display.OFFSCREEN


def test_a_display_that_does_not_answer_is_told_from_none(monkeypatch: pytest.MonkeyPatch):
    # libxcb reads the process's own environment.
    monkeypatch.setenv("DISPLAY", ":9731")

    found = find_display({"DISPLAY": ":9731"})

    assert found.display is Display.SILENT
    assert ":9731" in found.description
