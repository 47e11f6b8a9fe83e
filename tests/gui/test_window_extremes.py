"""Whatever a hub says within the protocol's bounds, the window shows it and continues."""

from collections.abc import Iterator
from typing import Any, Final, get_args

import msgspec
import pytest

from kmonitor_agent.wire.messages.codec import ProtocolError, decode_event, unpack_to_desktop
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.fields import MAGIC, MAX_EVENT_BYTES
from kmonitor_agent.wire.messages.unions import HubReply, RunsReply, ToDesktop
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.extremes import extremes
from tests.support.made_up_runs import made_up_run

pytestmark = [*WINDOW, pytest.mark.slow]

ANSWERS: Final = get_args(ToDesktop)
EVENTS: Final = get_args(AnyEvent)
_AT_ONCE: Final = 10


@pytest.fixture(scope="module")
def window() -> Iterator[DeskWindow]:
    window = DeskWindow()
    window.connect()
    window.tell_runs(made_up_run(), made_up_run("run2"))
    yield window
    window.close()


def named(kinds: tuple[Any, ...]) -> list[Any]:
    return [pytest.param(kind, id=kind.__name__) for kind in kinds]


@pytest.mark.parametrize("kind", named(ANSWERS))
def test_every_field_of_every_answer_at_its_bounds(window: DeskWindow, kind: type):
    n_taken = 0
    for extreme in extremes(kind):
        plain = extreme.plain
        if "request_id" in plain and extreme.path != "request_id" and window.asked:
            plain = {**plain, "request_id": window.asked[-1][0]}
        try:
            told = unpack_to_desktop((MAGIC, msgspec.msgpack.encode(plain)))
        except ProtocolError:
            continue
        n_taken += 1
        if isinstance(told, HubReply):
            window.desk.connected(told)
        else:
            window.desk.apply_message(told)
        for run in told.runs if isinstance(told, RunsReply) else ():
            window.desk.select(run.run)
            window.settle()
        if n_taken % _AT_ONCE == 0:
            window.settle()
    window.controller.history.open()
    window.settle()
    still_shows(window)

    assert n_taken or not extremes(kind)


@pytest.mark.parametrize("kind", named(EVENTS))
def test_every_field_of_every_event_at_its_bounds(window: DeskWindow, kind: type):
    n_taken = 0
    for extreme in extremes(kind):
        if len(extreme.body) > MAX_EVENT_BYTES:
            continue
        try:
            event = decode_event(extreme.body)
        except ProtocolError:
            continue
        n_taken += 1
        window.tell_events(event, run="run1" if n_taken % 2 else "run2")
    still_shows(window)

    assert n_taken


def still_shows(window: DeskWindow) -> None:
    """An honest run is listed and drawn."""
    window.connect()
    window.tell_runs(made_up_run("honest"))
    window.desk.select("honest")
    window.settle()

    assert window.desk.run_store.get("honest") is not None
    assert window.board is not None
    assert window.board.standard_charts.state("ram", 600).has_points
