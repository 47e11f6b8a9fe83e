"""Options of a hub: until when it runs, what it keeps, and whether it only shows a folder."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from kmonitor.base.errors import UserError
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import make_own_folder, read_own, write_private
from kmonitor_agent.wire.messages.fields import Amount, Count

KEEP_NAME = "hub.json"
"""File in the settings folder with what every hub of this user keeps."""


class Keep(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of runs that have ended; pinned ones are kept in any case.

    Attributes:
        days: Runs that ended longer ago are removed; 0: none for their age.
        n_bytes: Above so much history the oldest are removed; 0: none for their size.
    """

    days: Amount = 0.0
    n_bytes: Count = 0


@dataclass(frozen=True, slots=True)
class HubOptions:
    """What a hub is started with.

    Attributes:
        idle_s: End by itself after so long without a live run or a desktop, seconds; None: never.
        keep: What is kept; None: as the settings say.
        folder: Only show the spools of this folder; None: be this user's hub.
        bind: Also listen at this ADDRESS:PORT, for keys that were let in; empty: this host only.
        store: Store in this team's database, `postgresql://...`; empty: in the hub's own file;
            None: as the settings say.
        prometheus: Serve metrics for Prometheus at this ADDRESS:PORT; empty: nowhere.
        otlp: Send metrics to the OpenTelemetry collector at this address; empty: to none.
        is_lenient: Rows in whose place there are others are left out and named: reading all again
            was of no use.
    """

    idle_s: float | None = None
    keep: Keep | None = None
    folder: Path | None = None
    bind: str = ""
    store: str | None = None
    prometheus: str = ""
    otlp: str = ""
    is_lenient: bool = False


class KeepUnreadable(UserError):
    """What was set to be kept is not known; `what` has no full stop, `remedy` is the command."""


def load_keep(folders: Folders) -> Keep:
    """What the settings say is kept; everything where nothing was set.

    Raises:
        KeepUnreadable: They cannot be read, or say something else.
    """
    path = folders.settings / KEEP_NAME
    try:
        return msgspec.json.decode(read_own(path), type=Keep)
    except FileNotFoundError:
        return Keep()
    except OSError as exc:
        why = exc.strerror or str(exc)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        why = str(exc)
    remedy = "kmonitor hub keep --keep-days N --keep-size SIZE"
    raise KeepUnreadable(f"{path} cannot be read ({why})", remedy)


def load_keep_or_default(folders: Folders) -> Keep:
    """What the settings say is kept; everything where they say nothing that can be read."""
    try:
        return load_keep(folders)
    except KeepUnreadable:
        return Keep()


def save_keep(folders: Folders, keep: Keep) -> None:
    """Have this user's hubs keep this, one that runs already within seconds. Raises: OSError."""
    make_own_folder(folders.settings)
    write_private(folders.settings / KEEP_NAME, msgspec.json.encode(keep))
