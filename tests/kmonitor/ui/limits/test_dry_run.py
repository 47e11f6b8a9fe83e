"""The effect that a limit would have had on measured values."""

import numpy as np
import pytest
from numpy.typing import NDArray

from kmonitor.ui.limits.dry_run import DryRun, dry_run, dry_run_text
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.recording.action_requests import ActionRequest
from kmonitor_agent.recording.limit_enforcer import BoundedReading, LimitEnforcer
from kmonitor_agent.wire.messages.commands import LimitAction, LimitSpec
from kmonitor_agent.wire.messages.events import Event, LimitCrossed
from tests.support.made_up_runs import GIB

Floats = NDArray[np.float64]


def limit(value: float = 8.0, hold_s: float = 0.0, cooldown_s: float = 0.0) -> LimitSpec:
    return LimitSpec(
        metric="graph", value=value, action="reload", hold_s=hold_s, cooldown_s=cooldown_s
    )


def test_values_above_the_limit_act_once_in_a_cooldown():
    t_s = np.arange(10.0) * 10.0
    values = np.array([1.0, 9.0, 9.0, 1.0, 9.0, np.nan, 1.0, 9.0, 1.0, 1.0])

    def acted_s(spec: LimitSpec) -> tuple[float, ...]:
        return dry_run(t_s, values, spec).acted_s

    assert acted_s(limit()) == (10.0, 40.0, 70.0)
    assert acted_s(limit(cooldown_s=40.0)) == (10.0, 70.0)
    assert acted_s(limit(9.0)) == ()
    assert (acted_s(limit(hold_s=10.0)), acted_s(limit(hold_s=11.0))) == ((20.0,), ())
    assert dry_run(t_s, values, limit()).span_s == 90.0
    assert dry_run(t_s[:0], values[:0], limit()) == DryRun((), 0, 0.0)


def test_value_between_release_and_threshold_is_no_second_crossing():
    found = dry_run(np.arange(4.0), np.array([8.1, 7.9, 8.1, 7.9]), limit())

    assert (found.crossings, found.acted_s) == (1, (0.0,))


def test_reading_above_for_less_than_the_hold_time_is_no_crossing():
    found = dry_run(np.arange(3.0), np.array([1.0, 9.0, 1.0]), limit(hold_s=5.0))

    assert found == DryRun((), 0, 2.0, was_above=True)


def test_first_stop_is_the_last_action():
    spec = LimitSpec(metric="graph", value=8.0, action="stop", cooldown_s=0.0)

    found = dry_run(np.arange(4.0), np.array([9.0, 1.0, 9.0, 1.0]), spec)

    assert (found.crossings, found.acted_s, found.span_s) == (1, (0.0,), 3.0)


def test_auto_counts_as_one_action_while_the_metric_does_not_grow():
    spec = LimitSpec(metric="graph", value=8.0, action="auto", cooldown_s=0.0)

    assert dry_run(np.arange(4.0), np.full(4, 9.0), spec).acted_s == (0.0,)


def enforced(t_s: Floats, values: Floats, spec: LimitSpec) -> tuple[float, ...]:
    """When a training that reads these values acts; the action frees nothing."""
    events: list[Event] = []
    due: list[ActionRequest] = []
    now_s = 0.0

    def take(request: ActionRequest) -> bool:
        due.append(request)
        return True

    enforcer = LimitEnforcer(emit=events.append, request=take, now_s=lambda: now_s)
    enforcer.set_by_script((spec,))
    for now_s, value in zip(t_s.tolist(), values.tolist(), strict=True):  # noqa: B007 - read above
        enforcer.observe(spec.metric, BoundedReading(value))
        if due and spec.action == "stop":
            break
        while due:
            watch = due.pop().watch
            assert watch is not None
            enforcer.reset_base(watch)
    crossings = (event for event in events if isinstance(event, LimitCrossed))
    return tuple(each.t_s for each in crossings if each.crossed and each.answered)


@pytest.mark.parametrize("action", ["notify", "save", "collect", "reload", "restart", "stop"])
@pytest.mark.parametrize(("hold_s", "cooldown_s"), [(0, 0), (3, 0), (0, 20), (3, 20), (5, 60)])
def test_dry_run_acts_when_a_training_would(action: LimitAction, hold_s: float, cooldown_s: float):
    random = np.random.default_rng(7)
    spec = LimitSpec(
        metric="graph", value=100.0, action=action, hold_s=hold_s, cooldown_s=cooldown_s
    )
    n = 0
    for _ in range(40):
        t_s = np.cumsum(random.uniform(0.5, 2.0, 300))
        values = np.clip(100.0 + np.cumsum(random.normal(0.0, 4.0, 300)), 80.0, 140.0)
        values[random.choice(300, 10, replace=False)] = np.nan

        found = dry_run(t_s, values, spec).acted_s

        assert found == enforced(t_s, values, spec)
        n += len(found)
    assert n > 20


def test_result_is_described_in_one_sentence():
    found = DryRun((1.0, 2.0, 3.0), 2, 7200.0)

    text = dry_run_text(found, metric="ram", threshold=8 * GIB, action="reload")

    assert "exceeded 2 times: about 3\u00a0\u00d7\u00a0reload" in text
    never = dry_run_text(DryRun((), 0, 60.0), metric="ram", threshold=8 * GIB, action="reload")
    assert never.endswith("was never exceeded.")


def test_metric_above_for_less_than_the_hold_time_is_described():
    found = DryRun((), 0, 7200.0, was_above=True)

    text = dry_run_text(found, metric="ram", threshold=8 * GIB, action="reload", hold_s=300.0)

    assert with_plain_spaces(text).endswith("8 GiB was never exceeded for 5 min.")
