"""Caches and queues of the script with a limit: their end is predicted, and no alarm is raised."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import evidence_lines, verdict_headline
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    Event,
    KeptObjects,
    ObjectsCounted,
    Sample,
)
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, Growing, events_of, ram_verdicts

EPOCHS_TO_FILL = 30
PER_EPOCH = 8.0


def results(n: int, capacity: int | None, mib: float = PER_EPOCH / 2) -> KeptObjects:
    """Results of a cached function, of which each epoch adds two."""
    return KeptObjects(
        kind="numpy.ndarray",
        count=n,
        n_bytes=n * mib * MIB,
        shape="(1024, 1024)",
        dtype="float32",
        container="functools.lru_cache",
        place="train.load",
        capacity=capacity,
    )


def run(
    n: int,
    *others: KeptObjects,
    capacity: int | None = 2 * EPOCHS_TO_FILL,
    mib: float = PER_EPOCH / 2,
    rises_until: int = EPOCHS_TO_FILL,
    ram_of_bytes: float = 64e9,
) -> Iterator[Event]:
    grows = Growing(ram_mib=PER_EPOCH, ram_of_bytes=ram_of_bytes)
    full = (1000.0 + rises_until * PER_EPOCH) * MIB
    for event in events_of(grows, n):
        if isinstance(event, Sample) and event.epoch >= rises_until:
            yield replace(event, ram_bytes=full + (event.epoch * 7 % 5) * 0.3 * MIB)
            continue
        if isinstance(event, EpochEnded) and event.epoch > 2 and event.epoch < rises_until:
            held = 2 * (event.epoch + 1)
            kept = [results(min(held, capacity or held), capacity, mib)]
            for each in others:
                kept += [replace(each, count=held, n_bytes=held / 2 * (each.n_bytes or 0.0))]
            is_over = capacity is not None and held > capacity
            yield ObjectsCounted(event.t_s, event.fit, event.epoch, 0.003, [] if is_over else kept)
        yield event


def test_a_cache_of_the_script_is_named_with_its_end_and_never_alarmed():
    verdicts = ram_verdicts(run(100))

    assert not any(one.state in ALARMED_STATES for one in verdicts)
    amid = verdicts[19]
    assert (amid.state, amid.cause, amid.advice) == ("rising", "filling", [])
    assert amid.kept is not None
    assert amid.kept.capacity == 2 * EPOCHS_TO_FILL
    said = with_plain_spaces(verdict_headline(amid))
    assert "a cache is filling: 40 of 60 results in train.load" in said
    assert "it will end at about 240 MiB" in said
    assert "next verdict in about" not in said
    assert verdicts[-1].state == "steady"


def test_a_place_that_became_full_is_evidence_while_memory_is_steady():
    last = ram_verdicts(run(60))[-1]

    assert (last.state, last.cause) == ("steady", "filling")
    assert verdict_headline(last) == "steady"
    lines = [with_plain_spaces(line) for line in evidence_lines(last)]
    assert "A cache is full: 60 of 60 results in train.load, 240 MiB" in lines


def test_a_place_that_became_full_leaves_the_judgement_of_times_and_graph_alone():
    judge = RunJudge()
    for event in run(EPOCHS_TO_FILL + 5):
        judge.read(event.t_s, event)
        judge.judge()

    units = {one.metric: one.units for one in judge.newest_verdicts()}
    assert units["ram"] < 10
    assert units["step_time"] > EPOCHS_TO_FILL
    assert units["graph"] > EPOCHS_TO_FILL


def test_what_grows_on_after_a_cache_is_full_is_not_its_fault():
    verdicts = ram_verdicts(run(60, rises_until=100))

    first = next(one for one in verdicts if one.state in ALARMED_STATES)
    assert EPOCHS_TO_FILL < first.unit <= EPOCHS_TO_FILL + 15
    assert first.cause != "kept"


def test_a_cache_without_a_limit_is_a_cause():
    verdicts = ram_verdicts(run(28, capacity=None))

    assert (verdicts[-1].state, verdicts[-1].cause) == ("suspected", "kept")


def test_a_cache_that_will_not_fit_is_alarmed_with_its_end():
    verdicts = ram_verdicts(run(28, capacity=2000, ram_of_bytes=1400.0 * MIB))

    assert (verdicts[-1].state, verdicts[-1].cause) == ("suspected", "kept")
    assert verdicts[-1].advice[0] == "limit_cache"
    assert "full at 2 000 objects and about 7.8 GiB" in with_plain_spaces(
        verdict_headline(verdicts[-1])
    )


@pytest.mark.parametrize(
    ("mib", "others"),
    [
        (1.0, []),  # a quarter of what memory rises by
        (2.5, [replace(results(1, None, 3.0), place="Log.history", container="list")]),
    ],
)
def test_a_cache_excuses_no_more_than_it_takes(mib: float, others: list[KeptObjects]):
    verdicts = ram_verdicts(run(28, *others, mib=mib))

    assert verdicts[-1].state in ALARMED_STATES
    assert verdicts[-1].cause != "filling"


def test_a_full_queue_whose_objects_grow_is_a_cause():
    """A queue of six curves, of which each is longer than the one before."""
    per_epoch = 6 * 0.4

    def events() -> Iterator[Event]:
        for event in events_of(Growing(ram_mib=per_epoch), 40):
            if isinstance(event, EpochEnded) and event.epoch > 2:
                curves = range(max(0, event.epoch - 5), event.epoch + 1)
                n_bytes = 0.4 * MIB * sum(curve + 1 for curve in curves)
                recent = KeptObjects(
                    kind="numpy.ndarray",
                    count=len(curves),
                    n_bytes=n_bytes,
                    container="deque",
                    place="Curves.recent",
                    capacity=6,
                )
                yield ObjectsCounted(event.t_s, event.fit, event.epoch, 0.003, [recent])
            yield event

    last = ram_verdicts(events())[-1]

    assert (last.state, last.cause) == ("suspected", "kept")
    assert last.advice[0] == "keep_numbers"
    said = with_plain_spaces(verdict_headline(last))
    assert "retained in Curves.recent (deque): +2.40 MiB / epoch; it holds no more than 6" in said


def filling(fills: dict[int, int | None], *, every: int = 1, n: int = 60) -> Iterator[Event]:
    """A run with caches that fill, of 3 MiB an epoch each.

    Args:
        fills: Maximum number of results by the epoch in which each is full; None: unknown.
        every: Epochs from count to count, which has the places that changed.
    """
    counted: dict[int, int] = {}
    for event in events_of(Growing(ram_of_bytes=64e9), n):
        if isinstance(event, Sample):
            held = sum(min(event.epoch, full) for full in fills)
            wobble = (event.epoch * 7 % 5) * 0.3
            yield replace(event, ram_bytes=(1000.0 + 3.0 * held + wobble) * MIB)
            continue
        if isinstance(event, EpochEnded) and event.epoch > 2 and event.epoch % every == 0:
            now = {full: min(2 * (event.epoch + 1), 2 * full) for full in fills}
            kept = [
                replace(results(count, fills[full], 1.5), place=f"load_{full}")
                for full, count in now.items()
                if counted.get(full) != count
            ]
            counted = now
            yield ObjectsCounted(event.t_s, event.fit, event.epoch, 0.003, kept)
        yield event


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("full", [[20], [21], [15, 40], [20, 21], [20, 30]])
def test_caches_that_become_full_are_never_accused(full: list[int], every: int):
    verdicts = ram_verdicts(filling({each: 2 * each for each in full}, every=every))

    assert not any(one.state in ALARMED_STATES for one in verdicts)
    assert "filling" in {one.cause for one in verdicts}


@pytest.mark.parametrize("every", [1, 3, 5, 8])
@pytest.mark.parametrize("full", [17, 25, 40])
def test_a_cache_whose_limit_is_unknown_is_cleared_within_eight_units(full: int, every: int):
    verdicts = ram_verdicts(filling({full: None}, every=every))
    alarmed = [one.unit for one in verdicts if one.state in ALARMED_STATES]
    later = {one.state for one in verdicts if one.unit > full + 8}

    assert alarmed
    assert max(alarmed) <= full + 8
    assert later <= {"cleared", "steady"}
