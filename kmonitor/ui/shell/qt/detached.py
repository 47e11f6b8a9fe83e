"""Starts a program that outlives the window."""

from typing import cast

from PySide6.QtCore import QProcess


def start_detached(process: QProcess) -> bool:
    """Whether it could be started.

    PySide6 tells it alone or with the process id, as the version has it; its types say the latter.
    """
    told = cast("bool | tuple[bool, int]", process.startDetached())
    return told[0] if isinstance(told, tuple) else told
