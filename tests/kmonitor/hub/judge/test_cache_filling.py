"""A cache of the fit's data that fills over many epochs: its end is predicted, and no alarm."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import verdict_headline
from kmonitor_agent.wire.messages.events import EpochEnded, Event, FitStarted, Sample
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, CacheFill
from tests.support.growing_run import MIB, Growing, events_of, ram_verdicts

STEPS = 10
EPOCHS_TO_FILL = 30
PER_EPOCH = 8.0


def run(n: int, grows: Growing, cache_mib: float | None, rises_until: int) -> Iterator[Event]:
    """As `Dataset.cache()` before `repeat()` with `steps_per_epoch` (tensorflow#56404)."""
    full = 1000.0 * MIB + rises_until * grows.ram_mib * MIB
    for event in events_of(grows, n):
        if isinstance(event, FitStarted):
            n_bytes = None if cache_mib is None else cache_mib * MIB
            steps = EPOCHS_TO_FILL * STEPS
            yield replace(event, steps=STEPS, cache_steps=steps, cache_bytes=n_bytes)
        elif isinstance(event, EpochEnded):
            yield replace(event, steps=STEPS)
        elif isinstance(event, Sample) and event.epoch >= rises_until:
            yield replace(event, ram_bytes=full + (event.epoch * 7 % 5) * 0.3 * MIB)
        else:
            yield event


@pytest.mark.parametrize("cache_mib", [EPOCHS_TO_FILL * PER_EPOCH, None])
def test_a_cache_that_fills_is_named_with_its_end_and_never_alarmed(cache_mib: float | None):
    verdicts = ram_verdicts(run(100, Growing(ram_mib=PER_EPOCH), cache_mib, EPOCHS_TO_FILL))

    assert not any(one.state in ALARMED_STATES for one in verdicts)
    amid = verdicts[19]
    assert (amid.state, amid.cause, amid.advice) == ("rising", "filling", [])
    n_bytes = None if cache_mib is None else cache_mib * MIB
    assert amid.filling == CacheFill(21 * STEPS, EPOCHS_TO_FILL * STEPS, n_bytes)
    said = with_plain_spaces(verdict_headline(amid))
    assert "the dataset cache is filling up: 210 of 300 steps" in said
    assert ("about 240 MiB when full" in said) == (cache_mib is not None)
    assert "next verdict in about" not in said
    assert verdicts[-1].state == "steady"


def test_what_goes_on_after_the_cache_is_full_is_growing():
    verdicts = ram_verdicts(run(60, Growing(ram_mib=PER_EPOCH), 240.0, 100))

    first = next(one for one in verdicts if one.state in ALARMED_STATES)
    assert EPOCHS_TO_FILL < first.unit <= EPOCHS_TO_FILL + 15


@pytest.mark.parametrize(
    ("grows", "cache_mib"),
    [
        (Growing(ram_mib=PER_EPOCH), 40.0),  # a sixth of what memory rises by
        (Growing(ram_mib=PER_EPOCH, ram_of_bytes=1100.0 * MIB), 240.0),  # there is no room
        (Growing(ram_mib=PER_EPOCH, traces=2), 240.0),
    ],
)
def test_a_cache_excuses_no_more_than_it_takes(grows: Growing, cache_mib: float):
    verdicts = ram_verdicts(run(28, grows, cache_mib, 100))

    assert verdicts[-1].state in ALARMED_STATES
    assert verdicts[-1].cause != "filling"
