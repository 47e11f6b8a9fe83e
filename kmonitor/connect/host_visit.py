"""A hub on another host for the length of one command."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from kmonitor.connect.host_book import HostBook, RememberedHost
from kmonitor.connect.host_trouble import no_forwarding
from kmonitor.connect.remote_hub import RemoteHub, ensure_remote
from kmonitor.connect.ssh_command import checked_address
from kmonitor.connect.ssh_tunnel import SshTunnel, place_for_socket
from kmonitor_agent.local.folders import Folders
from kmonitor_agent.local.sockets import ipc


@contextmanager
def remote_endpoint(folders: Folders, host: str) -> Generator[str]:
    """The ZeroMQ address of a host's hub, forwarded to here; the hub is started if none answers.

    Args:
        folders: This user's, for the socket and the remembered hosts.
        host: As for ssh, or a remembered name.

    Raises:
        HostTrouble: It is not reached, and why.
        Expected: The address cannot be used, or there is no ssh here.
        NotPrivate: The folder for the socket is open to others.
    """
    with _reached(folders, known_host(folders, host)) as (_found, local):
        yield ipc(local)


@contextmanager
def _reached(folders: Folders, host: RememberedHost) -> Generator[tuple[RemoteHub, Path]]:
    """A host's hub, and its socket here."""
    found = ensure_remote(host.address, command=host.command)
    tunnel = SshTunnel(host.address, found.socket, place_for_socket(folders))
    try:
        tunnel.start()
        never = threading.Event()
        tunnel.wait_up(never)
        if not tunnel.reaches(never):
            # It has just answered there: only the way is missing.
            raise tunnel.trouble() or no_forwarding(host.address)
        yield found, tunnel.local
    finally:
        tunnel.stop()


def known_host(folders: Folders, host: str) -> RememberedHost:
    """The remembered host that is meant, else one of this address. Raises: `BadAddress`."""
    return HostBook(folders).find(host) or RememberedHost(checked_address(host))


def visit(folders: Folders, host: RememberedHost) -> RemoteHub:
    """See whether a host's hub can be had from here. Raises: as `remote_endpoint`."""
    with _reached(folders, host) as (found, _local):
        return found
