"""A pool that takes regions from malloc, each twice as large as the last one, and uses them later.

Memory of the process and what malloc took of the system, in use or free, at the ends of epochs,
MiB, are recorded of nanogpt_287_memmap in `tests/leaks`, whose batches lie in TensorFlow's pool.
"""

from collections.abc import Iterator, Sequence

import pytest

from kmonitor_agent.wire.messages.events import Event, FitStarted, Verdict
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, epoch_with, ram_verdicts

Epoch = tuple[float, float]
"""Memory, and what malloc took, MiB."""

# fmt: off
REGIONS: tuple[Epoch, ...] = (
    (252.8, 115.2), (251.9, 113.2), (255, 114.2), (254.4, 113.3), (256.5, 115.3),
    (255.5, 114.3), (256.2, 121.5), (258.7, 124.5), (258.4, 124.5), (260.3, 123.5),
    (260.3, 123.5), (258.3, 121.5), (259.3, 122.5), (262.7, 123.5), (267.8, 141), (265.8, 139),
    (267.8, 141), (267, 141), (267.4, 141), (266.3, 139), (267.8, 141), (268.2, 142),
    (267.8, 141), (266.3, 139), (272.3, 139), (273.2, 140), (272.3, 139), (272.4, 140),
    (274.5, 142), (274.6, 142), (274.4, 141), (274.4, 141), (274.4, 141), (281.9, 171),
    (287.5, 175), (289.5, 174), (289.5, 174), (289.1, 174), (287.5, 172), (287.5, 172),
    (290, 175), (287.5, 173), (289.5, 174), (289.5, 174), (289.2, 174), (290.4, 175),
    (287.6, 173), (290, 174), (290, 174), (288.8, 173), (291, 175), (290, 174), (289.1, 174),
    (302, 172), (308, 173), (309, 174), (308, 173), (307, 172), (309, 174), (309, 174),
    (308, 174), (307, 172), (307, 172), (307, 172),
)
# fmt: on


def run(epochs: Sequence[Epoch], *, counts: bool = True) -> Iterator[Event]:
    """A fit whose epochs end with that."""
    yield FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)
    for epoch, (ram, taken) in enumerate(epochs):
        yield from epoch_with(
            epoch,
            ram,
            ram_of_mib=16_000.0,
            malloc_bytes=(taken - 6.0) * MIB if counts else None,
            malloc_free_bytes=6.0 * MIB if counts else None,
        )


def alarms(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [one for one in verdicts if one.state in ALARMED_STATES]


def test_regions_that_come_into_use_over_epochs_are_no_growth():
    assert not alarms(ram_verdicts(run(REGIONS)))
    assert alarms(ram_verdicts(run(REGIONS, counts=False)))


@pytest.mark.parametrize("from_malloc", [6.0, 0.0], ids=["from malloc", "not from malloc"])
def test_a_leak_beside_them_is_growing(from_malloc: float):
    leaking = [(ram + 6.0 * n, taken + from_malloc * n) for n, (ram, taken) in enumerate(REGIONS)]

    verdicts = ram_verdicts(run(leaking))

    assert alarms(verdicts)[0].unit <= 20
    assert verdicts[-1].state in ALARMED_STATES


def test_tensors_kept_in_a_pool_are_called_as_soon_as_without_its_counts():
    kept: list[Epoch] = []
    taken, region = 0.0, 8.0
    for n in range(40):
        used = 10.0 * n + n % 3
        while taken < used:
            taken, region = taken + region, 2.0 * region
        kept.append((260.0 + used, 120.0 + taken))

    called = [alarms(ram_verdicts(run(kept, counts=counts)))[0].unit for counts in (True, False)]

    assert called[0] <= called[1] <= 12


def test_arrays_that_are_allocated_again_and_again_and_never_used_are_no_growth():
    kept = [(260.0 + n % 3, 120.0 + 20.0 * n) for n in range(60)]

    assert not alarms(ram_verdicts(run(kept)))


def test_growth_that_uses_half_of_what_it_takes_has_the_rate_of_what_it_uses():
    kept = [(260.0 + 10.0 * n, 120.0 + 20.0 * n) for n in range(60)]

    last = ram_verdicts(run(kept))[-1]

    assert last.state in ALARMED_STATES
    assert last.slope == pytest.approx(10.0 * MIB, rel=0.01)
