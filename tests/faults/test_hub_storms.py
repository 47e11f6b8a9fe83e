"""Storms on a real hub, with the intervals that users have: kills, stops, a loop that hangs."""

import random
import signal

import pytest

from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Sample
from tests.support.fake_hub import FakeHub
from tests.support.links import LinkUnderTest, sample
from tests.support.live_hub import LiveHub
from tests.support.waiting import wait_until

pytestmark = pytest.mark.full

EVENTS = 100_000
KILLS = 20


def emit(test: LinkUnderTest, first: int, last: int) -> None:
    """Samples of these numbers, no faster than the agent's thread can take them."""
    for step in range(first, last, 1000):
        for number in range(step, min(step + 1000, last)):
            test.link.emit(sample(number))
        wait_until(lambda step=step: test.link.status().last_seq > step, what="spooled")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_twenty_kills_during_100_000_events_lose_and_repeat_nothing(
    live_hub: LiveHub, folders: Folders, seed: int
):
    random_ = random.Random(seed)  # noqa: S311 - the same moments each time
    kills = sorted(random_.sample(range(1, EVENTS), KILLS))
    with LinkUnderTest(folders, timing=Timing()) as test:
        begun = 0
        for kill in kills:
            emit(test, begun, kill)
            begun = kill
            acked = test.link.status().acked
            if random_.random() < 0.5:  # else it is killed while it starts to take what waits
                wait_until(lambda acked=acked: test.link.status().acked > acked)
            live_hub.restart()
        emit(test, begun, EVENTS)
        wait_until(lambda: test.link.status().acked > EVENTS, what="all is confirmed")
        assert test.faults.counts() == {}
    with live_hub.client() as client:
        rows = list(client.all_rows("run1"))
        (run,) = client.runs()

    assert [row.seq for row in rows] == list(range(1, EVENTS + 2))
    events = [decode_event(row.body) for row in rows]
    assert [each.step for each in events if isinstance(each, Sample)] == list(range(EVENTS))
    assert run.gaps == 0


def test_a_hub_stopped_again_and_again_is_found_each_time_and_gets_everything_once(
    live_hub: LiveHub, folders: Folders
):
    with LinkUnderTest(folders, timing=Timing()) as test:
        for number in range(3):
            wait_until(lambda: test.link.status().connected, what="connected")
            live_hub.process.send_signal(signal.SIGSTOP)
            until_left(test)
            test.link.emit(sample(number))
            live_hub.process.send_signal(signal.SIGCONT)
        wait_until(lambda: test.link.status().acked == 4, what="delivered")
    with live_hub.client() as client:
        rows = list(client.all_rows("run1"))

    assert [row.seq for row in rows] == [1, 2, 3, 4]


def test_a_hub_whose_loop_hangs_while_its_sockets_live_is_found(folders: Folders):
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=Timing()) as test,
    ):
        hub.serve_until(lambda: hub.acked == 1)
        # From here on no one serves; libzmq's own thread answers for the hub all the time.
        until_left(test)
        test.link.emit(sample(1))
        hub.serve_until(lambda: hub.acked == 2)

    assert test.faults.counts() == {}


def until_left(test: LinkUnderTest) -> None:
    """Until the agent has left a hub that is silent."""
    wait_until(lambda: not test.link.status().connected, what="left")
