"""Actions carried out at a safe point."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.recording.action_executor import ActionExecutor
from kmonitor_agent.recording.action_requests import ActionRequest, RequestQueue
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.fit_origin import FitOrigin
from kmonitor_agent.recording.limit_enforcer import BoundedReading, LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.commands import LimitSpec
from kmonitor_agent.wire.messages.events import ActionRecord, Event, Notice, Paused


def _parts(emit: Callable[[Event], None]) -> tuple[ActionExecutor, RequestQueue, LimitEnforcer]:
    queue = RequestQueue(lambda: None)
    limits = LimitEnforcer(emit=emit, request=queue.put, now_s=lambda: 1.0)
    performer = ActionExecutor(
        run="run",
        queue=queue,
        limits=limits,
        emit=emit,
        now_s=lambda: 1.0,
        privacy=Privacy(private=False),
        faults=FaultLog(),
        on_acted=lambda _fit, _action: None,
        on_performed=lambda _actions: None,
    )
    return performer, queue, limits


def test_what_a_limit_asked_for_between_two_fits_and_nobody_did_is_told_at_the_end():
    events: list[Event] = []
    performer, _, limits = _parts(events.append)
    limits.set_by_script((LimitSpec(metric="ram", value=2.0**30, action="reload"),))
    limits.observe("ram", BoundedReading(2.0**31))

    performer.expire_waiting("the process ended before a safe point was reached")

    (told,) = [each for each in events if isinstance(each, Notice)]
    assert told.text.startswith("limit ram")
    assert told.text.endswith(
        "reload was skipped: the process ended before a safe point was reached."
    )


def test_what_waits_for_a_limit_that_was_released_is_not_done_and_told():
    events: list[Event] = []
    performer, queue, limits = _parts(events.append)
    limits.set_by_script((LimitSpec(metric="ram", value=2.0**30, action="collect"),))
    limits.observe("ram", BoundedReading(2.0**31))
    limits.observe("ram", BoundedReading(2.0**29))
    request = queue.take("epoch")
    assert request is not None

    performer.perform(cast("Any", None), request)  # touches no fit

    assert not any(isinstance(each, ActionRecord) for each in events)
    (told,) = [each for each in events if isinstance(each, Notice)]
    assert told.text.endswith("collect was skipped: the limit is no longer exceeded.")


def test_ctrl_c_at_the_moment_a_pause_is_told_ends_it_with_a_record():
    events: list[Event] = []

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Paused) and event.paused:
            raise KeyboardInterrupt

    performer, _, _ = _parts(emit)
    fit = Fit(
        ordinal=1,
        framework=cast("Any", None),
        clock=cast("Any", SimpleNamespace(leave_out=lambda **_: None)),
        origin=FitOrigin(thread=0),
        model=lambda: None,
        checkpoint_dir=Path("unused"),
    )

    with pytest.raises(KeyboardInterrupt):
        performer.perform(fit, ActionRequest(action="pause", requested_by="ada"))

    assert [e.paused for e in events if isinstance(e, Paused)] == [True, False]
    assert [e.action for e in events if isinstance(e, ActionRecord)] == ["pause"]
    assert not performer.is_paused
