"""All that trainings without a hub wrote into a shared folder is shipped, once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.shipping import IngestEndpoint, Shipper, ShippingProgress
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, ipc_endpoint
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.spool.format import encode_record, parse_segment, segment_head
from kmonitor_agent.wire.spool.reader import SpoolReader, spools_below
from tests.support.links import LinkUnderTest, sample
from tests.support.live_hub import LiveHub
from tests.support.spooling import OTHER_NAMESPACE, can_unshare, spooling
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The folder that all hosts of the cluster see."""
    return tmp_path / "shared"


@pytest.fixture
def shipper(live_hub: LiveHub, folders: Folders) -> Iterator[Shipper]:
    with Shipper(IngestEndpoint(ipc_endpoint(ingest_socket_path(folders)))) as shipper:
        yield shipper


def ship(shipper: Shipper, shared: Path) -> tuple[int, int]:
    """Ship everything there; events sent, and missing ones."""
    done = [one(shipper, folder) for folder in spools_below(shared)]
    assert not [each.refused for each in done if each.refused]
    return sum(each.events for each in done), sum(each.missing for each in done)


def one(shipper: Shipper, folder: Path) -> ShippingProgress:
    done = ShippingProgress(folder.name)
    shipper.ship(SpoolReader(folder), done)
    return done


def steps(client: HubClient, run: str) -> list[int]:
    events = [decode_event(row.body) for row in client.all_rows(run)]
    return [event.step for event in events if isinstance(event, Sample)]


@pytest.mark.exposed
def test_a_spool_is_shipped_while_its_process_lives_and_after_its_death_and_nothing_twice(
    shared: Path, shipper: Shipper, client: HubClient
):
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("6000")
        assert ship(shipper, shared) == (6001, 0)
        assert ship(shipper, shared) == (0, 0)
        process.tell("500")
        assert ship(shipper, shared) == (500, 0)
        process.tell("700")
        process.tell("die")
    assert ship(shipper, shared) == (700, 0)
    assert ship(shipper, shared) == (0, 0)

    (run,) = client.runs()
    assert steps(client, process.run) == list(range(7200))
    assert (run.run, run.gaps, run.is_shipped, run.actions) == (process.run, 0, True, [])
    # The host is ours and the process is known to be gone.
    wait_until(lambda: client.runs()[0].state == "lost", what="lost")


@pytest.mark.skipif(not can_unshare(), reason="no PID namespace can be made here")
@pytest.mark.full
def test_who_follows_a_folder_without_a_run_waits_and_a_killed_one_of_a_container_is_lost(
    shared: Path, live_hub: LiveHub, folders: Folders, client: HubClient
):
    shared.mkdir()
    words = [sys.executable, "-m", "kmonitor", "ship", str(shared), "--follow"]
    shipping = subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        assert shipping.stderr is not None
        assert "yet; waiting" in shipping.stderr.readline()
        with spooling({"KMONITOR_SPOOL": str(shared)}, *OTHER_NAMESPACE) as process:
            process.tell("20")
            wait_until(client.runs, what="shipped")
            process.tell("die")
        wait_until(lambda: client.runs()[0].state == "lost", what="lost")
    finally:
        shipping.terminate()
        shipping.communicate(timeout=DEADLINE_S)


def test_two_ranks_of_a_job_come_as_one_group(shared: Path, shipper: Shipper, client: HubClient):
    job = {
        "KMONITOR_SPOOL": str(shared),
        "SLURM_JOB_ID": "1234",
        "SLURM_JOB_NAME": "train",
        "SLURM_STEP_ID": "0",
        "SLURM_NTASKS": "2",
    }
    with (
        spooling({**job, "SLURM_PROCID": "0"}) as first,
        spooling({**job, "SLURM_PROCID": "1"}) as second,
    ):
        for process in (first, second):
            process.tell("20")
            process.tell("end")
    ship(shipper, shared)
    runs = sorted(client.runs(), key=lambda run: run.rank or 0)

    assert [run.rank for run in runs] == [0, 1]
    assert {run.group for run in runs} == {"slurm 1234.0"}
    assert {run.name for run in runs} == {"job 1234 \N{MIDDLE DOT} train"}
    assert {(run.world_size, run.job, run.state) for run in runs} == {
        (2, "slurm 1234", "finished")
    }
    assert len({folder.parent for folder in spools_below(shared)}) == 2


@pytest.mark.full
def test_the_hub_may_die_meanwhile(shared: Path, shipper: Shipper, live_hub: LiveHub):
    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("300")
        ship(shipper, shared)
        live_hub.restart()
        process.tell("300")
        ship(shipper, shared)
    with live_hub.client() as client:
        assert steps(client, process.run) == list(range(600))


def test_what_is_gone_from_the_folder_is_a_gap(
    shared: Path, shipper: Shipper, client: HubClient, folders: Folders
):
    place = shared / "run1"
    with LinkUnderTest(folders, run="run1") as link:
        link.link.emit(sample(1))
        wait_until(lambda: link.link.status().acked == 2)
    (segment,) = (folders.spool / "run1").glob("*.events")
    place.mkdir(parents=True)
    (place / f"{1000:020d}.events").write_bytes(_later(segment.read_bytes(), by=999))

    assert ship(shipper, shared) == (2, 997)
    (run,) = client.runs()
    assert run.gaps == 997


def _later(data: bytes, by: int) -> bytes:
    read = parse_segment(data)
    assert read.facts is not None
    records = [encode_record(record.seq + by, record.body) for record in read.records]
    return segment_head(read.facts) + b"".join(records)


def test_a_run_that_tells_the_hub_itself_or_was_deleted_is_not_shipped(
    shared: Path, shipper: Shipper, client: HubClient, folders: Folders
):
    with LinkUnderTest(folders, run="run1") as link:
        link.link.emit(sample(1))
        wait_until(lambda: link.link.status().acked == 2)
        refused = one(shipper, folders.spool / "run1").refused
        assert "training process itself" in refused
        link.link.emit(sample(2))
        wait_until(lambda: link.link.status().acked == 3)

    with spooling({"KMONITOR_SPOOL": str(shared)}) as process:
        process.tell("3")
        process.tell("end")
    ship(shipper, shared)
    client.edit(process.run, delete=True)
    (folder,) = spools_below(shared)
    assert "removed" in one(shipper, folder).refused
    assert process.run not in {run.run for run in client.runs()}
