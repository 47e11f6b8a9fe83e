"""The hub's parts without its process: a real database, a clock that tests move."""

import logging
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kmonitor.hub.access.peers import LOCAL_USER, Send
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.ingest.process_watch import own_pid_namespace
from kmonitor.hub.runs.hub_event_log import HubEventLog, TakenEvent, read_event_body
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.database import DATABASE_NAME, SqliteDatabase
from kmonitor.hub.store.store_choice import open_database
from kmonitor.hub.views.edits import EditService
from kmonitor.hub.views.viewers import (
    CommandService,
    SeriesProvider,
    VerdictProvider,
    ViewerContext,
    ViewerService,
)
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import Event, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id
from tests.support.clock import MovedClock


class HubParts:
    """An event log on a database in `folder`; `reopen` is what a new hub process does."""

    def __init__(self, folder: Path, store: str = "") -> None:
        """Args: `store`: URL of a team's database; empty: a file in `folder`."""
        self.folders = replace(find_folders(), database=folder)
        self.path = folder / DATABASE_NAME
        self.store = store
        self.clock = MovedClock()
        self.log = logging.getLogger("kmonitor.test-hub")
        self.log.propagate = False
        self.open()

    def open(self) -> None:
        """Open the database."""
        self.faults = HubFaults(self.log)
        self.database = open_database(self.folders, self.store)
        self.event_log = HubEventLog(self.database, self.faults, self.clock)

    def reopen(self) -> None:
        """Close without a commit, and open again."""
        self.database.close()
        self.open()

    def viewer_service(
        self, send: Send, series: SeriesProvider, verdicts: VerdictProvider
    ) -> ViewerService:
        """Answers desktops of this user; requests about the hub itself go to no one."""
        context = ViewerContext(
            host=socket.gethostname(),
            series=series,
            verdicts=verdicts,
            commands=CommandService(self.event_log, self.clock, lambda _: False),
            edits=EditService(self.event_log, is_abandoned=lambda _: False),
            peer_of=lambda _: LOCAL_USER,
            troubles=list,
            on_hub_request=lambda _identity, _request: None,
            on_access_request=lambda _identity, _request: None,
        )
        return ViewerService(self.event_log, context, self.faults, self.clock, send)

    def limit_pages(self, n: int) -> None:
        """Let the disk be full once the file has `n` pages."""
        assert isinstance(self.database, SqliteDatabase)
        self.database.limit_pages(n)

    def spoil(self, statement: str) -> None:
        """Run a statement on the database, as a stranger would."""
        if self.store:
            stranger = self.database.open_reader()
            stranger.execute("SET default_transaction_read_only = off")
            stranger.execute(statement)
            stranger.close()
            return
        with closing(sqlite3.connect(self.path)) as file, file:
            file.execute(statement)

    def take(self, record: RunRecord, *events: Event) -> None:
        """Events that follow what was taken before."""
        taken: list[TakenEvent] = [
            read_event_body(record.accepted + number, encode_event(event))
            for number, event in enumerate(events, 1)
        ]
        self.event_log.append(record, taken)

    def started_run(
        self, *, pid: int, host: str = "", session: str = "", started_wall_s: float = 1.8e9
    ) -> RunRecord:
        """A run whose first session has announced itself."""
        record = self.event_log.registry.get_or_add(new_id())
        started = SessionStarted(
            t_s=0.0,
            session=session or new_id(),
            name="net",
            host=host or socket.gethostname(),
            pid=pid,
            pid_namespace=own_pid_namespace(),
            started_wall_s=started_wall_s,
            actions=["save", "reload", "stop"],
        )
        self.take(record, started)
        return record


on_both_stores = pytest.mark.parametrize(
    "parts", ["sqlite", pytest.param("team", marks=pytest.mark.psycopg)], indirect=True
)
"""Marks tests whose `parts` store in a file, and once more on a PostgreSQL server."""


@pytest.fixture
def parts(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[HubParts]:
    """Event log and database in this process."""
    is_of_team = getattr(request, "param", "sqlite") == "team"
    parts = HubParts(tmp_path, request.getfixturevalue("team_url") if is_of_team else "")
    yield parts
    parts.database.close()
