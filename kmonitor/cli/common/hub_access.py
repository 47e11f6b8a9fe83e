"""Access to a hub for commands: options, opening a client, and messages on problems."""

import errno
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.cli.common.terminal import (
    UsageError,
    is_of_output,
    print_stderr,
    show_waiting,
    terminal_safe,
)
from kmonitor.connect.folder_hub import FolderHub
from kmonitor.connect.host_access import remote_endpoint
from kmonitor.connect.host_errors import HostError, route_lost
from kmonitor.connect.hub_client import HubClient, HubUnreachable
from kmonitor.connect.hub_socket import NetworkHub, network_hub
from kmonitor.connect.local_hub import HubSilent, ensure_hub, silent_hub_error
from kmonitor.ui.text.formats import with_plain_spaces, working_text
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.messages.unions import HubReply, ReplyPending

_SHIPPING_S = 6.0
"""Longest wait for a hub that still takes spools, seconds: after its start it awaits those of live
processes for five."""

_READING_S = 60.0
"""Longest wait until a folder is completely read, seconds."""

_POLL_S = 0.05


FolderOption = Annotated[Path | None, Parameter(name="--folder")]
"""Option `--folder` of commands that only read."""

HostOption = Annotated[str | None, Parameter(name="--host")]
"""Option `--host` of commands that query a hub."""

HubOption = Annotated[str | None, Parameter(name="--hub")]
"""Option `--hub` of commands that query a hub at any address."""


HOST_S: Final = 15.0
"""Longest wait for one host where several are queried in parallel, seconds."""

HOSTS_AT_ONCE: Final = 16


@contextmanager
def open_hub(
    host: str | None = None,
    *,
    folder: Path | None = None,
    hub: str | None = None,
    stop: threading.Event | None = None,
) -> Generator[HubClient]:
    """Yield a client of this user's hub, which is started if none replies; or of another hub.

    Args:
        host: Host of the hub, reached over ssh: an ssh destination, or a remembered name; None:
            this machine.
        folder: Folder whose spools a private hub shows until the end; None: none.
        hub: Address of the hub, `tcp://HOST:PORT?key=KEY`; None: none.
        stop: Cancels connecting over ssh when set.

    Raises:
        ConnectCancelled: `stop` was set.
        UserError: The hub cannot be reached or started; with a remedy.
    """
    folders = find_folders()
    if sum(option is not None for option in (host, folder, hub)) > 1:
        raise UsageError("--host, --hub and --folder cannot be combined.", "Use only one of them.")
    with ExitStack() as stack:
        endpoint = None
        if folder is not None:
            folders = stack.enter_context(FolderHub(folder)).folders
        elif hub is not None:
            endpoint = network_hub(hub, folders)
        elif host is None:
            require_hub(folders)
        else:
            with folder_faults_named(folders):
                endpoint = stack.enter_context(remote_endpoint(folders, host, stop=stop))
        client = stack.enter_context(
            HubClient(endpoint, folders=folders, on_working=_show_working)
        )
        with _loss_named(folders, host, endpoint):
            wait_for_spools(client, _SHIPPING_S if folder is None else _READING_S)
            yield client


ROUTE_LOST: Final = (HubUnreachable, HostError, HubSilent)
"""Errors for a route to a hub that is lost, or not open yet."""


@dataclass(frozen=True, slots=True)
class HubRoute:
    """Route of a command to its hub.

    Attributes:
        host: See `open_hub`.
        folder: See `open_hub`.
        hub: See `open_hub`.
    """

    host: str | None = None
    folder: Path | None = None
    hub: str | None = None

    @contextmanager
    def open(self, stop: threading.Event | None = None) -> Generator[HubClient]:
        """Yield a client of the hub; `stop` cancels connecting. Raises: see `open_hub`."""
        with open_hub(self.host, folder=self.folder, hub=self.hub, stop=stop) as client:
            yield client

    @property
    def is_stopped(self) -> bool:
        """True if this user's own hub was ended on purpose, so that none must be started."""
        if (self.host, self.folder, self.hub) != (None, None, None):
            return False
        # One that was killed leaves its socket's file.
        return not view_socket_path(find_folders()).exists()


@contextmanager
def _loss_named(
    folders: Folders, host: str | None, endpoint: str | NetworkHub | None
) -> Generator[None]:
    # A user does not know the forwarded socket, and no hub is to be started here.
    try:
        yield
    except HubUnreachable as exc:
        silent = silent_hub_error(folders) if endpoint is None else None
        if silent is not None:
            raise silent from exc
        if host is None or not isinstance(endpoint, str):
            raise
        remedy = f"Try again. If the problem persists, run: kmonitor doctor --host {host}"
        raise route_lost(host, remedy) from exc


def _show_working(pending: ReplyPending | None) -> None:
    show_waiting(
        "" if pending is None else with_plain_spaces(working_text(pending.done, pending.of))
    )


def require_hub(folders: Folders) -> None:
    """Make sure that this user's hub replies; start one if none does.

    Raises:
        UserError: The hub cannot be reached or started here; with a remedy.
    """
    with folder_faults_named(folders):
        ensure_hub(folders)


@contextmanager
def deadline(seconds: float) -> Generator[threading.Event]:
    """Yield an event that is set when the time is over; the timer is always cancelled."""
    is_over = threading.Event()
    timer = threading.Timer(seconds, is_over.set)
    timer.name = "kmonitor-deadline"
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()


def wait_for_spools(client: HubClient, seconds: float = _SHIPPING_S) -> None:
    """Wait until a hub has what trainings left in their spools, or for so many seconds.

    One that was just started answers before.
    """
    end_s = time.monotonic() + seconds
    while client.hub().is_shipping and time.monotonic() < end_s:
        threading.Event().wait(_POLL_S)


def print_hub_problems(reply: HubReply, *, is_far: bool = False) -> None:
    """Print a hub's problems to standard error; those of a remote hub with its host."""
    where = f"on {reply.host}: " if is_far else ""
    for trouble in reply.troubles:
        print_stderr(terminal_safe(f"kmonitor: {where}{trouble}."))


@contextmanager
def folder_faults_named(folders: Folders) -> Generator[None]:
    """Turn faults of kmonitor's folders into a message with a remedy."""
    try:
        yield
    except UnsafePath as exc:
        raise UserError(f"{exc.path} cannot be used: it {exc.why}.") from exc
    except OSError as exc:
        if is_of_output(exc):
            # No fault of a folder: `main` reports it.
            raise
        path = exc.filename or folders.state
        remedy = "Set KMONITOR_HOME to a folder that you can write to."
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            remedy = "Free some space, or set KMONITOR_HOME to a folder on another disk."
        raise UserError(f"{path} cannot be used: {exc.strerror or exc}.", remedy) from exc
