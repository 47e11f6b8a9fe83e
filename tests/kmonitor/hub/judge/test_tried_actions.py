"""Actions against growth are in its verdict, with what they gave back."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    Event,
    Footprint,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.fields import new_id
from tests.support.growing_run import MIB, Growing, events_of

_A_UNIT = 8.0


def _events(first: int, n: int, *, freed_mib: float = 0.0) -> Iterator[Event]:
    """Epochs that leave 8 MiB of traces each, 300 MiB of the process's 1 000 at the beginning."""
    grows = Growing(ram_mib=_A_UNIT, traces=2, retained=2)
    for event in events_of(grows, n, first=first):
        if isinstance(event, EpochEnded):
            held = (300.0 + _A_UNIT * event.epoch - freed_mib) * MIB
            yield replace(event, ram_process_bytes=held)
        else:
            yield event


def _action(action: str, before_mib: float, after_mib: float, unchanged: str = "") -> ActionRecord:
    return ActionRecord(
        t_s=0.0,
        action=action,  # type: ignore[arg-type]
        ok=True,
        requested_by="limit ram 80%",
        fit=1,
        epoch=9,
        seconds=0.1,
        before=Footprint(ram_process_bytes=before_mib * MIB),
        after=Footprint(ram_process_bytes=after_mib * MIB),
        unchanged=unchanged,
    )


def _read(judge: RunJudge, *events: Event) -> Verdict:
    for event in events:
        judge.read(event.t_s, event)
        judge.judge()
    (verdict,) = (each for each in judge.newest_verdicts() if each.metric == "ram")
    return verdict


def test_an_action_that_gave_nothing_back_is_no_longer_advised():
    judge = RunJudge()
    before = _read(judge, *_events(0, 10))

    # Without `unchanged` too: half a MiB comes and goes with any moment.
    after = _read(judge, _action("collect", 372.5, 372.0), *_events(10, 1))

    assert before.tried == []
    assert before.advice[:2] == ["collect", "reload"]
    assert after.state == before.state == "suspected"
    (collect,) = after.tried
    assert (collect.action, collect.times, collect.given_back_bytes) == ("collect", 1, 0.0)
    assert collect.risen_bytes == pytest.approx(72.5 * MIB)
    assert not collect.did_help
    assert after.advice[0] == "reload"
    assert "collect_each" in before.advice
    assert "collect_each" not in after.advice


def test_a_script_that_collects_by_itself_is_not_advised_to():
    judge = RunJudge()
    by_script = replace(_action("collect", 380.0, 360.0), requested_by="script")

    before = _read(judge, *_events(0, 10), by_script, *_events(10, 1))
    after = _read(judge, by_script, by_script, *_events(11, 1))

    assert "collect_each" in before.advice
    assert "collect_each" not in after.advice
    assert "collect" in after.advice


def test_an_action_that_helped_says_how_much_of_what_had_come_it_gave_back():
    judge = RunJudge()
    _read(judge, *_events(0, 10))

    after = _read(judge, _action("collect", 380.0, 310.0), *_events(10, 5, freed_mib=70.0))
    (first,) = after.tried
    again = _read(judge, _action("collect", 350.0, 311.0), *_events(15, 1, freed_mib=109.0))

    assert (first.given_back_bytes, first.risen_bytes) == (70.0 * MIB, 80.0 * MIB)
    (collect,) = again.tried
    assert (collect.times, collect.given_back_bytes) == (2, 39.0 * MIB)
    assert collect.risen_bytes == pytest.approx(40.0 * MIB)  # since the collect before
    assert collect.did_help
    assert "collect" in again.advice


def test_a_restart_is_measured_when_the_new_process_has_trained():
    judge = RunJudge()
    _read(judge, *_events(0, 10))
    begun = SessionStarted(
        t_s=0.0, session=new_id(), name="r", host="h", pid=2, started_wall_s=1.0, backend="b"
    )

    # It holds 120 MiB when it begins, and 304 as soon as it trains.
    after = _read(judge, begun, _action("restart", 380.0, 120.0), *_events(10, 1, freed_mib=76.0))

    (restart,) = after.tried
    assert (restart.action, restart.given_back_bytes) == ("restart", 76.0 * MIB)
    assert restart.risen_bytes == pytest.approx(80.0 * MIB)


def test_what_is_done_while_nothing_grows_is_no_trial():
    judge = RunJudge()
    for event in events_of(Growing(), 20):
        _ = judge.read(event.t_s, event), judge.judge()

    quiet = _read(judge, _action("collect", 380.0, 380.0, "nothing to release"))
    grows = _read(judge, *events_of(Growing(ram_mib=_A_UNIT, traces=2, retained=2), 20, first=20))

    assert quiet.tried == []
    assert grows.state == "suspected"
    assert grows.tried == []
