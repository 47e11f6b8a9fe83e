"""Guards against aborts by Qt: a PySide6 that drops references, and a platform named ""."""

import os
import sys
from collections.abc import Callable
from typing import Final

from kmonitor.base.errors import UserError

_CALLS: Final = 200
_TOLERATED: Final = 100


class BrokenQt(UserError):
    """The installed PySide6 and Python would abort within seconds of painting a chart."""

    def __init__(self, pyside_version: str) -> None:
        super().__init__(
            f"PySide6 {pyside_version} drops references to None on Python "
            f"{sys.version_info.major}.{sys.version_info.minor} and would crash the window.",
            'Install another version: pip install "PySide6-Essentials>=6.10.2,!=6.12.0"',
        )


def settle_platform(*, offscreen: bool) -> None:
    """Treat an empty `QT_QPA_PLATFORM` as unset; call before a QApplication is created.

    Qt would search for a plugin with an empty name, find none and abort.

    Args:
        offscreen: Draw into memory, unless a platform is set.
    """
    if not os.environ.get("QT_QPA_PLATFORM"):
        os.environ.pop("QT_QPA_PLATFORM", None)
    if offscreen:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def require_sound_qt() -> None:
    """Check the installed PySide6; call before anything is painted.

    Raises:
        BrokenQt: PySide6 drops references (6.12.0 on Python 3.10 and 3.11 does).
    """
    import PySide6  # noqa: PLC0415 - the check itself must be importable first
    from PySide6.QtCore import QRectF  # noqa: PLC0415

    rect = QRectF()
    if lowers_none_count(lambda: rect.adjust(0.0, 0.0, 0.0, 0.0)):
        raise BrokenQt(PySide6.__version__)


def lowers_none_count(void_call: Callable[[], object]) -> bool:
    """True if calling this lowers the reference count of None.

    Always False from Python 3.12 on, where None is immortal and the defect is harmless.

    Args:
        void_call: A call into Qt that returns nothing.

    Source: PySide6 6.12.0 on Python 3.11 lost one reference per call, 12 of 12 processes aborted.
    """
    before = sys.getrefcount(None)
    for _ in range(_CALLS):
        void_call()
    return sys.getrefcount(None) < before - _TOLERATED
