"""Keeps a hub running for this user in the background while the window is open."""

import logging
import threading

from PySide6.QtCore import QObject, Signal

from kmonitor.base.errors import UserError
from kmonitor.connect.local_hub import ensure_hub
from kmonitor_agent.wire.local.folders import Folders

_log = logging.getLogger(__name__)
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
_JOIN_S = 12.0


class HubStarter(QObject):
    """Owns the thread `kmonitor-starter`.

    Signals (from that thread, so connect to methods of QObjects only):
        hub_found: A hub answers.
        hub_failed: No hub could be started; with the remedy.
    """

    hub_found = Signal()
    hub_failed = Signal(str)

    def __init__(self, folders: Folders, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folders = folders
        self._last_text = ""
        self._due = threading.Event()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._main, name="kmonitor-starter", daemon=True)

    def start(self) -> None:
        self._due.set()
        self._thread.start()

    def check_now(self) -> None:
        """Check at once, as the hub was lost. Any thread."""
        self._due.set()

    def stop(self) -> None:
        """Stop the thread; the hub continues."""
        self._ends.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def _main(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._ends.is_set():
            self._due.wait()
            self._due.clear()
            if self._ends.is_set():
                return
            if self._ensure():
                pause_s = _FIRST_PAUSE_S
                # A hub that dies at once must not be started in a tight loop.
                self._ends.wait(_FIRST_PAUSE_S)
            else:
                self._ends.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._due.set()

    def _ensure(self) -> bool:
        try:
            ensure_hub(self._folders)
        except UserError as exc:
            if str(exc) != self._last_text:
                _log.warning("the hub is not available: %s", exc)
            self._last_text = str(exc)
            self.hub_failed.emit(str(exc))
            return False
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("the hub could not be started")
            self.hub_failed.emit(f"{type(exc).__name__}: {exc}")
            return False
        self._last_text = ""
        self.hub_found.emit()
        return True
