"""Folder and exit status that `kmonitor run` shares with the script that it started.

| file | what | written by |
|---|---|---|
| `settings.json` | `SupervisorSettings`: who supervises, and when state is saved | supervisor |
| `runs.json` | run name to run id, so that a run keeps its id over its processes | script |
| `restart_request.json` | the script leaves to be started again | script |
| `previous_request.json` | the same of the process before; renamed when it was read | supervisor |
| `lock` | held while the supervisor lives | supervisor |
| `RUN/FIT.json` | a fit's state; what it names is whole (`restart.fit_state`) | script |
| `RUN/fit-FIT/*.h5` | variables of that state | script |
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import (
    make_own_folder,
    make_private_folder,
    read_own,
    write_private,
)
from kmonitor_agent.wire.messages.fields import Count, Id, Name, Seconds, new_id

SUPERVISED_VARIABLE: Final = "KMONITOR_SUPERVISED"
"""Environment variable of the script: path of the supervision's folder."""

RESTART_STATUS: Final = 75
"""Exit status of a script that requests a restart (`EX_TEMPFAIL`: try again later)."""

MOST_RUNS: Final = 100_000
"""Maximum number of run names in a supervision; a search has one for each trial."""

LEAVE_WITHIN_S: Final = 30.0
"""Time that a script may take to leave once its state is saved, seconds; then it is ended."""


class SupervisorSettings(msgspec.Struct, frozen=True):
    """Settings from the supervisor for the script.

    Attributes:
        supervisor: Process id of `kmonitor run`.
        saves_each_epoch: True if state is saved at epochs' ends, to survive a crash.
        leave_within_s: See `LEAVE_WITHIN_S`.
    """

    supervisor: Count
    saves_each_epoch: bool = False
    leave_within_s: Seconds = LEAVE_WITHIN_S


_Runs = Annotated[dict[Name, Id], msgspec.Meta(max_length=MOST_RUNS)]


class RestartRequest(msgspec.Struct, frozen=True):
    """Request of a script to be started again after it leaves.

    Attributes:
        run: Id of the run that leaves.
        requested_by: Requester of the restart.
        in_vain: Number of restarts in a row for the requesting limit that did not help.
        futile: Levels of its `auto` that gave nothing back, and for which cause.
    """

    run: Id
    requested_by: Name = ""
    in_vain: Count = 0
    futile: Annotated[list[Name], msgspec.Meta(max_length=8)] = []


@dataclass(frozen=True, slots=True)
class Supervision:
    """The shared folder, from either side.

    Attributes:
        folder: Its path; mode 0700.
    """

    folder: Path

    def settings(self) -> SupervisorSettings | None:
        """The supervisor's settings; None if they cannot be read."""
        try:
            return msgspec.json.decode(
                read_own(self.folder / "settings.json"), type=SupervisorSettings
            )
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def set_settings(self, settings: SupervisorSettings) -> None:
        """Write the settings for the script. Raises: OSError."""
        write_private(self.folder / "settings.json", msgspec.json.encode(settings))

    def runs(self) -> dict[str, str]:
        """Run name to run id."""
        try:
            data = read_own(self.folder / "runs.json")
            return msgspec.json.decode(data, type=_Runs)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return {}

    def run_id(self, name: str) -> str:
        """The id of the run of that name: that of the previous process, else a new one.

        Raises:
            OSError: The id cannot be written.
        """
        known = self.runs()
        if name not in known:
            known[name] = new_id()
            write_private(self.folder / "runs.json", msgspec.json.encode(known))
        return known[name]

    def add_runs(self, runs: Mapping[str, str]) -> None:
        """Add runs of earlier processes on another host; those here stay. Raises: OSError."""
        write_private(self.folder / "runs.json", msgspec.json.encode({**runs, **self.runs()}))

    def request(self) -> RestartRequest | None:
        """The request with which the script left to be started again; None if there is none."""
        return self._read("restart_request.json")

    def leave(self, request: RestartRequest) -> None:
        """Write the request of a script that leaves to be started again. Raises: OSError."""
        write_private(self.folder / "restart_request.json", msgspec.json.encode(request))

    def begin_next(self) -> None:
        """Begin the next process: the request of the one before becomes `previous_request`."""
        with contextlib.suppress(OSError):
            (self.folder / "previous_request.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (self.folder / "restart_request.json").rename(self.folder / "previous_request.json")

    def previous_request(self) -> RestartRequest | None:
        """The request of the process before this one; None if there was none or it crashed."""
        return self._read("previous_request.json")

    def states(self, run: str) -> Path:
        """Folder with the states of a run's fits."""
        return self.folder / run

    def has_state(self) -> bool:
        """True if the state of any fit was committed."""
        return any(self.folder.glob("*/*.json"))

    def _read(self, name: str) -> RestartRequest | None:
        try:
            return msgspec.json.decode(read_own(self.folder / name), type=RestartRequest)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


def supervisions_folder(folders: Folders) -> Path:
    return folders.state / "restarts"


def new_supervision(folders: Folders) -> Supervision:
    """Create the folder of a new supervision.

    Raises:
        NotPrivate: Others could read or write there.
        OSError: It cannot be created.
    """
    parent = supervisions_folder(folders)
    make_own_folder(folders.state)
    make_private_folder(parent)
    folder = parent / new_id()
    make_private_folder(folder)
    return Supervision(folder)


def find_supervision(environ: Mapping[str, str]) -> Supervision | None:
    """The supervision under which this process was started, if it may use it or not."""
    folder = environ.get(SUPERVISED_VARIABLE, "")
    return Supervision(Path(folder)) if folder else None


def why_not_direct_child(supervision: Supervision, settings: SupervisorSettings | None) -> str:
    """Why this process cannot be started again by its supervisor; empty if it can.

    Args:
        settings: Settings as read; None if they cannot be read.
    """
    if settings is None:
        return f"the files of `kmonitor run` in {supervision.folder} cannot be read"
    if os.getppid() != settings.supervisor:
        return (
            "another program is running between kmonitor run and this process, so a restart "
            "would start the wrong one: pass the script itself, as in kmonitor run -- python "
            "train.py"
        )
    return ""
