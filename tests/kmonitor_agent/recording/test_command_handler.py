"""Commands as they arrive: refused with the reason, answered at once, or queued."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.recording.action_executor import ActionExecutor
from kmonitor_agent.recording.action_requests import MOST_WAITING, CommandHandler, RequestQueue
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.commands import (
    Command,
    CommandName,
    LimitSpec,
    PlainArguments,
    ReloadArguments,
    SaveArguments,
    SetLimits,
)
from kmonitor_agent.wire.messages.events import CommandProgress, Event, LimitsInForce


class Desk:
    """An intake without a training: its reports and its queue."""

    def __init__(self, *, takes_commands: bool = True, **unavailable: str) -> None:
        self.events: list[Event] = []
        self.now_s = 100.0
        self.queue = RequestQueue(lambda: None)
        limits = LimitEnforcer(emit=self.events.append, request=self.queue.put, now_s=self._now)
        self.performer = ActionExecutor(
            run="run",
            queue=self.queue,
            limits=limits,
            emit=self.events.append,
            now_s=self._now,
            privacy=Privacy(private=False),
            faults=FaultLog(),
            on_acted=lambda _fit, _action: None,
            on_performed=lambda _actions: None,
        )
        session = SimpleNamespace(now_s=self._now, unavailable=unavailable)
        self.intake = CommandHandler(
            takes_commands=takes_commands,
            session=cast("Any", session),
            queue=self.queue,
            report=self.performer.report_progress,
            set_limits=limits.set_by_command,
            is_paused=lambda: self.performer.is_paused,
        )

    def _now(self) -> float:
        return self.now_s

    def ask(self, name: CommandName, **more: Any) -> list[tuple[str, str]]:
        """States reported for a command, each with its reason."""
        begin = len(self.events)
        self.intake.receive(
            Command(id=f"c{begin}", run="run1", session="session", name=name, **more)
        )
        return self.told(begin)

    def told(self, begin: int = 0) -> list[tuple[str, str]]:
        events = self.events[begin:]
        return [(e.state, e.why) for e in events if isinstance(e, CommandProgress)]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_action_is_queued_for_its_safe_point_with_who_asked(desk: Desk):
    states = desk.ask("reload", args=PlainArguments(at="batch"), requested_by="ada", ttl_s=5.0)

    request = desk.queue.take("batch")
    assert states == [("received", "")]
    assert request is not None
    assert (request.action, request.requested_by, request.until_s) == ("reload", "ada", 105.0)


def test_how_a_reload_restores_and_that_a_save_exports_reach_the_safe_point(desk: Desk):
    desk.ask("reload", args=ReloadArguments(mode="recreate"))
    desk.ask("save", args=SaveArguments(at="batch", export=True))

    reload, save = desk.queue.take("epoch"), desk.queue.take("epoch")
    assert reload is not None
    assert save is not None
    assert (reload.mode, reload.export, reload.at) == ("recreate", False, "epoch")
    assert (save.mode, save.export, save.at) == (None, True, "batch")


@pytest.mark.parametrize("name", ["auto", "diagnose", "restart"])
def test_command_that_is_no_action_of_one_step_is_queued_like_any_other(desk: Desk, name: Any):
    assert desk.ask(name) == [("received", "")]

    request = desk.queue.take("epoch")
    assert request is not None
    assert request.action == name


def test_command_of_a_later_version_is_refused(desk: Desk):
    (_, (state, why)) = desk.ask(cast("CommandName", "defragment"))

    assert state == "refused"
    assert "not available in this version" in why


@pytest.mark.parametrize(
    ("unavailable", "refused"),
    [
        ({"reload": "not so"}, {"reload", "restart"}),
        ({"save": "not so"}, {"save"}),
        ({"collect": "not so"}, {"collect"}),
        ({"collect": "not so", "reload": "not so"}, {"collect", "reload", "restart", "auto"}),
        ({"restart": "not so"}, {"restart"}),
    ],
)
def test_action_that_is_lacking_is_refused_with_its_reason(
    unavailable: dict[str, str], refused: set[str]
):
    desk = Desk(takes_commands=True, **unavailable)
    asked: list[CommandName] = ["save", "collect", "reload", "restart", "auto", "diagnose"]

    answers = {name: desk.ask(name)[-1] for name in asked}

    assert {name for name, answer in answers.items() if answer == ("refused", "not so")} == refused


@pytest.mark.promise(10)
def test_run_that_takes_no_commands_refuses_limits_too():
    desk = Desk(takes_commands=False)

    for name, args in (("stop", PlainArguments()), ("set_limits", SetLimits([], []))):
        assert "commands=False" in desk.ask(cast("CommandName", name), args=args)[-1][1]


def test_resume_is_refused_unless_a_pause_is_there_or_waits(desk: Desk):
    assert desk.ask("resume")[-1] == ("refused", "training is not paused")

    desk.ask("pause")

    assert desk.ask("resume") == [("received", "")]


def test_limits_are_in_force_at_once(desk: Desk):
    limits = SetLimits(["graph"], [LimitSpec(metric="graph", value=5000.0, action="reload")])

    states = desk.ask("set_limits", args=limits, requested_by="ada")

    assert [state for state, _ in states] == ["received", "started", "done"]
    [told] = [e for e in desk.events if isinstance(e, LimitsInForce)]
    assert told.limits[0].set_by == "ada"


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("set_limits", SetLimits(["graph"], [LimitSpec(metric="graph")]), "either a value"),
        ("reload", SetLimits([], []), "the arguments belong to a different command"),
        ("collect", ReloadArguments(mode="assign"), "the arguments belong to a different command"),
        ("reload", SaveArguments(export=True), "the arguments belong to a different command"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    desk: Desk, name: CommandName, args: Any, says: str
):
    state, why = desk.ask(name, args=args)[-1]

    assert state == "refused"
    assert says in why


def test_too_many_are_refused_and_late_ones_expire(desk: Desk):
    for _ in range(MOST_WAITING):
        desk.ask("save", ttl_s=5.0)
    assert desk.ask("save")[-1][0] == "refused"

    begin = len(desk.events)
    desk.now_s += 6.0
    desk.intake.expire()

    assert [state for state, _ in desk.told(begin)] == ["expired"] * MOST_WAITING
