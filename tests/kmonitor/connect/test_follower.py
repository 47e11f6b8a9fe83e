"""The desktop's thread for one hub: nothing missing, nothing twice, whatever the hub does."""

import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from kmonitor.connect.follower import Connected, Disconnected, HubFollower, HubStatusChanged
from kmonitor.hub.options import KEEP_NAME, Keep, save_keep
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.commands import PlainArguments
from kmonitor_agent.wire.messages.events import ActionRecord
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    CommandRequest,
    EditReply,
    EditRequest,
    ErrorMessage,
    RowsReply,
    RunsReply,
    SeriesRequest,
)
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


class Reader:
    """Takes everything out of a follower's inbox, as a window does."""

    def __init__(self, folders: Folders, inbox_limit: int = 4096) -> None:
        self.wakes = 0
        self.news: list[object] = []
        self.follower = HubFollower(
            ipc_endpoint(view_socket_path(folders)),
            wake_reader=self._wake,
            inbox_limit=inbox_limit,
        )

    def _wake(self) -> None:
        self.wakes += 1

    def read(self) -> None:
        while self.follower.inbox:
            self.news.append(self.follower.inbox.popleft())
        self.follower.drained()

    def of(self, kind: type) -> list:
        self.read()
        return [one for one in self.news if isinstance(one, kind)]

    def seqs(self, run: str) -> list[int]:
        return [row.seq for page in self.of(RowsReply) for row in page.rows if row.run == run]


@pytest.fixture
def reader(folders: Folders) -> Iterator[Reader]:
    reader = Reader(folders)
    reader.follower.start()
    yield reader
    reader.follower.stop()


def test_new_rows_and_changed_runs_arrive_by_themselves(
    live_hub: LiveHub, reader: Reader, folders: Folders
):
    wait_until(lambda: reader.of(Connected))
    with SimulatedAgent(folders) as agent:
        for _ in range(2500):
            agent.sample()
        wait_until(lambda: len(reader.seqs(agent.run)) >= 2501)

    assert reader.seqs(agent.run) == list(range(1, 2502))
    assert reader.of(RunsReply)[-1].runs[0].run == agent.run
    assert reader.wakes >= 1


def test_live_rows_begin_at_the_newest_when_first_connected(live_hub: LiveHub, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.wait_acked()
        late = Reader(folders)
        late.follower.start()
        wait_until(lambda: late.of(RunsReply))
        agent.sample()
        wait_until(lambda: late.seqs(agent.run))
        late.follower.stop()

    assert late.seqs(agent.run) == [3]


def test_a_hub_that_dies_and_comes_back_loses_and_repeats_nothing(
    live_hub: LiveHub, reader: Reader, folders: Folders
):
    wait_until(lambda: reader.of(RunsReply) or reader.of(Connected))
    with SimulatedAgent(folders) as agent:
        for _ in range(500):
            agent.sample()
        wait_until(lambda: reader.seqs(agent.run))
        live_hub.kill()
        wait_until(lambda: reader.of(Disconnected))
        for _ in range(500):
            agent.sample()
        live_hub.start()
        reader.follower.retry_now()
        wait_until(lambda: len(reader.of(Connected)) >= 2)
        wait_until(lambda: len(reader.seqs(agent.run)) >= 1001)

    assert reader.seqs(agent.run) == list(range(1, 1002))
    gone = reader.of(Disconnected)[0]
    assert gone.why
    assert gone.retry_in_s is not None
    assert gone.retry_in_s > 0


def test_a_hub_with_a_new_database_is_followed_from_its_start(
    live_hub: LiveHub, reader: Reader, folders: Folders
):
    first = wait_until(lambda: reader.of(Connected))[0]
    with SimulatedAgent(folders) as agent:
        agent.sample()
        wait_until(lambda: len(reader.seqs(agent.run)) == 2)
        live_hub.kill()
        for path in folders.database.iterdir():
            path.unlink()
        live_hub.start()
        second = wait_until(lambda: reader.of(Connected)[1:])[0]
        agent.wait_acked()
        agent.sample()
        wait_until(lambda: 3 in reader.seqs(agent.run))
        with live_hub.client() as client:
            rows = list(client.all_rows(agent.run))

    assert first.hub.hub != second.hub.hub
    assert [row.seq for row in rows] == [1, 2, 3]


def test_nothing_is_pulled_while_the_reader_does_not_read(live_hub: LiveHub, folders: Folders):
    slow = Reader(folders, inbox_limit=8)
    slow.follower.start()
    wait_until(lambda: slow.of(RunsReply) or slow.of(Connected))
    slow.wakes = 0
    with SimulatedAgent(folders) as agent:
        wait_until(lambda: slow.follower.inbox)
        for _ in range(40):
            for _ in range(400):
                agent.sample()
            agent.wait_acked()
        most = len(slow.follower.inbox)
        wakes = slow.wakes
        wait_until(lambda: len(slow.seqs(agent.run)) >= 16001)
    slow.follower.stop()

    assert most <= 9
    assert wakes == 1
    assert slow.seqs(agent.run) == list(range(1, 16002))


@pytest.mark.exposed
def test_a_command_is_told_at_each_new_state(live_hub: LiveHub, reader: Reader, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        agent.wait_acked()
        asked = CommandRequest(
            request_id=0,
            id=new_id(),
            run=agent.run,
            name="save",
            session=agent.session,
            args=PlainArguments(),
        )
        number = reader.follower.send_request(asked)
        wait_until(
            lambda: [t for t in reader.of(CommandReply) if t.status.state == "done"], what="done"
        )

    told = reader.of(CommandReply)
    assert {t.request_id for t in told} == {number}
    assert [t.status.state for t in told][-1] == "done"
    assert len({t.status.state for t in told}) == len(told)


@pytest.mark.exposed
def test_a_question_asked_before_the_hub_is_there_is_answered_when_it_comes(
    idle_hub: LiveHub, reader: Reader
):
    number = reader.follower.send_request(
        SeriesRequest(request_id=0, run=new_id(), columns=["ram_bytes"])
    )
    wait_until(lambda: reader.of(Disconnected))
    idle_hub.start()
    reader.follower.retry_now()
    (error,) = wait_until(lambda: reader.of(ErrorMessage))

    assert (error.request_id, error.code) == (number, "not_found")


def test_stop_ends_the_thread_at_once_also_while_it_waits(folders: Folders):
    reader = Reader(folders)
    reader.follower.start()
    wait_until(lambda: reader.of(Disconnected))

    reader.follower.stop()

    assert "kmonitor-follower" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.exposed
def test_a_hub_that_hangs_is_noticed_and_followed_again_when_it_goes_on(
    live_hub: LiveHub, reader: Reader
):
    wait_until(lambda: reader.of(Connected))
    live_hub.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: reader.of(Disconnected))
    live_hub.process.send_signal(signal.SIGCONT)
    reader.follower.retry_now()

    assert wait_until(lambda: reader.of(Connected)[1:])


def test_a_deleted_run_is_told(live_hub: LiveHub, reader: Reader, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.end_boot()
        wait_until(lambda: [t for t in reader.of(RunsReply) if t.runs[-1].state == "finished"])
    number = reader.follower.send_request(EditRequest(request_id=0, run=agent.run, delete=True))
    wait_until(lambda: reader.of(EditReply))
    wait_until(lambda: [t for t in reader.of(RunsReply) if agent.run in t.deleted])

    assert reader.of(EditReply)[0].request_id == number


@pytest.mark.skipif(sys.platform != "linux", reason="bounds a process's files as Linux does")
def test_a_hub_that_can_write_no_more_is_heard_of_at_once_and_when_it_can_again(
    live_hub: LiveHub, reader: Reader, folders: Folders
):
    wait_until(lambda: reader.of(Connected))
    hub: Any = psutil.Process(live_hub.process.pid)
    whole = hub.rlimit(psutil.RLIMIT_FSIZE)
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        # As on a full disk, and for the hub alone.
        hub.rlimit(psutil.RLIMIT_FSIZE, (1, whole[1]))
        agent.sample()
        wait_until(lambda: reader.of(HubStatusChanged), what="the trouble")
        hub.rlimit(psutil.RLIMIT_FSIZE, whole)
        wait_until(lambda: len(reader.of(HubStatusChanged)) > 1, what="its end")
        agent.wait_acked()

    troubled, mended = (each.hub for each in reader.of(HubStatusChanged))
    assert str(folders.database) in troubled.unwritten
    assert troubled.unwritten in troubled.troubles
    assert (mended.unwritten, mended.troubles) == ("", [])
    assert len(reader.of(Connected)) == 1


def test_bounds_that_cannot_be_read_any_more_stay_in_force_and_every_desktop_hears_of_it(
    live_hub: LiveHub, reader: Reader, folders: Folders
):
    save_keep(folders, Keep(days=30.0))
    wait_until(lambda: reader.of(Connected))
    with live_hub.client() as client:
        wait_until(lambda: client.hub().retention_days, what="the bounds")
        (folders.settings / KEEP_NAME).write_text('{"days": ')
        troubled = wait_until(lambda: reader.of(HubStatusChanged), what="the trouble")[0].hub
        save_keep(folders, Keep(days=7.0))
        wait_until(lambda: len(reader.of(HubStatusChanged)) > 1, what="its end")

    mended = reader.of(HubStatusChanged)[1].hub
    assert [str(folders.settings / KEEP_NAME) in text for text in troubled.troubles] == [True]
    assert "the previous setting applies until" in troubled.troubles[0]
    assert (troubled.retention_days, troubled.unwritten) == (30.0, "")
    assert (mended.retention_days, mended.troubles) == (7.0, [])


def test_two_desktops_both_see_what_came_of_a_command_of_one(
    live_hub: LiveHub, reader: Reader, folders: Folders
):
    other = Reader(folders)
    other.follower.start()
    try:
        wait_until(lambda: reader.of(Connected) and other.of(Connected))
        with SimulatedAgent(folders) as agent:
            agent.start_fit()
            agent.wait_acked()
            wait_until(lambda: reader.of(RunsReply) and other.of(RunsReply))
            asked = CommandRequest(
                request_id=0, id=new_id(), run=agent.run, name="save", session=agent.session
            )
            reader.follower.send_request(asked)

            for each in (reader, other):
                wait_until(lambda r=each: _records(r, asked.id), what="the record")
    finally:
        other.follower.stop()

    assert _records(reader, asked.id) == _records(other, asked.id)


def _records(reader: Reader, command: str) -> list[int]:
    rows = [row for page in reader.of(RowsReply) for row in page.rows]
    events = [(row.row, decode_event(row.body)) for row in rows]
    return [at for at, e in events if isinstance(e, ActionRecord) and e.command == command]
