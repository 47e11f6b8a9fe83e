"""Hubs that die, hang, forget, refuse or talk nonsense: nothing lost, nothing twice, in order."""

from pathlib import Path

import msgspec
import pytest

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.local.private_files import make_private_folder
from kmonitor_agent.wire.messages.codec import event_type, pack
from kmonitor_agent.wire.messages.events import EpochEnded, LostEvents, Notice
from kmonitor_agent.wire.messages.fields import MAGIC
from kmonitor_agent.wire.messages.unions import Ack, ErrorMessage, Hello, Ping, Welcome
from tests.support.fake_hub import FakeHub
from tests.support.links import PATIENT, LinkUnderTest, epoch
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


def _epochs(hub: FakeHub) -> list[int]:
    return [e.epoch for e in hub.events if isinstance(e, EpochEnded)]


def test_a_hub_killed_again_and_again_gets_everything_once(folders: Folders):
    path = ingest_socket_path(folders)
    kept: dict[int, bytes] = {}
    with LinkUnderTest(folders) as test:
        for life in range(5):
            with FakeHub(path, acked=len(kept)) as hub:
                hub.bodies = kept
                for number in range(life * 500, life * 500 + 500):
                    test.link.emit(epoch(number))
                target = 400 * (life + 1)
                hub.serve_until(lambda hub=hub, target=target: hub.acked >= target)
        with FakeHub(path, acked=len(kept)) as hub:
            hub.bodies = kept
            hub.serve_until(lambda: hub.acked == 2501)

            assert _epochs(hub) == list(range(2500))


def test_a_hub_that_hangs_is_found_and_its_successor_gets_the_rest(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        hub.serve_until(lambda: hub.acked == 1)
        hub.is_silent = True
        test.link.emit(epoch(1))
        wait_until(lambda: not test.link.status().connected)
        hellos = hub.count(Hello)
        hub.is_silent = False
        hub.serve_until(lambda: test.link.status().acked == 2)

        assert hub.count(Hello) > hellos
        assert _epochs(hub) == [1]


def test_a_hub_that_takes_messages_but_never_answers_is_left(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        hub.serve_until(lambda: hub.acked == 1)
        hub.answers = lambda _: False
        hub.serve_until(lambda: not test.link.status().connected)
        hub.answers = lambda _: True
        test.link.emit(epoch(1))
        hub.serve_until(lambda: hub.acked == 2)


def test_a_hub_that_pongs_but_never_acks_is_greeted_again(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        hub.serve_until(lambda: hub.acked == 1)
        hub.answers = lambda message: isinstance(message, Ping)
        test.link.emit(epoch(1))
        hellos = hub.count(Hello)
        hub.serve_until(lambda: hub.count(Hello) > hellos)
        hub.answers = lambda _: True
        hub.serve_until(lambda: hub.acked == 2)


def test_a_hub_whose_database_is_gone_is_filled_again(folders: Folders):
    path = ingest_socket_path(folders)
    with LinkUnderTest(folders) as test:
        for number in range(300):
            test.link.emit(epoch(number))
        with FakeHub(path) as first:
            first.serve_until(lambda: first.acked == 301)
        with FakeHub(path, hub_id="hub2") as second:
            second.serve_until(lambda: second.acked == 301)

            assert _epochs(second) == list(range(300))


def test_a_hub_restored_from_a_backup_is_filled_up(folders: Folders):
    path = ingest_socket_path(folders)
    with LinkUnderTest(folders) as test:
        for number in range(300):
            test.link.emit(epoch(number))
        with FakeHub(path) as first:
            first.serve_until(lambda: first.acked == 301)
        with FakeHub(path, acked=100) as restored:
            restored.serve_until(lambda: restored.acked == 301)

            assert sorted(restored.bodies) == list(range(101, 302))


def test_a_hub_ahead_of_the_run_never_costs_the_spool(folders: Folders):
    with LinkUnderTest(folders) as test:
        test.link.emit(epoch(1))
        with FakeHub(ingest_socket_path(folders), acked=1000) as ahead:
            ahead.serve_until(lambda: ahead.count(Hello) >= 2)
        with FakeHub(ingest_socket_path(folders)) as right:
            right.serve_until(lambda: right.acked == 3)

            assert _epochs(right) == [1]
            assert [e.code for e in right.events if isinstance(e, Notice)] == ["hub_ahead"]


def test_a_poison_event_is_found_by_halving_and_the_stream_goes_on(folders: Folders):
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=PATIENT) as test,
    ):
        hub.refuses = lambda body: b"poison" in body
        for number in range(1000):
            test.link.emit(epoch(number))
            if number in {17, 700}:
                notice = Notice(t_s=1.0, level="info", code="poison", text="")
                test.link.emit(notice)
        hub.refuses = lambda body: event_type(body) == "notice"
        hub.serve_until(lambda: hub.acked == 1003)

        assert _epochs(hub) == list(range(1000))
        assert [e.why for e in hub.events if isinstance(e, LostEvents)] == [
            "refused by the hub: poison"
        ] * 2


NONSENSE = [
    [b"KM1", b"\xc1"],
    [b"KM9", b"\x80"],
    [b"KM1", b"\x91" * 60_000],
    [b"KM1"] * 50,
    [b""] * 5000,
    [MAGIC, msgspec.msgpack.encode({"type": "ack", "run": "run1", "acked": -5})],
    [
        MAGIC,
        msgspec.msgpack.encode({"type": "command", "id": "c", "session": "b", "name": "rm -rf"}),
    ],
    [MAGIC, msgspec.msgpack.encode({"type": "from_the_future"})],
]


def test_nonsense_between_messages_changes_nothing(folders: Folders):
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=PATIENT) as test,
    ):
        hub.serve_until(lambda: hub.acked == 1)
        for frames in NONSENSE:
            hub.send_frames(frames)
        hub.send(ErrorMessage(code="unsupported", text="?"))
        test.link.emit(epoch(1))
        hub.serve_until(lambda: hub.acked == 2)

        assert test.link.status().connected
        assert test.commands == []
        assert hub.count(Hello) == 1


@pytest.mark.parametrize("frames", [[b"nonsense"], [MAGIC, b"\x81\xa4type"]])
def test_a_flood_of_nonsense_ends_the_session_and_the_next_hub_is_served(
    folders: Folders, frames: list[bytes]
):
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=PATIENT) as test,
    ):
        hub.serve_until(lambda: hub.acked == 1)
        hellos = hub.count(Hello)
        for _ in range(150):
            hub.send_frames(frames)
        hub.serve_until(lambda: hub.count(Hello) > hellos)
        hub.serve_until(lambda: hub.acked == 2)

        assert [e.code for e in hub.events if isinstance(e, Notice)] == ["hub_broken"]
        assert test.faults.counts() == {}


def test_an_oversized_frame_cuts_the_connection_and_nothing_else(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        hub.serve_until(lambda: hub.acked == 1)
        hub.send_frames([MAGIC, bytes(1_000_000)])
        test.link.emit(epoch(1))
        hub.serve_until(lambda: hub.acked == 2)

        assert _epochs(hub) == [1]
        assert test.faults.counts() == {}


def test_late_and_repeated_answers_do_no_harm(folders: Folders):
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=PATIENT) as test,
    ):
        hub.serve_until(lambda: hub.acked == 1)
        stale = Welcome(
            run="run1",
            hub="hub1",
            session="session1",
            minor_version=1,
            acked=0,
            ping_ms=100,
            max_batch=1,
        )
        hub.send(stale, Ack(run="run1", acked=0), Ack(run="other", acked=10**6), stale)
        for number in range(20):
            test.link.emit(epoch(number))
        hub.serve_until(lambda: hub.acked == 21)

        assert _epochs(hub) == list(range(20))


def test_a_hub_whose_folder_disappears_is_found_at_its_new_place(folders: Folders):
    path = ingest_socket_path(folders)
    with LinkUnderTest(folders) as test:
        with FakeHub(path) as first:
            first.serve_until(lambda: first.acked == 1)
        path.unlink(missing_ok=True)
        path.parent.rmdir()
        wait_until(lambda: not test.link.status().connected)
        test.link.emit(epoch(1))
        with FakeHub(path, acked=1) as second:
            second.serve_until(lambda: second.acked == 2)


def test_a_hub_in_a_folder_open_to_others_gets_nothing(folders: Folders):
    path = ingest_socket_path(folders)
    make_private_folder(path.parent)
    test = LinkUnderTest(folders)
    with FakeHub(path) as hub:
        _open_to_all(path.parent)
        with test:
            wait_until(lambda: test.link.status().last_seq >= 2)
            assert hub.got == []
            path.parent.chmod(0o700)
            hub.serve_until(lambda: hub.acked == 2)

        assert [e.code for e in hub.events if isinstance(e, Notice)] == ["hub_not_private"]


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def test_messages_of_the_fake_hub_are_those_of_the_protocol():
    assert pack(Ack(run="r", acked=1))[0] == MAGIC
