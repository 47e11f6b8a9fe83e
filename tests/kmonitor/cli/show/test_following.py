"""A run is followed over hubs that break: each event is shown once, and why it waits."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli.common import hub_access
from kmonitor.cli.common.hub_access import HubRoute
from kmonitor.cli.show import command as module
from kmonitor.cli.show.command import EventFollower
from kmonitor.connect.host_errors import HostError, route_lost
from kmonitor.connect.hub_client import HubUnreachable
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.unions import EventRow, RowsReply, RunSummary
from tests.support.links import epoch
from tests.support.made_up_runs import made_up_run

_LOST = HubUnreachable("ipc://hub", 5.0)


class _Hub:
    """Answers from a list of rows; one that breaks is lost once it has sent them."""

    def __init__(
        self, rows: Sequence[EventRow], *, hub: str = "hub1", breaks: bool = False
    ) -> None:
        self._hub, self._rows, self._breaks = hub, rows, breaks

    def runs(self) -> list[RunSummary]:
        return [made_up_run(state="training" if self._breaks else "finished")]

    def rows(self, *, cursor: int, **_: object) -> RowsReply:
        found = [row for row in self._rows if row.row > cursor]
        head = self._rows[-1].row
        if self._breaks and not found:
            raise _LOST
        return RowsReply(
            request_id=0,
            hub=self._hub,
            cursor=max(cursor, head),
            rows=found,
            more=False,
            head=head,
        )


def _rows(*seqs: int, first: int = 1) -> list[EventRow]:
    return [
        EventRow(row=first + at, run="run1", seq=seq, t_s=seq, body=encode_event(epoch(seq)))
        for at, seq in enumerate(seqs)
    ]


def _open(monkeypatch: pytest.MonkeyPatch, *hubs: _Hub | UserError) -> None:
    """Hubs that a route leads to, one after the other."""
    left = iter(hubs)

    @contextmanager
    def opened(*_: object, **__: object) -> Generator[_Hub]:
        hub = next(left)
        if isinstance(hub, UserError):
            raise hub
        yield hub

    monkeypatch.setattr(hub_access, "open_hub", opened)
    monkeypatch.setattr(module, "_POLL_S", 0.0)
    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.0)


def _told_over(hubs_way: HubRoute) -> list[int]:
    told: list[int] = []
    following = EventFollower("run1", [], ("epoch_end",), lambda row: told.append(row.seq))
    following.follow_over(hubs_way, _LOST)
    return told


def test_each_event_is_told_once_over_ways_that_break_and_the_wait_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    cut = route_lost("gpu-01", "")
    breaking, whole = _Hub(_rows(1, 2), breaks=True), _Hub(_rows(1, 2, 3))
    _open(monkeypatch, cut, _LOST, breaking, cut, cut, whole)

    assert _told_over(HubRoute("gpu-01")) == [1, 2, 3]
    said = capsys.readouterr()
    assert said.out == ""
    assert ["Waiting for" in line for line in said.err.splitlines()] == [True, False, True, False]


def test_a_hub_whose_rows_are_numbered_anew_tells_nothing_twice(monkeypatch: pytest.MonkeyPatch):
    own = EventRow(row=9, run="run1", seq=0, t_s=2.0, body=b"verdict")
    before = _Hub([*_rows(1, 2), own], breaks=True)
    anew = _Hub([*_rows(1), own, *_rows(2, 3, first=10)], hub="hub2")
    _open(monkeypatch, before, anew)

    assert _told_over(HubRoute("gpu-01")) == [1, 2, 0, 3]


def test_what_only_the_user_can_mend_ends_it(monkeypatch: pytest.MonkeyPatch):
    _open(monkeypatch, HostError("disabled", "gpu-01", "On gpu-01: no hub is to run."))

    with pytest.raises(HostError, match="no hub is to run"):
        _told_over(HubRoute("gpu-01"))


def test_an_own_hub_that_was_stopped_is_waited_for_a_while_and_not_started(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    _open(monkeypatch)
    monkeypatch.setattr(module, "_STOPPED_S", 0.0)

    with pytest.raises(UserError, match="Your hub was stopped, and no other was started"):
        _told_over(HubRoute())
    assert "your hub was stopped" in capsys.readouterr().err


def test_an_own_hub_that_was_killed_is_started_again(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    socket = view_socket_path(folders)
    socket.parent.mkdir(parents=True, exist_ok=True)
    socket.touch()
    _open(monkeypatch, _Hub(_rows(1)))

    assert _told_over(HubRoute()) == [1]
