"""Options of a hub: its end, its retention, and the folder that it shows."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from kmonitor.base.errors import UserError
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import make_own_folder, read_own, write_private
from kmonitor_agent.wire.messages.fields import Amount, Count

KEEP_NAME = "hub.json"
"""File in the settings folder with the retention of all hubs of this user."""


class Keep(msgspec.Struct, frozen=True, omit_defaults=True):
    """Retention of runs that have ended; pinned ones are kept in any case.

    Attributes:
        days: Age at which runs are removed, counted from their end; 0: age does not matter.
        n_bytes: Size of the history above which the oldest runs are removed; 0: size does not
            matter.
    """

    days: Amount = 0.0
    n_bytes: Count = 0


@dataclass(frozen=True, slots=True)
class HubOptions:
    """Options with which a hub is started.

    Attributes:
        idle_s: Time without a live run or a desktop after which it ends by itself, seconds; None:
            never.
        keep: Retention; None: as in the settings.
        folder: Only show the spools of this folder; None: be this user's hub.
        bind: Also listen at this ADDRESS:PORT, for authorized keys; empty: this host only.
        store: Store in this team's database, `postgresql://...`; empty: in the hub's own file;
            None: as in the settings.
        prometheus: Serve metrics for Prometheus at this ADDRESS:PORT; empty: nowhere.
        otlp: Send metrics to the OpenTelemetry collector at this address; empty: to none.
        is_lenient: True to leave out and name rows whose place is taken by others: reading
            everything again did not help.
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
    """The retention settings cannot be read; `what` has no full stop, `remedy` is the command."""


def load_keep(folders: Folders) -> Keep:
    """Retention from the settings; everything is kept if nothing was set.

    Raises:
        KeepUnreadable: The settings cannot be read, or are not valid.
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
    """Retention from the settings; everything is kept if they cannot be read."""
    try:
        return load_keep(folders)
    except KeepUnreadable:
        return Keep()


def save_keep(folders: Folders, keep: Keep) -> None:
    """Set the retention of this user's hubs; running ones apply it in seconds. Raises: OSError."""
    make_own_folder(folders.settings)
    write_private(folders.settings / KEEP_NAME, msgspec.json.encode(keep))
