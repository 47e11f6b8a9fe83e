"""`kmonitor ship` says how many events it brought to the hub, also when its way was cut amid."""

import json
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from kmonitor.cli import ship as command
from kmonitor.cli.main import main
from kmonitor.connect import shipping
from kmonitor.connect.host_errors import HostError
from kmonitor.connect.shipping import IngestEndpoint
from kmonitor_agent.wire.messages.unions import Ack, Batch, Hello, ToAgent, Welcome
from kmonitor_agent.wire.spool.format import encode_record, segment_head, segment_name
from tests.support.links import FACTS, body

_RUN = FACTS.run


class Hub:
    """Stores what comes; its answers are lost from the moment on that the way is cut.

    Attributes:
        acked: Newest number that it has.
        cut_after: The way is cut when it has stored this number, once each.
        forgets: Events that it forgets while the way is cut, numbers from the newest down.
    """

    def __init__(self) -> None:
        self.acked = 0
        self.cut_after: list[int] = []
        self.forgets = 0
        self.is_cut = False
        self._answers: deque[ToAgent] = deque()

    @contextmanager
    def endpoint(self) -> Generator[IngestEndpoint]:
        self.is_cut = False
        self._answers.clear()
        yield IngestEndpoint("inproc://hub", trouble=self._trouble)

    def send(self, message: msgspec.Struct) -> bool:
        if self.is_cut:
            return True
        match message:
            case Hello():
                self.acked = max(self.acked, message.first - 1)
                told = Welcome(
                    run=message.run,
                    hub="h",
                    session=FACTS.session,
                    minor_version=1,
                    acked=self.acked,
                    ping_ms=500,
                    max_batch=1024,
                )
                self._answers.append(told)
            case Batch() if message.first == self.acked + 1:
                self.acked += len(message.events)
                if self.cut_after and self.acked >= self.cut_after[0]:
                    self.cut_after.pop(0)
                    self.acked -= self.forgets
                    self.is_cut = True
                    self._answers.clear()
                    return True
                self._answers.append(Ack(run=_RUN, acked=self.acked))
            case _:
                pass
        return True

    def receive(self, _timeout_s: float) -> ToAgent | None:
        return self._answers.popleft() if self._answers else None

    def close(self, *, linger_s: float = 0.0) -> None:
        """As that of the real one."""

    refusal = ""

    def _trouble(self) -> HostError | None:
        return HostError("broken", "gpu-01", "The connection ended.") if self.is_cut else None


class Target:
    """As `ShipTarget`: everything goes to one hub."""

    def __init__(self, hub: Hub) -> None:
        self.endpoint, self.description = hub.endpoint, "the hub"

    def is_transient(self, _exc: Exception) -> bool:
        return True

    def runs(self) -> dict[str, object]:
        return {}

    def is_read_by_own_hub(self, _spool: Path) -> bool:
        return False


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub()
    monkeypatch.setattr(command, "ShipTarget", lambda *_: Target(hub))
    monkeypatch.setattr(command, "_FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(shipping, "IngestSocket", lambda _hub: hub)
    return hub


def spooled(folder: Path, *seqs: range) -> Path:
    """A run's spool of one segment for each range of numbers."""
    run = folder / _RUN
    run.mkdir()
    for numbers in seqs:
        records = b"".join(encode_record(n, body(n)) for n in numbers)
        (run / segment_name(numbers[0])).write_bytes(segment_head(FACTS) + records)
    return folder


def shipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """Events and missing ones as they are sent."""
    assert main(["ship", str(folder), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    return told["events"], told["missing"]


def test_what_was_stored_before_and_at_a_cut_is_counted_once(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spooled(tmp_path, range(1, 9001))
    hub.cut_after = [3000, 6000]

    assert shipped(tmp_path, capsys) == (9000, 0)
    assert hub.acked == 9000


def test_what_the_hub_had_before_is_not_counted_and_what_it_forgot_is_counted_once(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spooled(tmp_path, range(1, 9001))
    hub.acked, hub.cut_after, hub.forgets = 1000, [7000], 1500

    assert shipped(tmp_path, capsys) == (8000, 0)
    assert hub.acked == 9000


def test_numbers_that_nobody_has_any_more_are_counted_once_however_often_they_are_read(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spooled(tmp_path, range(1, 101), range(111, 501), range(5001, 5101))
    hub.cut_after = [105, 300, 5050]

    assert shipped(tmp_path, capsys) == (600, 4510)
    assert hub.acked == 5100
