"""Memory of child processes, which samples read at any time in an epoch, or in none of it."""

from collections.abc import Callable, Iterator

import pytest

from kmonitor.ui.verdicts.verdict_text import advice_of, verdict_headline
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FitStarted,
    NamedResource,
    ResourcesNamed,
    Sample,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, ram_verdicts

EPOCH_S = 0.6
PROCESS_MIB = 360.0

Children = Callable[[float], float]
"""Memory of the children after so many epochs, MiB."""


def run(children_mib: Children, n: int, *, each_s: float = 1.0) -> Iterator[Event]:
    """Epochs with a sample each few seconds; a worker keeps something at the end of each."""
    yield FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)
    next_s = 0.01
    for epoch in range(n):
        began_s = epoch * EPOCH_S
        yield EpochStarted(t_s=began_s, fit=1, epoch=epoch)
        while next_s < began_s + EPOCH_S:
            now = children_mib(epoch)
            ram = (PROCESS_MIB + now) * MIB
            yield Sample(
                t_s=next_s, fit=1, epoch=epoch, ram_bytes=ram, ram_children_bytes=now * MIB
            )
            next_s += each_s
        process = (PROCESS_MIB + (epoch * 7 % 5) * 0.1) * MIB
        end_s = began_s + EPOCH_S
        yield EpochEnded(t_s=end_s, fit=1, epoch=epoch, seconds=EPOCH_S, ram_process_bytes=process)


def first_alarm(verdicts: list[Verdict]) -> Verdict | None:
    return next((one for one in verdicts if one.state in ALARMED_STATES), None)


def test_worker_that_keeps_a_bit_each_epoch_is_growing_after_eight_or_ten():
    verdicts = ram_verdicts(run(lambda n: 30.0 + 4.0 * n, 30))
    alarm = first_alarm(verdicts)

    assert alarm is not None
    assert alarm.unit <= 10
    assert alarm.cause == "workers"
    assert "child processes" in verdict_headline(alarm)
    assert {one.state for one in verdicts if one.unit > alarm.unit} <= ALARMED_STATES


@pytest.mark.parametrize("each_s", [0.7, 1.0, 2.0, 3.5, 7.0])
def test_stairs_of_children_that_grow_are_never_steady(each_s: float):
    verdicts = ram_verdicts(run(lambda n: 30.0 + 4.0 * n, 90, each_s=each_s))

    assert "steady" not in {one.state for one in verdicts}
    assert verdicts[-1].state in ALARMED_STATES


@pytest.mark.parametrize(
    "children_mib",
    [
        lambda n: 30.0 + 4.0 * min(n, 5),
        lambda n: 30.0 + 60.0 * (n > 8),
        lambda n: 30.0 + 80.0 * (1.0 - 0.8**n),
        lambda n: 30.0 + 9.0 * (n % 4),
    ],
    ids=["they warm up", "one starts", "a cache fills", "they are restarted"],
)
@pytest.mark.parametrize("each_s", [1.0, 7.0])
def test_children_that_do_not_go_on_growing_are_no_alarm(children_mib: Children, each_s: float):
    verdicts = ram_verdicts(run(children_mib, 90, each_s=each_s))

    assert first_alarm(verdicts) is None
    assert verdicts[-1].state == "steady"


def test_readings_that_meet_one_unit_or_two_are_about_even():
    appended = (0, 1, 2, 3, 5, 6, 7, 8, 9, 9, 10, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 24)
    verdicts = ram_verdicts(run(lambda n: 330.0 + 3.0 * appended[int(n)], 22, each_s=0.6))
    alarm = first_alarm(verdicts)

    assert alarm is not None
    assert alarm.unit <= 12
    assert alarm.cause == "workers"


def test_child_process_that_grows_is_named():
    events = list(run(lambda n: 30.0 + 4.0 * n, 20))
    tables = [
        ResourcesNamed(
            t_s=each.t_s + 0.01,
            metric="children_memory",
            named=[
                NamedResource("child", "SyncManager-1 (pid 71)", int(30 + 4.0 * each.epoch)),
                NamedResource("child", "python (pid 70)", 12),
            ],
        )
        for each in events
        if isinstance(each, EpochStarted)
    ]
    alarm = first_alarm(ram_verdicts(sorted([*events, *tables], key=lambda each: each.t_s)))

    assert alarm is not None
    assert (alarm.cause, alarm.name) == ("workers", "SyncManager-1 (pid 71)")
    assert "mainly SyncManager-1 (pid 71)" in verdict_headline(alarm)
    assert "Manager" in advice_of(alarm)[0].text


def test_no_child_is_named_if_several_grow_alike():
    events = list(run(lambda n: 30.0 + 4.0 * n, 20))
    tables = [
        ResourcesNamed(
            t_s=each.t_s + 0.01,
            metric="children_memory",
            named=[NamedResource("child", name, 10 + each.epoch) for name in ("a", "b", "c")],
        )
        for each in events
        if isinstance(each, EpochStarted)
    ]
    alarm = first_alarm(ram_verdicts(sorted([*events, *tables], key=lambda each: each.t_s)))

    assert alarm is not None
    assert (alarm.cause, alarm.name) == ("workers", "")
