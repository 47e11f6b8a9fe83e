"""`kmonitor`: open the app, or explain what keeps it from opening."""

import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.screen import Display, find_display, install_line, missing_libraries
from kmonitor.errors import Expected

BROKEN_QT = {
    "6.8.0": "misdraws charts",
    "6.9.1": "misdraws charts",
    "6.12.0": "aborts Python 3.10 and 3.11 within seconds",
}
"""Releases of PySide6 that do not work with the charts, and what they do."""

INSTALL_WINDOW = 'python -m pip install ".[desktop]"'
"""What installs the window's packages, in a clone of kmonitor."""


def window(
    *,
    run: Annotated[str | None, Parameter(name="--run")] = None,
    screenshot: Annotated[Path | None, Parameter(name="--screenshot")] = None,
) -> int:
    """Open the window.

    Args:
        run: Select this run: its id, the beginning of its id, its name, or `last`.
        screenshot: Draw the window into this PNG file once its data are there, and leave.
            Works without a screen.
    """
    ready_for_qt(offscreen=screenshot is not None)
    raise NotImplementedError(run)


def ready_for_qt(*, offscreen: bool) -> None:
    """See that Qt can start here, before it is imported.

    Args:
        offscreen: Nothing is to be shown, only drawn.

    Raises:
        Expected: Packages, system libraries or the display are missing; says the line to run.
    """
    _see_packages()
    found = find_display()
    for_screen = not offscreen and found.display is not Display.OFFSCREEN
    if for_screen and found.display is Display.NONE:
        raise NoScreen(found.said)
    missing = missing_libraries(for_screen=for_screen)
    if missing:
        raise Expected(
            f"The window needs system libraries that are not here: {', '.join(missing)}.",
            f"Run: {install_line(missing)}",
        )
    # Only now: asking a display needs one of those libraries.
    if for_screen and found.display is Display.SILENT:
        raise NoScreen(found.said)


class NoScreen(Expected):
    """There is no display to open a window on."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"There is no screen here ({said}).",
            "Run kmonitor on your desktop. On this machine: kmonitor runs, kmonitor show last,\n"
            "or kmonitor --screenshot window.png, which draws the window into a file.",
        )


def _see_packages() -> None:
    for module, distribution in (("PySide6", "PySide6-Essentials"), ("pyqtgraph", "pyqtgraph")):
        if importlib.util.find_spec(module) is None:
            raise Expected(
                f"The window needs {distribution}, which is not installed.",
                f"Run, in the clone of kmonitor: {INSTALL_WINDOW}",
            )
    version = qt_version()
    if version in BROKEN_QT:
        raise Expected(
            f"PySide6 {version} is installed, which {BROKEN_QT[version]}.",
            'Run: python -m pip install "PySide6-Essentials==6.11.3"',
        )


def qt_version() -> str:
    """Version of the installed PySide6, or empty; nothing is imported."""
    for distribution in ("PySide6-Essentials", "PySide6"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""
