"""Access to a hub on another host for the duration of one command."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePosixPath

from kmonitor.connect.host_errors import no_forwarding
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.hub_socket import NetworkHub, network_hub, network_ingest
from kmonitor.connect.remembered_hosts import HostStore, RememberedHost
from kmonitor.connect.remote_hub import ConnectCancelled, RemoteHub, ensure_remote
from kmonitor.connect.shipping import IngestEndpoint
from kmonitor.connect.ssh import SshTunnel, checked_address, make_socket_path
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import INGEST_NAME, SCHEME, ipc_endpoint


@contextmanager
def remote_endpoint(
    folders: Folders, host: str, *, stop: threading.Event | None = None
) -> Generator[str | NetworkHub]:
    """Yield the forwarded endpoint of a host's hub, which is started if none replies.

    Args:
        folders: This user's folders, for the socket and the remembered hosts.
        host: An address for ssh, or a remembered name, also of a hub on the network.
        stop: Cancels the attempt when set.

    Raises:
        ConnectCancelled: `stop` was set.
        HostError: The hub is not reached, with the reason.
        UserError: The address cannot be used, or there is no ssh here.
        NotPrivate: The folder for the socket is open to others.
    """
    known = known_host(folders, host)
    if known.address.startswith(SCHEME):
        yield network_hub(known.address, folders)
        return
    with open_tunnel(folders, known, stop=stop) as (_found, tunnel):
        yield ipc_endpoint(tunnel.local)


@contextmanager
def remote_ingest(folders: Folders, host: str) -> Generator[IngestEndpoint]:
    """Yield the ingest endpoint of a host's hub. Args and Raises: see `remote_endpoint`."""
    known = known_host(folders, host)
    if known.address.startswith(SCHEME):
        yield IngestEndpoint(network_ingest(known.address, folders))
        return
    with open_tunnel(folders, known, is_ingest=True) as (_found, tunnel):
        yield IngestEndpoint(ipc_endpoint(tunnel.local), tunnel.error)


@contextmanager
def open_tunnel(
    folders: Folders,
    host: RememberedHost,
    *,
    is_ingest: bool = False,
    stop: threading.Event | None = None,
) -> Generator[tuple[RemoteHub, SshTunnel]]:
    """Yield a host's hub, reached over ssh, and a tunnel to one of the hub's sockets.

    Args:
        is_ingest: Forward the socket for trainings instead of the one for windows.
        stop: Cancels the attempt when set.

    Raises:
        ConnectCancelled: `stop` was set.
        UserError: See `remote_endpoint`.
    """
    stop = stop or threading.Event()
    found = ensure_remote(host.address, command=host.command, stop=stop)
    # Both sockets lie in one folder, under names that never change.
    ingest = str(PurePosixPath(found.socket).with_name(INGEST_NAME))
    remote_socket = ingest if is_ingest else found.socket
    tunnel = SshTunnel(host.address, remote_socket, make_socket_path(folders))
    try:
        tunnel.start()
        if not tunnel.wait_until_open(stop):
            raise ConnectCancelled
        if not tunnel.reaches(stop):
            # It has just answered there: only the forwarding fails.
            raise tunnel.error() or no_forwarding(host.address)
        yield found, tunnel
    finally:
        tunnel.stop()


def known_host(folders: Folders, host: str) -> RememberedHost:
    """The remembered host of this name or address, else a new one. Raises: `BadAddress`."""
    return HostStore(folders).find(host) or RememberedHost(checked_address(host))


def check_host(
    folders: Folders, host: RememberedHost, *, stop: threading.Event | None = None
) -> RemoteHub:
    """Check that a host's hub can be reached from here, and return it; `stop` cancels the check.

    Raises:
        ConnectCancelled: `stop` was set.
        UserError: See `remote_endpoint`.
    """
    if host.address.startswith(SCHEME):
        with HubClient(network_hub(host.address, folders)) as client:
            reply = client.hub()
        return RemoteHub("", version=reply.version, pid=reply.pid, host=reply.host, hub=reply.hub)
    with open_tunnel(folders, host, stop=stop) as (found, _tunnel):
        return found
