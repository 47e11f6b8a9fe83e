"""libzmq in a training process: one context, a socket for each hub, created once and kept.

Created when the first run starts, since later there may be no descriptors or threads left, and
only after a check that all resources are available (`free_resources`). If they are not, events
stay on the disk and creation is tried again later.
"""

import ctypes
import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kmonitor_agent.wire.local.free_resources import (
    MIB,
    RequiredResources,
    is_memory_short,
    missing_resources,
)
from kmonitor_agent.wire.local.hub_address import DirectAddress
from kmonitor_agent.wire.local.own_descriptor import OwnDescriptor

if TYPE_CHECKING:
    import zmq

    from kmonitor_agent.link.hub_socket import HubSocket

NEEDS: Final = RequiredResources(descriptors=24, threads=4, n_bytes=64 * MIB)
"""Resources that must be free before a context or socket is created.

Libzmq itself takes about 9 descriptors, 2 threads and 20 MiB of address space.
"""

MESSAGE_BYTES: Final = 16 * MIB
"""Memory that must be free before sending or receiving where address space is limited, bytes."""

open_contexts: Final["list[zmq.Context[zmq.Socket[bytes]]]"] = []
"""Contexts that were not ended.

As garbage they would wait for their sockets forever, in whichever thread collects them, which may
be the training's.
"""


class Transport:
    """Context and sockets; owned by the agent's thread.

    Attributes:
        shortage: Reason why nothing could be created at the last try, as text; empty if it could.
    """

    def __init__(self) -> None:
        self.shortage = ""
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._sockets: dict[Path | DirectAddress, HubSocket] = {}
        self._poller: zmq.Poller | None = None
        self._descriptors: list[OwnDescriptor] = []
        self._is_abandoned = False

    def has(self, address: Path | DirectAddress) -> bool:
        """True if the socket for a hub was created."""
        return address in self._sockets

    def prepare(self, address: Path | DirectAddress) -> None:
        """Create the socket for a hub, unless a resource is short; see `shortage`."""
        if address in self._sockets or self._is_abandoned:
            return
        self.shortage = missing_resources(NEEDS)
        if self.shortage:
            return
        # Imported here: with hub="off" ZeroMQ is never loaded into the training.
        import zmq  # noqa: PLC0415

        from kmonitor_agent.link.hub_socket import HubSocket  # noqa: PLC0415

        # Once more: the import took a while.
        self.shortage = missing_resources(NEEDS)
        if self.shortage:
            return
        if self._context is None:
            self._context = zmq.Context()
            open_contexts.append(self._context)
            self._poller = zmq.Poller()
        socket = HubSocket(self._context, address)
        self._sockets[address] = socket
        # One of the dozen that libzmq made just now, and the only one that it names.
        self._descriptors.append(OwnDescriptor(int(socket.raw.getsockopt(zmq.FD))))
        if self._poller is not None:
            self._poller.register(socket.raw, zmq.POLLIN)

    def socket(self, address: Path | DirectAddress) -> "HubSocket | None":
        """Socket for a hub.

        None if it could not be created or there is no memory to connect it.
        """
        if self.is_short_of_memory():
            return None
        return self._sockets.get(address)

    def is_lost(self) -> bool:
        """True if the script closed descriptors of libzmq, which is then left alone for good.

        libzmq aborts the process if one of its calls fails because of that, also at exit.
        """
        if not self._is_abandoned and not all(each.is_ours() for each in self._descriptors):
            self._is_abandoned = True
            self.shortage = "the script closed descriptors that ZeroMQ had open"
            for kept in (self._context, *(each.raw for each in self._sockets.values())):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # never ended, not even at exit
            self._sockets = {}
            self._context = None
            self._poller = None
        return self._is_abandoned

    def is_short_of_memory(self) -> bool:
        """True if memory is too short to use libzmq now."""
        return is_memory_short(MESSAGE_BYTES)

    def wait(self, seconds: float, descriptor: int) -> bool:
        """Sleep up to `seconds`, or until a message comes or the descriptor is ready.

        True if the descriptor is.
        """
        if self._poller is None:
            return False
        if descriptor >= 0 and descriptor not in self._poller:
            import zmq  # noqa: PLC0415 - loaded already, as there is a poller

            # Nothing else: a descriptor that wakes can be written at any time.
            self._poller.register(descriptor, zmq.POLLIN)
        ready = self._poller.poll(math.ceil(seconds * 1000))
        return any(source == descriptor for source, _ in ready)

    def has_messages(self) -> bool:
        """True if a hub's message has come."""
        return any(socket.has_message() for socket in self._sockets.values())

    def close(self, *, linger_s: float = 0.0) -> None:
        """Close all; queued messages get `linger_s` seconds."""
        if self.is_lost():
            return
        sockets, self._sockets = self._sockets, {}
        context, self._context = self._context, None
        self._poller = None
        for socket in sockets.values():
            socket.raw.close(linger=int(linger_s * 1000))
        if context is not None:
            context.term()
            open_contexts.remove(context)
