"""The hub that `kmonitor ship` sends to: this user's own, a host's over ssh, or one with a key."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kmonitor.cli.common.hub_access import folder_faults_named, open_hub, see_hub
from kmonitor.cli.common.statuses import Misuse
from kmonitor.connect.host_access import known_host, remote_ingest
from kmonitor.connect.host_errors import HostTrouble, way_lost
from kmonitor.connect.hub_client import HubUnreachable
from kmonitor.connect.hub_socket import direct_ingest
from kmonitor.connect.shipping import IngestDoor
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import SCHEME
from kmonitor_agent.wire.local.sockets import ingest_socket, ipc
from kmonitor_agent.wire.messages.unions import RunSummary


@dataclass(frozen=True, slots=True)
class ShipTarget:
    """Where spools go.

    Attributes:
        folders: This user's.
        host: Its host, as for ssh or by its remembered name; None: not so.
        hub: Its address, `tcp://HOST:PORT?key=KEY`; None: not so.
    """

    folders: Folders
    host: str | None = None
    hub: str | None = None

    def __post_init__(self) -> None:
        if self.host is not None and self.hub is not None:
            raise Misuse("--host and --hub name two hubs.", "Give one of them.")

    @property
    def words(self) -> str:
        """Where it is, in words."""
        if self.host is not None:
            return f"the hub of {self.host}"
        return "your hub" if self.hub is None else "the hub at that address"

    def is_transient(self, exc: HubUnreachable | HostTrouble) -> bool:
        """Whether trying again can help without the user."""
        return exc.is_transient if isinstance(exc, HostTrouble) else True

    @contextmanager
    def door(self) -> Generator[IngestDoor]:
        """Its door for trainings, for as long as the way there holds.

        Raises:
            Expected: It is not reached, or not any more; says why.
        """
        if self.hub is not None:
            yield IngestDoor(direct_ingest(self.hub, self.folders))
            return
        if self.host is None:
            see_hub(self.folders)
            yield IngestDoor(ipc(ingest_socket(self.folders)))
            return
        with folder_faults_named(self.folders), remote_ingest(self.folders, self.host) as door:
            try:
                yield door
            except HubUnreachable as exc:
                remedy = "Ship again: what it has already is not sent twice."
                raise way_lost(self.host, remedy) from exc

    def runs(self) -> dict[str, RunSummary]:
        """The runs that it knows by their ids; none where a training's key may not look."""
        if self.hub is not None or self._is_direct:
            return {}
        with open_hub(self.host) as client:
            return {run.run: run for run in client.runs()}

    def takes_by_itself(self, spool: Path) -> bool:
        """Whether a spool lies where this user's own hub finds it."""
        return spool.parent.resolve() == self.folders.spool.resolve()

    @property
    def _is_direct(self) -> bool:
        host = self.host
        return host is not None and known_host(self.folders, host).address.startswith(SCHEME)
