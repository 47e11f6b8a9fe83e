"""Requests as they are carried out at a safe point."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kmonitor_agent.protocol.facts import ActionRecord, Event, Paused
from kmonitor_agent.session.fit import Fit, FitOrigin
from kmonitor_agent.session.limit_keeper import LimitKeeper
from kmonitor_agent.session.performer import Performer
from kmonitor_agent.session.privacy import Privacy
from kmonitor_agent.session.requests import Request, RequestQueue


def test_ctrl_c_at_the_moment_a_pause_is_told_ends_it_with_a_record():
    events: list[Event] = []

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Paused) and event.paused:
            raise KeyboardInterrupt

    queue = RequestQueue(lambda: None)
    limits = LimitKeeper(emit=emit, request=queue.put, now_s=lambda: 1.0)
    performer = Performer(
        run="run",
        queue=queue,
        limits=limits,
        emit=emit,
        now_s=lambda: 1.0,
        privacy=Privacy(private=False),
    )
    fit = Fit(
        ordinal=1,
        framework=cast("Any", None),
        clock=cast("Any", SimpleNamespace(leave_out=lambda **_: None)),
        origin=FitOrigin(thread=0),
        model=lambda: None,
        checkpoint_dir=Path("unused"),
    )

    with pytest.raises(KeyboardInterrupt):
        performer.perform(fit, Request(action="pause", asked_by="ada"))

    assert [e.paused for e in events if isinstance(e, Paused)] == [True, False]
    assert [e.action for e in events if isinstance(e, ActionRecord)] == ["pause"]
    assert not performer.is_paused
