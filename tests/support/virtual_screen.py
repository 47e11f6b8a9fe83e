"""An X server without a screen, for tests with a real window."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.waiting import DEADLINE_S


@contextmanager
def virtual_screen(size: str = "1600x1000x24") -> Iterator[dict[str, str]]:
    """Environment variables under which Qt opens real windows on its own server."""
    program = shutil.which("Xvfb") or "Xvfb"
    reader, writer = os.pipe()
    server = subprocess.Popen(
        [
            program,
            "-displayfd",
            str(writer),
            "-screen",
            "0",
            size,
            "-nolisten",
            "tcp",
        ],
        pass_fds=(writer,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as told:
            number = told.readline().strip()
        assert number, "Xvfb did not start"
        yield {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb", "XDG_SESSION_TYPE": "x11"}
    finally:
        server.terminate()
        server.wait(DEADLINE_S)
