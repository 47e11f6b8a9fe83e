"""Alerts that are due: held, once in a cooldown, never of what is long over."""

from typing import Any

import msgspec
import pytest

from kmonitor.alerts.evaluator import Alert, AlertEvaluator, decode_held, encode_held
from kmonitor.alerts.rules import (
    AlertKind,
    AlertRule,
    AlertSettings,
    rule_keys,
    rule_name,
)
from kmonitor.ui.alerts.alert_text import alert_facts, alert_level, alert_text, rule_title
from kmonitor_agent.wire.messages import events
from tests.support.made_up_runs import GIB, NOW_WALL_S

CROSSED = events.LimitCrossed(
    t_s=1.0, metric="ram", action="reload", value=9 * GIB, threshold=8 * GIB
)
RELEASED = events.LimitCrossed(
    t_s=1.0, metric="ram", action="reload", value=7 * GIB, threshold=8 * GIB, crossed=False
)
RELOAD_FAILED = events.ActionRecord(
    t_s=1.0,
    action="reload",
    ok=False,
    requested_by="limit ram 8 GiB",
    fit=1,
    epoch=3,
    seconds=0.1,
    why="the disk is full",
)
SUSPECTED = events.Verdict(t_s=1.0, metric="ram", state="suspected", per="epoch", turned=True)
NO_STEPS = events.Notice(
    t_s=1.0,
    level="warning",
    code="no_steps",
    text="no step for 25 s within an epoch; the longest pause before that was 1 s",
)
FINISHED = events.SessionEnded(t_s=1.0, why="finished")
DIED = events.SessionDied(t_s=1.0, session="b", how="signal", signal="SIGKILL")


def desk(kind: AlertKind = "limit", **rule: Any) -> AlertEvaluator:
    rules = {rule_name(kind, "ram" if kind in {"limit", "verdict"} else ""): AlertRule(**rule)}
    return AlertEvaluator(AlertSettings(rules=rules))


def tell(
    alerts: AlertEvaluator, event: events.AnyEvent, at_s: float = 0.0, age_s: float = 0.0
) -> None:
    now_s = NOW_WALL_S + at_s
    alerts.apply_event("run1", "resnet", "gpu-07", event, wall_s=now_s - age_s, now_wall_s=now_s)


def due(alerts: AlertEvaluator, at_s: float) -> list[Alert]:
    return alerts.due(NOW_WALL_S + at_s)


@pytest.mark.parametrize(
    ("event", "kind", "gravity", "words"),
    [
        (CROSSED, "limit", "warning", "RAM"),
        (RELOAD_FAILED, "action", "warning", "eload failed"),
        (SUSPECTED, "verdict", "warning", "leak suspected"),
        (NO_STEPS, "verdict", "warning", "No step for 25 s"),
        (FINISHED, "ended", "info", "finished"),
        (events.SessionEnded(t_s=1.0, why="failed", error_type="OOM"), "died", "error", "OOM"),
        (DIED, "died", "error", "SIGKILL"),
        (
            events.Notice(t_s=1.0, level="error", code="lost", text="is gone"),
            "died",
            "error",
            "gone",
        ),
    ],
)
def test_what_happens_is_told_once_in_its_own_words(
    event: events.AnyEvent, kind: AlertKind, gravity: str, words: str
):
    alerts = AlertEvaluator()
    tell(alerts, event)

    (alert,) = due(alerts, 5.0)

    assert (alert.kind, alert_level(alert), alert.title, alert.subject) == (
        kind,
        gravity,
        "resnet",
        "run1",
    )
    assert words in alert_text(alert)
    assert due(alerts, 6.0) == []


@pytest.mark.parametrize(
    "event",
    [
        events.EpochStarted(t_s=1.0, fit=1, epoch=0),
        events.SessionEnded(t_s=1.0, why="restart"),
        events.Notice(t_s=1.0, level="info", code="other", text="x"),
        events.Verdict(t_s=1.0, metric="ram", state="steady", per="epoch", turned=True),
        events.Verdict(t_s=1.0, metric="ram", state="growing", per="epoch"),
    ],
)
def test_what_nobody_need_leave_their_work_for_is_not_told(event: events.AnyEvent):
    alerts = AlertEvaluator()
    tell(alerts, event)

    assert due(alerts, 100.0) == []


@pytest.mark.parametrize("unchanged", ["", "the callback keeps arrays"])
def test_an_action_of_a_limit_that_frees_nothing_is_told(unchanged: str):
    alerts = AlertEvaluator()
    tell(alerts, msgspec.structs.replace(RELOAD_FAILED, ok=True, why="", unchanged=unchanged))

    assert [alert.kind for alert in due(alerts, 5.0)] == (["action"] if unchanged else [])


def test_the_end_of_a_run_that_was_stopped_names_who_stopped_it():
    alerts = AlertEvaluator()
    tell(alerts, msgspec.structs.replace(RELOAD_FAILED, action="stop", ok=True, why=""))
    tell(alerts, events.SessionEnded(t_s=1.0, why="stopped"))

    (alert,) = due(alerts, 5.0)
    assert alert.kind == "ended"
    assert "requested by limit ram 8" in alert_text(alert)


def test_a_script_that_finishes_after_a_stopped_fit_was_not_stopped():
    alerts = AlertEvaluator()
    tell(alerts, msgspec.structs.replace(RELOAD_FAILED, action="stop", ok=True, why=""))
    tell(alerts, FINISHED)

    (alert,) = due(alerts, 5.0)
    assert alert.event == FINISHED


@pytest.mark.parametrize("change", [{"ok": True}, {"requested_by": "ada"}])
def test_actions_that_succeed_or_that_somebody_asked_for_are_not_told(change: dict[str, Any]):
    alerts = AlertEvaluator()
    tell(alerts, msgspec.structs.replace(RELOAD_FAILED, **change))

    assert due(alerts, 100.0) == []


def test_the_cooldown_of_one_step_of_a_limit_does_not_hide_the_next():
    alerts = AlertEvaluator()
    tell(alerts, CROSSED)
    assert len(due(alerts, 5.0)) == 1

    tell(alerts, CROSSED, at_s=10.0)
    tell(alerts, msgspec.structs.replace(CROSSED, action="stop", threshold=9 * GIB), at_s=10.0)

    (alert,) = due(alerts, 15.0)
    assert isinstance(alert.event, events.LimitCrossed)
    assert alert.event.action == "stop"


def test_a_hang_that_is_over_before_it_lasts_is_not_told_and_a_verdict_does_not_hide_it():
    rule = AlertRule(hold_s=30.0, cooldown_s=600.0)
    alerts = AlertEvaluator(AlertSettings(rules={"verdict:step_time": rule}))
    slower = events.Verdict(t_s=1.0, metric="step_time", state="growing", per="epoch", turned=True)
    tell(alerts, slower)
    assert len(due(alerts, 30.0)) == 1

    tell(alerts, NO_STEPS, at_s=40.0)
    tell(alerts, events.Notice(t_s=1.0, level="info", code="steps_again", text="x"), at_s=50.0)
    assert due(alerts, 100.0) == []

    tell(alerts, NO_STEPS, at_s=110.0)
    (alert,) = due(alerts, 150.0)
    assert (alert.kind, alert.metric) == ("verdict", "step_time")


def test_programs_are_told_the_host_of_a_run_and_of_a_lost_host_its_name():
    alerts = AlertEvaluator(AlertSettings(rules={"host": AlertRule(hold_s=0.0)}))
    tell(alerts, CROSSED)
    alerts.hosts([("me@gpu-01", "big one", "")], now_wall_s=NOW_WALL_S)

    told = [alert_facts(alert) for alert in due(alerts, 0.0)]

    assert {(each["kind"], each["host"]) for each in told} == {
        ("limit", "gpu-07"),
        ("host", "big one"),
    }


def test_history_that_comes_with_a_connection_is_no_news():
    alerts = AlertEvaluator()
    tell(alerts, DIED, age_s=121.0)

    assert due(alerts, 0.0) == []


def test_a_limit_must_be_crossed_for_as_long_as_the_rule_says():
    alerts = desk(hold_s=10.0)
    tell(alerts, CROSSED)
    assert due(alerts, 9.0) == []
    tell(alerts, RELEASED, 9.5)
    assert due(alerts, 20.0) == []

    tell(alerts, CROSSED, 30.0)
    tell(alerts, CROSSED, 35.0)
    assert [alert.wall_s for alert in due(alerts, 40.0)] == [NOW_WALL_S + 35.0]


def test_a_cooldown_is_counted_and_told_with_the_next():
    alerts = desk(cooldown_s=60.0)
    for at_s in (0.0, 20.0, 40.0):
        tell(alerts, CROSSED, at_s)
        found = due(alerts, at_s)
        assert len(found) == (1 if at_s == 0.0 else 0)
    tell(alerts, CROSSED, 61.0)

    (alert,) = due(alerts, 61.0)

    assert alert.unseen == 2
    assert alert_text(alert).endswith("(2 more like this)")


def test_runs_and_metrics_have_cooldowns_of_their_own():
    alerts = AlertEvaluator()
    tell(alerts, CROSSED)
    alerts.apply_event(
        "run2", "other", "gpu-07", CROSSED, wall_s=NOW_WALL_S, now_wall_s=NOW_WALL_S
    )
    tell(alerts, SUSPECTED)

    assert {(a.subject, a.kind) for a in due(alerts, 0.0)} == {
        ("run1", "limit"),
        ("run2", "limit"),
        ("run1", "verdict"),
    }


def test_a_rule_that_is_off_tells_nothing():
    alerts = AlertEvaluator(AlertSettings(rules={"limit:ram": AlertRule(is_on=False)}))
    tell(alerts, CROSSED)

    assert due(alerts, 1000.0) == []


def test_how_a_process_died_is_told_in_place_of_that_it_ended():
    alerts = AlertEvaluator()
    tell(alerts, FINISHED)
    tell(alerts, DIED, 1.0)

    assert [alert.kind for alert in due(alerts, 10.0)] == ["died"]


def test_a_run_that_goes_on_at_once_has_not_ended():
    alerts = AlertEvaluator()
    tell(alerts, FINISHED)
    tell(
        alerts,
        events.SessionStarted(
            t_s=1.0, session="b2", name="x", host="h", pid=1, started_wall_s=1.0
        ),
        1.0,
    )

    assert due(alerts, 10.0) == []


def test_a_host_is_told_once_it_is_lost_for_a_while_and_again_after_it_came_back():
    alerts = AlertEvaluator(AlertSettings(rules={"host": AlertRule(hold_s=30.0)}))
    lost = [("me@gpu-01", "big one", "It is off.")]
    for at_s in (0.0, 10.0, 29.0):
        alerts.hosts(lost, now_wall_s=NOW_WALL_S + at_s)
        assert due(alerts, at_s) == []
    (alert,) = due(alerts, 30.0)
    assert (alert.title, alert_text(alert)) == (
        "big one",
        "Connection to the host lost: It is off.",
    )
    alerts.hosts(lost, now_wall_s=NOW_WALL_S + 31.0)
    assert due(alerts, 100.0) == []

    alerts.hosts([], now_wall_s=NOW_WALL_S + 101.0)
    alerts.hosts(lost, now_wall_s=NOW_WALL_S + 102.0)
    alerts.hosts([], now_wall_s=NOW_WALL_S + 110.0)
    assert due(alerts, 200.0) == []
    alerts.hosts(lost, now_wall_s=NOW_WALL_S + 210.0)
    assert len(due(alerts, 240.0)) == 1


def test_every_rule_has_words_and_a_usual_form():
    words = [rule_title(*key) for key in rule_keys()]

    assert len(set(words)) == len(words)
    assert "RAM: limit exceeded" in words
    assert all(AlertSettings().rule(*key).is_on for key in rule_keys())


def test_what_is_held_back_passes_to_the_next_evaluator_and_waits_for_what_is_over():
    first = desk(hold_s=30.0, cooldown_s=600.0)
    tell(first, CROSSED)
    second = desk(hold_s=30.0, cooldown_s=600.0)
    second.restore(decode_held(encode_held(first.held())), earliest_s=NOW_WALL_S + 100.0)

    assert due(second, 99.0) == []
    assert [alert.event for alert in due(second, 100.0)] == [CROSSED]
    assert due(second, 200.0) == []


def test_what_ended_while_no_hub_ran_is_not_told_however_long_that_was():
    first = desk(hold_s=30.0)
    tell(first, CROSSED)
    second = desk(hold_s=30.0)
    second.restore(first.held(), earliest_s=NOW_WALL_S + 4000.0)
    tell(second, RELEASED, at_s=4000.0, age_s=3900.0)

    assert due(second, 5000.0) == []


def test_a_cooldown_outlasts_the_hub():
    first = desk(cooldown_s=600.0)
    tell(first, CROSSED)
    assert len(due(first, 0.0)) == 1
    second = desk(cooldown_s=600.0)
    second.restore(decode_held(encode_held(first.held())), earliest_s=NOW_WALL_S)
    tell(second, CROSSED, at_s=100.0)
    assert due(second, 100.0) == []
    tell(second, CROSSED, at_s=700.0)

    (alert,) = due(second, 700.0)
    assert alert.unseen == 1


def test_a_host_that_stays_lost_is_not_told_by_the_next_evaluator():
    first = desk("host")
    first.hosts([("gpu-07", "gpu-07", "")], now_wall_s=NOW_WALL_S)
    assert len(due(first, 0.0)) == 1
    second = desk("host")
    second.restore(first.held(), earliest_s=NOW_WALL_S)
    second.hosts([("gpu-07", "gpu-07", "")], now_wall_s=NOW_WALL_S + 10.0)

    assert due(second, 10.0) == []
    assert encode_held(AlertEvaluator().held()) == b""
