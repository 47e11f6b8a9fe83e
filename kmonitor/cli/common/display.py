"""System libraries and display that a window needs, checked before Qt starts.

Qt aborts the process (SIGABRT) when a library or the display is missing, and its message names
`xcb-cursor0` for any of five libraries. So both are checked first.
"""

import ctypes
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

OFFSCREEN_LIBRARIES: Mapping[str, str] = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfreetype.so.6": "libfreetype6",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
}
"""Soname to Debian package: libraries that Qt needs even to draw into memory."""

X11_LIBRARIES: Mapping[str, str] = {
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}
"""Soname to Debian package: further libraries for an X screen."""

WAYLAND_LIBRARIES: Mapping[str, str] = {
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}
"""Soname to Debian package: further libraries for a Wayland screen."""

_WITHOUT_SCREEN = ("offscreen", "minimal", "vnc")


class Display(Enum):
    """Kind of display for a window; `SILENT`: a display is named and does not respond."""

    SCREEN = "screen"
    OFFSCREEN = "offscreen"
    SILENT = "silent"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DisplayFound:
    """Result of the search for a display.

    Attributes:
        display: Kind of the display.
        description: Text for `kmonitor doctor`, and for the message when there is no display.
    """

    display: Display
    description: str


def missing_libraries(
    *, for_screen: bool, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Sonames that the loader does not find, with the Debian package of each.

    Args:
        for_screen: Also check libraries for the kinds of screen that the environment names.
        environ: Environment to read; None: the process's own.
    """
    # Asked of the loader itself: package names differ between releases (the t64 renames), and
    # `ldconfig` is not on every user's path.
    if not sys.platform.startswith("linux"):
        return {}
    environ = os.environ if environ is None else environ
    wanted = dict(OFFSCREEN_LIBRARIES)
    if for_screen and environ.get("DISPLAY"):
        wanted |= X11_LIBRARIES
    if for_screen and environ.get("WAYLAND_DISPLAY"):
        wanted |= WAYLAND_LIBRARIES
    return {soname: package for soname, package in wanted.items() if not _loads(soname)}


def install_line(packages: Mapping[str, str]) -> str:
    """Command that installs the missing packages on Debian and Ubuntu."""
    sudo = "" if hasattr(os, "geteuid") and os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install -y {' '.join(sorted(packages.values()))}"


def find_display(environ: Mapping[str, str] | None = None) -> DisplayFound:
    """Find the display for a window, by connecting to it as Qt would."""
    environ = os.environ if environ is None else environ
    platform = environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if platform in _WITHOUT_SCREEN:
        return DisplayFound(Display.OFFSCREEN, f"QT_QPA_PLATFORM={platform}: rendered in memory")
    if not sys.platform.startswith("linux"):
        return DisplayFound(Display.SCREEN, "the system's own window server")
    return _linux_display(environ)


def _linux_display(environ: Mapping[str, str]) -> DisplayFound:
    wayland = environ.get("WAYLAND_DISPLAY", "")
    x11 = environ.get("DISPLAY", "")
    if wayland and _wayland_answers():
        return DisplayFound(Display.SCREEN, f"Wayland display {wayland}")
    if x11 and _x11_answers():
        return DisplayFound(Display.SCREEN, f"X display {x11}")
    if x11 or wayland:
        named = f"DISPLAY={x11}" if x11 else f"WAYLAND_DISPLAY={wayland}"
        return DisplayFound(Display.SILENT, f"{named} is not responding")
    return DisplayFound(Display.NONE, "neither DISPLAY nor WAYLAND_DISPLAY is set")


def _loads(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _x11_answers() -> bool:
    # Through libxcb, since a socket that accepts says nothing about the authority file.
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return False
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    refused = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not refused


def _wayland_answers() -> bool:
    try:
        client = ctypes.CDLL("libwayland-client.so.0")
    except OSError:
        return False
    client.wl_display_connect.restype = ctypes.c_void_p
    display = client.wl_display_connect(None)
    if not display:
        return False
    client.wl_display_disconnect(ctypes.c_void_p(display))
    return True
