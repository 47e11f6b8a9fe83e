"""A hub that is slow says so: a real hub's loop, a reader that is held, a real client."""

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from kmonitor.base.wakeup import WakeupPipe
from kmonitor.connect import hub_client
from kmonitor.connect.hub_client import HubClient, HubStuck
from kmonitor.hub import loop
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.judge import judge_thread
from kmonitor.hub.log import LOG
from kmonitor.hub.loop import HubLoop
from kmonitor.hub.store.sample_blocks import Samples, read_samples
from kmonitor.hub.views import run_columns
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from kmonitor_agent.wire.local.private_files import make_private_folder
from kmonitor_agent.wire.messages.unions import ReplyPending
from tests.support.clock import MovedClock
from tests.support.stored_runs import store_runs
from tests.support.waiting import DEADLINE_S

N_SAMPLES = 200


class SlowHub:
    """A hub's loop on a thread, with one run, whose samples are read once `gate` is open."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        ((self.run, self.n_events),) = store_runs(folders, 1, N_SAMPLES).items()
        self.gate = threading.Event()
        self._wake = WakeupPipe()
        self._loops: list[HubLoop] = []
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._main, name="slow-hub")

    def read_samples(self, *args: Any) -> Samples:
        assert self.gate.wait(DEADLINE_S)
        return read_samples(*args)

    def start(self) -> None:
        self._thread.start()
        assert self._is_up.wait(DEADLINE_S)

    def close(self) -> None:
        self.gate.set()
        for each in self._loops:
            each.stop()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        self._wake.close()

    def client(self, **options: Any) -> HubClient:
        return HubClient(ipc_endpoint(view_socket_path(self.folders)), **options)

    def _main(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        loop = HubLoop(self.folders, context, self._wake, HubFaults(LOG), SystemClock())
        self._loops.append(loop)
        self._is_up.set()
        loop.run(lambda: True)
        loop.close()
        context.destroy(linger=0)


@pytest.fixture
def slow_hub(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowHub]:
    monkeypatch.setattr(loop, "_WORKING_EVERY_S", 0.02)
    make_private_folder(folders.runtime)
    hub = SlowHub(folders)
    for reader in (run_columns, judge_thread):
        monkeypatch.setattr(reader, "read_samples", hub.read_samples)
    hub.start()
    yield hub
    hub.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    """The client's time."""
    clock = MovedClock()
    monkeypatch.setattr(hub_client, "time", SimpleNamespace(monotonic=clock.monotonic_s))
    return clock


QUESTIONS: dict[str, Callable[[HubClient, str], object]] = {
    "series": lambda client, run: client.series(run, ["ram_bytes"]).columns[0].n_raw,
    "verdicts": lambda client, run: len(client.verdicts(run)) > 0,
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_an_answer_is_waited_for_as_long_as_the_hub_works_on_it(
    slow_hub: SlowHub, clock: MovedClock, kind: str
):
    heard: list[ReplyPending | None] = []

    def hear(working: ReplyPending | None) -> None:
        heard.append(working)
        if not slow_hub.gate.is_set():
            # Time that a busy machine takes after that is not the client's.
            clock.move(4.0)
        if len(heard) == 4:
            slow_hub.gate.set()

    with slow_hub.client(timeout_s=5.0, on_working=hear) as client:
        found = QUESTIONS[kind](client, slow_hub.run)

    assert found == {"series": N_SAMPLES, "verdicts": True}[kind]
    assert len(heard) > 4
    first = heard[0]
    assert first is not None
    assert (first.done, first.of) == (0, slow_hub.n_events)
    assert heard[-1] is None


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_hub_that_gets_on_with_nothing_is_not_waited_for_for_ever(
    slow_hub: SlowHub, clock: MovedClock, kind: str
):
    def hear(working: ReplyPending | None) -> None:
        if working:
            clock.move(4.0)

    with (
        slow_hub.client(timeout_s=5.0, stuck_s=60.0, on_working=hear) as client,
        pytest.raises(HubStuck, match="has processed nothing for 60 s"),
    ):
        QUESTIONS[kind](client, slow_hub.run)
