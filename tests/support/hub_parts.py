"""The hub's parts without its process: a real database, a clock that tests move."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.hub.event_body import TakenEvent, read_event
from kmonitor.hub.guard import HubFaults
from kmonitor.hub.ledger import Ledger
from kmonitor.hub.local_process import own_pid_namespace
from kmonitor.hub.run_record import RunRecord
from kmonitor.hub.store.database import Database
from kmonitor_agent.protocol.codec import encode_event
from kmonitor_agent.protocol.facts import BootStarted, Event
from kmonitor_agent.protocol.identity import new_id
from tests.support.clock import MovedClock


class HubParts:
    """A ledger on a database in `folder`; `reopen` is what a new hub process does."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hub.sqlite3"
        self.clock = MovedClock()
        self.log = logging.getLogger("kmonitor.test-hub")
        self.log.propagate = False
        self.open()

    def open(self) -> None:
        """Open the database."""
        self.faults = HubFaults(self.log)
        self.database = Database(self.path)
        self.ledger = Ledger(self.database, self.faults, self.clock)

    def reopen(self) -> None:
        """Close without a commit, and open again."""
        self.database.close()
        self.open()

    def take(self, record: RunRecord, *events: Event) -> None:
        """Events that follow what was taken before."""
        taken: list[TakenEvent] = [
            read_event(record.accepted + number, encode_event(event))
            for number, event in enumerate(events, 1)
        ]
        self.ledger.take(record, taken)

    def started_run(
        self, *, pid: int, host: str = "", boot: str = "", started_wall_s: float = 1.8e9
    ) -> RunRecord:
        """A run whose first boot has told who it is."""
        record = self.ledger.registry.get_or_add(new_id())
        started = BootStarted(
            t_s=0.0,
            boot=boot or new_id(),
            name="net",
            host=host or socket.gethostname(),
            pid=pid,
            pid_namespace=own_pid_namespace(),
            started_wall_s=started_wall_s,
            actions=["save", "reload", "stop"],
        )
        self.take(record, started)
        return record


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[HubParts]:
    """Ledger and database in this process."""
    parts = HubParts(tmp_path)
    yield parts
    parts.database.close()
