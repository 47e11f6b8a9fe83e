"""The part of an epoch or fit where memory grows: steps, validation, or between them."""

from collections.abc import Iterator

import pytest

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FitEnded,
    FitStarted,
    Verdict,
)

MIB = 2.0**20
UNITS = 20


def run(
    *, steps: float = 0.0, validation: float = 0.0, epochs: float = 0.0, fits: float = 0.0
) -> Iterator[Event]:
    """A run whose memory grows by this many MiB in each part; of fits if they leave something."""
    held, t_s = 500.0, 0.0
    if not fits:
        yield FitStarted(0.0, fit=1, model="m")
    for unit in range(UNITS):
        fit = unit + 1 if fits else 1
        if fits:
            held += fits
            yield FitStarted(t_s, fit=fit, model="m")
        for epoch in range(2) if fits else [unit]:
            yield EpochStarted(t_s, fit, epoch, held * MIB)
            held, t_s = held + steps + validation, t_s + 10.0
            yield EpochEnded(
                t_s,
                fit,
                epoch,
                10.0,
                ram_process_bytes=held * MIB,
                validation_bytes=validation * MIB if validation else None,
            )
            held += epochs
        if fits:
            yield FitEnded(t_s, fit, "finished")


def judged(events: Iterator[Event]) -> Verdict:
    judge = RunJudge()
    for event in events:
        judge.read(event.t_s, event)
        judge.judge()
    return next(each for each in judge.newest_verdicts() if each.metric == "ram")


@pytest.mark.parametrize(
    ("events", "where"),
    [
        (run(steps=8.0), "steps"),
        (run(validation=8.0), "validation"),
        (run(steps=1.0, validation=8.0), "validation"),
        (run(epochs=8.0), "between_epochs"),
        (run(fits=8.0), "between_fits"),
        (run(steps=4.0, validation=4.0), ""),
    ],
)
def test_the_part_in_which_nearly_all_comes_is_named(events: Iterator[Event], where: str):
    verdict = judged(events)

    assert (verdict.state, verdict.where) == ("growing", where)


def test_its_share_is_that_of_the_growth():
    assert judged(run(steps=1.0, validation=9.0)).where_part == pytest.approx(0.9)


def test_an_agent_that_reads_no_memory_at_the_begin_leaves_it_open():
    events = (
        EpochStarted(event.t_s, event.fit, event.epoch)
        if isinstance(event, EpochStarted)
        else event
        for event in run(steps=8.0)
    )

    assert judged(events).where == ""


def test_a_steady_run_has_no_part():
    assert judged(run()).where == ""
