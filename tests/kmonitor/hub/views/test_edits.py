"""Renaming, annotating and deleting runs, and the messages that desktops get."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.hub.store.schema import SCHEMA_VERSION, open_reader
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import Sample, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id
from tests.support.hub_parts import HubParts, on_both_stores
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until


@pytest.mark.slow
def test_a_new_name_and_note_outlive_hub_and_boot(live_hub: LiveHub, folders: Folders):
    with SimulatedAgent(folders, name="old") as agent:
        agent.wait_acked()
        with live_hub.client() as client:
            client.edit(agent.run, name="néw", note="the good one")
        live_hub.restart()
    with SimulatedAgent(folders, after=agent, name="old") as later, live_hub.client() as client:
        later.wait_acked()
        (run,) = client.runs()

    assert (run.name, run.note, run.session) == ("néw", "the good one", later.session)


@pytest.mark.slow
def test_a_living_run_is_not_deleted(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        with pytest.raises(HubRefused, match="stop it first"):
            client.edit(agent.run, delete=True)

        assert len(client.runs()) == 1


@pytest.mark.slow
def test_a_deleted_run_is_gone_with_its_rows_and_told_as_deleted(
    live_hub: LiveHub, folders: Folders
):
    with SimulatedAgent(folders) as agent, SimulatedAgent(folders) as other:
        agent.sample()
        agent.end_boot()
        agent.wait_acked()
        other.wait_acked()
        with live_hub.client() as client:
            wait_until(lambda: {r.run: r.state for r in client.runs()}[agent.run] == "finished")
            client.edit(agent.run, delete=True)
            runs = client.runs()
            rows = client.rows()
            with pytest.raises(HubRefused):
                client.series(agent.run, ["ram_bytes"])
    reader = open_reader(folders.database / "hub.sqlite3")
    wait_until(lambda: reader.execute("SELECT count(*) FROM events").fetchone()[0] == 1)
    reader.close()

    assert [run.run for run in runs] == [other.run]
    assert {row.run for row in rows.rows} == {other.run}


@on_both_stores
def test_row_ids_are_never_used_twice(parts: HubParts):
    first = parts.started_run(pid=1)
    parts.take(first, Sample(t_s=1.0))
    assert parts.event_log.commit()
    head = parts.event_log.head
    parts.event_log.registry.delete(first)
    assert parts.event_log.commit()
    while parts.database.sweep():
        pass

    parts.reopen()
    second = parts.started_run(pid=1)
    assert parts.event_log.commit()

    assert parts.event_log.head == head + 1
    assert second.key != first.key
    assert parts.event_log.registry.was_deleted(first.run)


def test_deleted_runs_are_told_to_who_knew_them(parts: HubParts):
    record = parts.started_run(pid=1)
    change = parts.event_log.registry.change
    parts.event_log.registry.delete(record)

    assert parts.event_log.registry.deleted_since(change) == [record.run]
    assert parts.event_log.registry.deleted_since(0) == []


def test_the_database_tells_its_schema(parts: HubParts):
    reader = open_reader(parts.path)

    assert reader.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    reader.close()


def test_a_run_id_of_one_letter_more_is_another_run(parts: HubParts):
    one = parts.event_log.registry.get_or_add("a")
    two = parts.event_log.registry.get_or_add("ab")
    session = SessionStarted(
        t_s=0.0, session=new_id(), name="n", host="h", pid=1, started_wall_s=1.0
    )
    parts.take(one, session)

    assert one.key != two.key
    assert parts.event_log.registry.changed_since(0) == ([one], False)


@pytest.mark.slow
def test_the_hub_imports_neither_qt_nor_a_framework(tmp_path: Path):
    code = (
        "import sys, kmonitor.hub.service, kmonitor.connect.follower;"
        "print([m for m in ('PySide6', 'pyqtgraph', 'tensorflow', 'keras') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KMONITOR_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout

    assert out.strip() == "[]"
