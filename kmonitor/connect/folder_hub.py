"""A private hub that only shows the spools of a folder, live; it is deleted when closed.

Its database lies in the temporary folder. Neither the spool folder nor this user's hub is changed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kmonitor.base.errors import UserError
from kmonitor.connect.local_hub import request_local_hub
from kmonitor_agent.wire.local.folders import Folders, expand_user, find_folders
from kmonitor_agent.wire.local.private_files import read_own
from kmonitor_agent.wire.spool.reader import spools_below

_STARTS_WITHIN_S: Final = 10.0
_POLL_S: Final = 0.02
_LOG_BYTES: Final = 4 * 1024**2


class NoSpools(UserError):
    """A folder has nothing to show."""


class FolderHub:
    """A private hub on a folder's spools. Use as a context manager, or `close` it.

    Attributes:
        folder: Folder of the spools that are shown.
        folders: Folders of the private hub; settings and logs are this user's own.
    """

    def __init__(self, folder: Path) -> None:
        """Start the hub and wait until it replies.

        Raises:
            NoSpools: The folder cannot be read, or contains no spool of a run.
            UserError: The hub does not start.
        """
        self.folder = expand_user(str(folder)).absolute()
        require_spools(self.folder)
        self._home = Path(tempfile.mkdtemp(prefix="kmonitor-folder-"))
        environ = {k: v for k, v in os.environ.items() if k != "KMONITOR_SPOOL"}
        environ["KMONITOR_HOME"] = str(self._home)
        own = find_folders()
        self._private = find_folders(environ)
        self.folders: Folders = replace(self._private, settings=own.settings, logs=own.logs)
        # Without a viewer for a minute it ends: whoever opened it was killed.
        shown = str(self.folder)
        self._process = subprocess.Popen(  # noqa: S603 - the folder is one word, not a shell's
            [sys.executable, "-m", "kmonitor.hub", "--idle-s", "60", "--folder", shown],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/" if os.name == "posix" else None,
        )
        try:
            self._await_hub()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the hub and remove its database; may be called again."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STARTS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        # Sockets lie elsewhere where the temporary folder's path is long, or on a network.
        for folder in (self._home, self._private.runtime, self._private.database):
            shutil.rmtree(folder, ignore_errors=True)

    def _await_hub(self) -> None:
        end_s = time.monotonic() + _STARTS_WITHIN_S
        while time.monotonic() < end_s and self._process.poll() is None:
            if request_local_hub(self._private) is not None:
                return
            threading.Event().wait(_POLL_S)
        log = self._private.logs / "hub.log"
        output = ""
        with suppress(OSError):
            output = read_own(log, _LOG_BYTES).decode("utf-8", "replace").strip()[-500:]
        raise UserError(f"Cannot start a hub that shows {self.folder}. {output}".strip())


def is_without_spools(folder: Path) -> bool:
    """True if a folder can be read and no training has written there yet."""
    try:
        return not spools_below(folder)
    except OSError:
        return False


def require_spools(folder: Path) -> list[Path]:
    """Return the spools in a folder.

    Raises:
        NoSpools: The folder cannot be read, or contains no spools.
    """
    remedy = (
        "Choose a folder that training runs wrote to with KMONITOR_SPOOL=FOLDER KMONITOR_HUB=off."
    )
    try:
        found = spools_below(folder)
    except OSError as exc:
        raise NoSpools(f"{folder} cannot be read: {exc.strerror or exc}.", remedy) from exc
    if not found:
        raise NoSpools(f"No training run has written to {folder}.", remedy)
    return found
