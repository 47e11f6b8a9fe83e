"""`kmonitor`: open the window, or explain why it cannot open."""

import contextlib
import importlib
import importlib.metadata
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.base.installation import how_to_add
from kmonitor.cli.common.desktop_entry import entry_path, install_entry, remove_entry
from kmonitor.cli.common.display import Display, find_display, install_line, missing_libraries
from kmonitor.cli.common.hub_access import FolderOption, HostOption, open_hub, require_hub
from kmonitor.cli.common.run_choice import choose_run, find_run_anywhere
from kmonitor.cli.common.terminal import DONE, UsageError, print_text
from kmonitor.connect.folder_hub import FolderHub
from kmonitor.connect.host_access import known_host
from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.qt_guard import settle_platform
from kmonitor_agent.wire.local.folders import Folders, find_folders

OLDEST_QT = (6, 10, 2)
OLDEST_CHARTS = (0, 14)
"""Oldest PySide6 and pyqtgraph that draw charts correctly together. Source: pyproject.toml."""

CRASHING_QT = (6, 12, 0)
"""PySide6 that aborts Python 3.10 and 3.11 within seconds.

Each void call drops a reference to None.
"""

PICTURE_SIZE = (1440, 900)
"""Width and height of a screenshot, pixels."""


def window(
    *,
    run: Annotated[str | None, Parameter(name="--run")] = None,
    screenshot: Annotated[Path | None, Parameter(name="--screenshot")] = None,
    theme: Annotated[Literal["system", "dark", "light"] | None, Parameter(name="--theme")] = None,
    folder: FolderOption = None,
    host: HostOption = None,
    entry: Annotated[
        bool | None,
        Parameter(name="--install-desktop-entry", negative="--remove-desktop-entry"),
    ] = None,
) -> int:
    """Open the window.

    Args:
        run: Select this run: its id or name, the beginning of one, or `last`; of this
            machine, else of the remembered hosts, each asked for 15 s at most.
        screenshot: Draw the window into this PNG file once its data are there, and leave.
            Works without a screen.
        theme: Only for this time; without it, as it was chosen in the window.
        folder: Show the runs whose spools lie in this folder, live; it is only read.
        host: Show the runs of this host too, and look for `--run` there: as for ssh, or a name of
            `kmonitor hosts`. It is not remembered for that.
        entry: Put kmonitor into the menu of your desktop, or take it out again; no window opens.
    """
    if entry is not None:
        return _change_menu(is_wanted=entry)
    _require_one_source(host, folder)
    folders = find_folders()
    also = None if host is None else known_host(folders, host)
    if screenshot is not None:
        check_screenshot_name(screenshot)
    ready_for_qt(offscreen=screenshot is not None)
    selected = run if folder is not None else _selected(folders, run, host)
    if screenshot is not None:
        _check_screenshot(screenshot, folders if folder is None else None)
    # Imported only now: without Qt everything else works, and Qt is slow to load.
    opening = importlib.import_module("kmonitor.ui.shell.qt.run_window")
    with contextlib.ExitStack() as stack:
        if folder is not None:
            folders = stack.enter_context(FolderHub(folder)).folders
        size = PICTURE_SIZE if screenshot is not None else None
        options = WindowOptions(screenshot, None, selected, size, theme, folder is None)
        options = replace(options, shown=folder, also=also)
        return opening.run_window(folders, options)


def _require_one_source(host: str | None, folder: Path | None) -> None:
    if host is not None and folder is not None:
        raise UsageError("--host and --folder cannot be combined.", "Use only one of them.")


def _check_screenshot(screenshot: Path, requested_folders: Folders | None) -> None:
    """Check all requirements of a picture, including the hub of these folders."""
    # A picture is the same whatever the screen, and no window flashes up for it.
    settle_platform(offscreen=True)
    check_screenshot_folder(screenshot)
    # The window itself would try again and again, and report each time in vain.
    if requested_folders is not None:
        require_hub(requested_folders)


def _change_menu(*, is_wanted: bool) -> int:
    if is_wanted:
        _require_packages()
        print_text(f"Added to your desktop menu: {install_entry()}")
        print_text("To remove it: kmonitor --remove-desktop-entry")
        return DONE
    removed = remove_entry()
    for path in removed:
        print_text(f"Removed: {path}")
    if not removed:
        print_text(f"Nothing to remove: {entry_path()} does not exist")
    return DONE


def _selected(folders: Folders, run: str | None, host: str | None) -> str | None:
    if run is None:
        return None
    with open_hub(host) as client:
        runs = client.runs()
    return choose_run(runs, run).run if host is not None else find_run_anywhere(folders, runs, run)


def check_screenshot_name(screenshot: Path) -> None:
    """Check that a picture's name ends in .png.

    Raises:
        UserError: The name has another ending.
    """
    if screenshot.suffix.lower() != ".png":
        raise UserError(
            f"{screenshot} cannot be written: the image must be a PNG file.",
            "Choose a file name that ends in .png."
            if screenshot.name in ("", "..") or screenshot.is_dir()
            else f"For example: {screenshot.with_suffix('.png')}",
        )


def check_screenshot_folder(screenshot: Path) -> None:
    """Check that a picture can be written to its folder.

    Raises:
        UserError: The picture cannot be written, with the cause.
    """
    folder = screenshot.absolute().parent
    if screenshot.is_dir():
        why = "it is a folder"
    elif not folder.is_dir():
        why = f"the folder {folder} does not exist"
    elif not os.access(folder, os.W_OK | os.X_OK):
        why = f"no permission to write to {folder}"
    else:
        return
    raise UserError(f"{screenshot} cannot be written: {why}.", "Choose another file.")


def ready_for_qt(*, offscreen: bool) -> None:
    """Check that Qt can start here, before it is imported.

    Args:
        offscreen: True if the window is only drawn, not shown.

    Raises:
        UserError: Packages, system libraries or the display are missing.
    """
    _require_packages()
    found = find_display()
    for_screen = not offscreen and found.display is not Display.OFFSCREEN
    if for_screen and found.display is Display.NONE:
        raise NoScreen(found.description)
    missing = missing_libraries(for_screen=for_screen)
    if missing:
        raise UserError(
            f"System libraries that the window needs are missing: {', '.join(missing)}.",
            f"Run: {install_line(missing)}",
        )
    # Only now: asking a display needs one of those libraries.
    if for_screen and found.display is Display.SILENT:
        raise NoScreen(found.description)


class NoScreen(UserError):
    """There is no display to open a window on."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"No display is available ({reason}).",
            "Run kmonitor on your desktop. On this machine: kmonitor top, kmonitor show"
            " last,\nor kmonitor --screenshot window.png, which draws the window to a file.",
        )


def _require_packages() -> None:
    found = window_packages()
    lacking = [name for name, version in found.items() if not version]
    if lacking:
        raise UserError(
            f"The window needs packages that are not installed: {' and '.join(lacking)}.",
            how_to_add("desktop"),
        )
    trouble = trouble_of(*found.values())
    if trouble:
        raise UserError(f"{trouble}.", how_to_add("desktop"))


def window_packages() -> dict[str, str]:
    """Versions of the window's distributions, empty if absent; nothing is imported."""
    return {
        "PySide6-Essentials": version_of("PySide6-Essentials") or version_of("PySide6"),
        "pyqtgraph": version_of("pyqtgraph"),
    }


def trouble_of(qt: str, charts: str) -> str:
    """Problem of these versions of PySide6 and pyqtgraph together; empty if there is none."""
    if _numbers(qt) < OLDEST_QT:
        return f"PySide6 {qt} is too old for the charts"
    if _numbers(charts) < OLDEST_CHARTS:
        return f"pyqtgraph {charts} is too old"
    if _numbers(qt) == CRASHING_QT and sys.version_info < (3, 12):
        return f"PySide6 {qt} crashes on Python {sys.version_info.major}.{sys.version_info.minor}"
    return ""


def version_of(distribution: str) -> str:
    """Version of an installed distribution, or empty; nothing is imported."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
