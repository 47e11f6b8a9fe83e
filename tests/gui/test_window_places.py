"""Positions where the window opens, on screens of real X servers without a window manager."""

import os
import subprocess
import sys

import pytest

from tests.support.virtual_screen import virtual_screen
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.gui, pytest.mark.screen, pytest.mark.slow]

PLACE = """
import sys
from PySide6.QtCore import QRect
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor.ui.theme.qt.theme import Theme as Look
from kmonitor.ui.shell.qt.window import MainWindow
qt = make_qt_application()
for words in sys.argv[1:]:
    window = MainWindow(Look())
    window.place(QRect(*map(int, words.split(","))) if words != "first" else None)
    window.show()
    qt.processEvents()
    at = window.frameGeometry()
    print(at.x(), at.y(), at.width(), at.height())
    window.close()
"""


def places_on(size: str, *saved: str) -> list[tuple[int, ...]]:
    with virtual_screen(f"{size}x24") as screen:
        ran = subprocess.run(
            [sys.executable, "-c", PLACE, *saved],
            env={**os.environ, **screen},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=True,
        )
    return [tuple(map(int, line.split())) for line in ran.stdout.splitlines()]


def test_the_window_opens_within_a_small_screen_also_where_it_was_left_on_a_larger_one():
    for size in ("1024x768", "800x600"):
        width, height = map(int, size.split("x"))
        found = places_on(size, "first", "0,0,1900,1000", "700,500,1000,640", "5000,0,1400,860")

        assert len(found) == 4
        for left, top, wide, high in found:
            assert left >= 0
            assert top >= 0
            assert left + wide <= width
            assert top + high <= height


def test_the_window_keeps_a_place_that_fits():
    first, left = places_on("1600x1000", "first", "100,50,1200,800")

    assert first[2:] == (1400, 860)
    assert left == (100, 50, 1200, 800)
