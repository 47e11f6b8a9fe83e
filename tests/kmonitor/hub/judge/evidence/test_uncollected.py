"""Garbage that waits for Python's collector, against leaks that look like it.

The series is recorded, of `ocvp_3_figures_closed` in `tests/leaks`: memory of the process, what
malloc handed out and keeps, MiB, and Python's blocks, thousands, at the ends of epochs. In epoch
20 Python collected all garbage.
"""

from collections.abc import Collection, Iterator, Sequence

import pytest
from msgspec.structs import replace

from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import advice_of, verdict_headline
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    Event,
    FitStarted,
    Footprint,
    KeptObjects,
    ObjectsCounted,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, MAY_BE_GARBAGE
from tests.support.growing_run import EPOCH_S, MIB, epoch_with, ram_verdicts

Epoch = tuple[float, float, float, float]
"""Memory, what malloc handed out, what it keeps, MiB; and Python's blocks, thousands."""

# fmt: off
FIGURES: tuple[Epoch, ...] = (
    (285.5, 113.9, 5.6, 1623.5), (285.6, 114, 5.1, 1624.5), (289.6, 118.7, 4.8, 1629.6),
    (295, 123.4, 4.9, 1635), (290.7, 118.7, 5, 1630.7), (295.2, 123.4, 4.7, 1635.9),
    (298.8, 123.4, 8, 1636.3), (302.7, 128.1, 6.9, 1641.3), (306.7, 128.1, 10.6, 1642),
    (306.7, 132.8, 5.9, 1647), (310.8, 137.5, 4.9, 1652.3), (307.2, 132.8, 5.9, 1648),
    (311.8, 137.5, 7, 1653), (314.7, 137.5, 8.5, 1653.3), (315.8, 142.2, 5.4, 1658.3),
    (319.6, 142.2, 8.2, 1658.9), (320.6, 146.9, 5.3, 1663.9), (326, 151.6, 5.3, 1669.1),
    (323.8, 146.9, 7.1, 1664.5), (327.5, 151.6, 6, 1669.5), (331.4, 114.1, 47.3, 1624.6),
    (331.4, 118.8, 42.6, 1629.7), (342.8, 123.5, 49.5, 1635), (342.8, 118.8, 54.2, 1630.7),
    (342.8, 123.5, 49.5, 1635.7), (342.8, 123.5, 49.4, 1636.1), (342.8, 128.2, 44.8, 1641.1),
    (342.8, 128.2, 44.8, 1641.7), (342.9, 132.9, 40.1, 1646.7), (345.8, 137.5, 38.3, 1651.8),
    (345.8, 132.9, 43, 1647.4), (345.8, 137.6, 38.3, 1652.5), (331.4, 137.6, 23.8, 1653),
    (331.4, 142.2, 19.1, 1658), (331.5, 142.3, 19.1, 1658.5), (331.5, 146.9, 14.4, 1663.5),
    (331.5, 151.6, 9.7, 1668.8), (331.5, 147, 14.4, 1664.3), (331.5, 151.6, 9.7, 1669.2),
    (331.5, 151.6, 9.7, 1669.5), (331.5, 156.3, 5, 1674.4), (336.4, 161, 5.2, 1679.8),
    (332.8, 156.3, 6.8, 1674.9), (336.5, 161.1, 5.8, 1679.9), (333, 156.4, 6.8, 1675.3),
    (336.6, 161, 5.5, 1680.3), (340.2, 161, 8.3, 1680.5), (341.3, 165.7, 5.2, 1685.5),
    (346, 170.4, 4.8, 1690.6), (344.4, 165.8, 7.3, 1685.9), (348.1, 170.4, 6.2, 1690.9),
    (351.9, 170.4, 9.9, 1691.1), (352.1, 175.1, 5.2, 1696.1), (356.1, 175.1, 8.9, 1696.5),
    (357.1, 179.8, 6, 1701.4), (361.1, 184.5, 5, 1706.6), (357.6, 179.8, 5.7, 1702),
    (361.9, 184.5, 5.1, 1706.9), (365.6, 184.5, 8.2, 1707), (366.6, 189.2, 5.3, 1711.9),
    (371.3, 193.9, 5, 1717.1), (369.7, 189.2, 7.1, 1712.4), (373.4, 193.9, 6.1, 1717.3),
    (377.2, 193.9, 9.8, 1717.6), (377.4, 198.6, 5.1, 1722.3), (382.4, 203.3, 6.1, 1727.5),
    (378.7, 198.6, 7.2, 1722.7), (382.4, 203.3, 5.6, 1727.6), (386, 203.3, 8.4, 1727.7),
    (387.1, 208, 5, 1732.6), (390.9, 208, 8, 1732.8), (391.8, 212.7, 5.2, 1737.6),
    (397.2, 217.4, 5, 1742.7), (395.1, 212.7, 7, 1738), (398.7, 217.4, 6, 1742.9),
    (402.6, 217.4, 9.6, 1743.1), (402.7, 222.1, 4.9, 1747.9), (407.6, 226.8, 5.2, 1753),
    (404, 222.1, 6.8, 1748.3), (407.7, 226.8, 5.5, 1753.1), (411.3, 226.8, 8.3, 1753.2),
    (412.3, 231.5, 4.6, 1758.1), (417.1, 236.2, 5, 1763.2), (415.5, 231.5, 7.2, 1758.4),
    (419.2, 236.2, 6.2, 1763.3), (423, 236.2, 9.9, 1763.4), (423.2, 240.9, 5.2, 1768.3),
    (428.1, 245.6, 6, 1773.4), (424.5, 240.9, 7, 1768.7), (428.2, 245.6, 6, 1773.5),
    (431.8, 245.6, 8.5, 1773.5), (432.9, 250.3, 5.3, 1778.5), (436.6, 250.3, 8.1, 1778.6),
    (437.6, 255, 5.3, 1783.6), (443, 259.7, 5.3, 1788.6), (440.8, 255, 7.1, 1783.8),
    (444.5, 259.7, 6.1, 1788.8), (448.3, 259.7, 9.7, 1789), (448.4, 264.4, 5, 1793.8),
    (453.3, 269.1, 5.5, 1798.8),
)
# fmt: on

OBJECTS = 2.3, 1.9
"""Thousands of blocks an epoch, and MiB from malloc: 0.8 KiB a block, as those figures."""

ARRAYS = 0.1, 5.0
"""50 KiB a block."""


def run(
    epochs: Sequence[Epoch],
    collected: Collection[int] = (),
    *,
    ram_of_mib: float = 16_000.0,
    kept_mib: float = 0.0,
    full_after: float | None = None,
) -> Iterator[Event]:
    """A fit whose epochs end with that; all garbage is collected in some of them."""
    yield FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)
    collections = 6
    for epoch, (ram, from_malloc, free, blocks) in enumerate(epochs):
        collections += epoch in collected
        counted: list[Event] = []
        if kept_mib:
            n_bytes = kept_mib * MIB * epoch
            kept = [KeptObjects("dict", 10 * epoch, n_bytes, container="list", place="Log.rows")]
            t_s = epoch * EPOCH_S + 8.0
            counted = [ObjectsCounted(t_s=t_s, fit=1, epoch=epoch, kept=kept)]
        yield from epoch_with(
            epoch,
            ram,
            *counted,
            ram_of_mib=ram_of_mib,
            malloc_bytes=from_malloc * MIB,
            malloc_free_bytes=free * MIB,
            python_blocks=1000.0 * blocks,
            full_collections=float(collections),
            objects_to_full_collection=full_after,
        )


def growing(
    a_unit: tuple[float, float],
    n: int,
    freed: Collection[int] = (),
    *,
    survives: float = 1.0,
    blocks: float = 1600.0,
    mapped_mib: float = 0.0,
) -> list[Epoch]:
    """Epochs that add this many blocks, and MiB from malloc; some free all but a part of them."""
    epochs: list[Epoch] = []
    least = highest = held = 0.0
    for epoch in range(n):
        held += 1.0
        if epoch in freed:
            least = held = least + survives * (held - least)
        highest = max(highest, held)
        wobble = (epoch * 7 % 5) * 0.1 + mapped_mib * epoch
        from_malloc = a_unit[1] * held
        free = a_unit[1] * highest - from_malloc
        ram = 280.0 + wobble + from_malloc + free
        epochs.append((ram, 110.0 + from_malloc, 5.0 + free, blocks + a_unit[0] * held))
    return epochs


def first_alarm(verdicts: Sequence[Verdict]) -> Verdict | None:
    return next((one for one in verdicts if one.state in ALARMED_STATES), None)


def test_closed_figures_are_named_once_some_were_collected_and_never_alarmed():
    verdicts = ram_verdicts(run(FIGURES, {20}))

    assert verdicts[-1].unit == 99
    assert first_alarm(verdicts) is None
    assert {one.cause for one in verdicts[:20]} == {""}
    assert verdicts[15].why_not == MAY_BE_GARBAGE
    for unit in (61, 98):
        one = verdicts[unit]
        assert (one.state, one.cause, one.advice) == ("rising", "uncollected", ["collect"])
        assert with_plain_spaces(verdict_headline(one)).endswith(
            "/ epoch; Python objects accumulate between full collections; Collect runs one"
        )


def test_objects_that_survive_a_full_collection_are_growing():
    alarm = first_alarm(ram_verdicts(run(growing(OBJECTS, 60, {30}), {30})))

    assert alarm is not None
    assert 30 <= alarm.unit <= 40
    assert alarm.cause != "uncollected"


def test_arrays_are_growing_without_a_collection():
    alarm = first_alarm(ram_verdicts(run(growing(ARRAYS, 30))))

    assert alarm is not None
    assert alarm.unit <= 15


def test_arrays_that_an_earlier_collection_freed_are_garbage():
    verdicts = ram_verdicts(run(growing(ARRAYS, 50, {4}, survives=0.0), {4}, ram_of_mib=64_000.0))

    assert first_alarm(verdicts) is None
    assert verdicts[-1].cause == "uncollected"


def test_an_earlier_collection_of_objects_excuses_no_arrays():
    objects = growing(OBJECTS, 20, {15}, survives=0.0)
    arrays = [
        (ram + 5.0 * n, from_malloc + 5.0 * n, free, blocks)
        for n, (ram, from_malloc, free, blocks) in enumerate([objects[-1]] * 20)
    ]
    alarm = first_alarm(ram_verdicts(run([*objects, *arrays], {15})))

    assert alarm is not None


def test_a_leak_beside_garbage_is_growing_after_some_collections():
    collected = set(range(10, 100, 10))
    epochs = growing((9.2, 7.6), 100, collected, survives=0.15)
    alarm = first_alarm(ram_verdicts(run(epochs, collected)))

    assert alarm is not None


def test_objects_are_growing_when_a_quarter_more_was_not_collected():
    alarm = first_alarm(ram_verdicts(run(growing(OBJECTS, 60, blocks=200.0))))

    assert alarm is not None
    assert 22 <= alarm.unit <= 32


def test_objects_that_would_not_fit_are_growing():
    alarm = first_alarm(ram_verdicts(run(growing(OBJECTS, 30), ram_of_mib=500.0)))

    assert alarm is not None
    assert alarm.unit <= 15


@pytest.mark.parametrize("kept_mib", [0.6, 1.5])
def test_objects_that_the_script_keeps_are_growing(kept_mib: float):
    """Also where most of it is inside of what is counted: numbers in dicts in a dict."""
    alarm = first_alarm(ram_verdicts(run(growing(OBJECTS, 30), kept_mib=kept_mib)))

    assert alarm is not None
    assert alarm.unit <= 15


def test_objects_are_growing_if_one_count_shows_where_they_are_kept():
    def counted_once() -> Iterator[Event]:
        for event in run(growing(OBJECTS, 30), kept_mib=1.0):
            if not isinstance(event, ObjectsCounted) or event.epoch == 4:
                yield event

    alarm = first_alarm(ram_verdicts(counted_once()))

    assert alarm is not None
    assert alarm.unit <= 15


def test_mapped_pages_beside_few_objects_are_growing():
    alarm = first_alarm(ram_verdicts(run(growing((0.1, 0.1), 30, mapped_mib=5.0))))

    assert alarm is not None
    assert alarm.unit <= 15


YOUNG = range(5, 200, 9)
"""Epochs in which a young collection frees all garbage: no count shows it."""


def teeth(n: int, *, last: int = 1000, leaks: float = 0.0, since: int = 0) -> list[Epoch]:
    """Epochs with arrays that young collections free, and a leak of so many MiB beside them.

    Args:
        n: Number of epochs.
        last: Epoch from which nothing is freed any more.
        leaks: Leak an epoch.
        since: Epoch from which it leaks.
    """
    epochs = growing((0.1, 3.0), n, {at for at in YOUNG if at < last}, survives=0.0)
    leaked = [leaks * max(0, epoch - since) for epoch in range(n)]
    return [
        (285.0 + from_malloc + more, from_malloc + more, 5.0, blocks)
        for (_, from_malloc, _, blocks), more in zip(epochs, leaked, strict=True)
    ]


def test_arrays_that_young_collections_free_are_never_alarmed():
    verdicts = ram_verdicts(run(teeth(60), ram_of_mib=64_000.0))

    assert first_alarm(verdicts) is None
    assert {(one.state, one.cause) for one in verdicts[15:]} == {("steady", "")}


def test_teeth_are_recognized_where_only_memory_is_measured():
    epochs = [event for n, one in enumerate(teeth(60)) for event in epoch_with(n, one[0])]
    start = FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)

    assert first_alarm(ram_verdicts([start, *epochs])) is None


@pytest.mark.parametrize(("leaks", "latest"), [(0.75, 70), (1.5, 60), (3.0, 55), (6.0, 55)])
def test_a_leak_that_begins_beside_teeth_is_growing(leaks: float, latest: int):
    alarm = first_alarm(ram_verdicts(run(teeth(100, leaks=leaks, since=40), ram_of_mib=64_000.0)))

    assert alarm is not None
    assert 40 < alarm.unit <= latest


def test_teeth_that_are_no_longer_freed_are_growing_above_the_earlier_ones():
    alarm = first_alarm(ram_verdicts(run(teeth(70, last=40), ram_of_mib=64_000.0)))

    assert alarm is not None
    assert 42 < alarm.unit <= 54


def test_a_full_collection_that_frees_no_tooth_ends_the_excuse():
    alarm = first_alarm(ram_verdicts(run(teeth(70, last=30), {31}, ram_of_mib=64_000.0)))

    assert alarm is not None
    assert 32 <= alarm.unit <= 36


def test_teeth_that_have_no_room_are_growing():
    alarm = first_alarm(ram_verdicts(run(teeth(40), ram_of_mib=312.0)))

    assert alarm is not None


def test_memory_that_was_taken_at_once_and_given_back_excuses_no_leak():
    once = [(285.0 + 90.0 * (n in {3, 4}),) for n in range(10)]
    epochs = [
        (ram + 3.0 * max(0, n - 9), 110.0 + ram - 285.0 + 3.0 * max(0, n - 9), 5.0, 1600.0)
        for n, (ram,) in enumerate([*once, *[(285.0,)] * 20])
    ]
    alarm = first_alarm(ram_verdicts(run(epochs, ram_of_mib=64_000.0)))

    assert alarm is not None
    assert alarm.unit <= 20


OFF = 0.0
RARE = 5e9
"""New objects until a full collection, where the collector is off, or its thresholds are high."""


@pytest.mark.parametrize(
    ("full_after", "name", "words"),
    [
        (OFF, "gc.disable", "collector is off (gc.disable)"),
        (RARE, "gc.set_threshold", "collector hardly runs (gc.set_threshold)"),
    ],
)
def test_a_collector_that_is_off_is_the_cause_of_growth_without_another(
    full_after: float, name: str, words: str
):
    alarm = first_alarm(ram_verdicts(run(growing(ARRAYS, 30), full_after=full_after)))

    assert alarm is not None
    assert (alarm.cause, alarm.name, alarm.unit <= 15) == ("collector_off", name, True)
    assert alarm.advice == ["collect", "enable_collector", "diagnose"]
    assert words in verdict_headline(alarm)
    assert advice_of(alarm)[1].text.startswith(f"leave out {name}(), or call gc.collect()")


def test_a_collector_with_usual_thresholds_is_no_cause():
    alarm = first_alarm(ram_verdicts(run(growing(ARRAYS, 30), full_after=84_000.0)))

    assert alarm is not None
    assert alarm.cause == "malloc"


def test_objects_do_not_wait_for_a_collector_that_is_off():
    alarm = first_alarm(ram_verdicts(run(growing(OBJECTS, 30), full_after=OFF)))

    assert alarm is not None
    assert alarm.cause == "collector_off"


def test_what_the_script_keeps_comes_before_a_collector_that_is_off():
    alarm = first_alarm(ram_verdicts(run(growing(ARRAYS, 30), kept_mib=5.0, full_after=OFF)))

    assert alarm is not None
    assert (alarm.cause, alarm.kept and alarm.kept.place) == ("kept", "Log.rows")


def test_memory_that_a_full_collection_left_does_not_wait_for_one():
    verdicts = ram_verdicts(run(growing(ARRAYS, 40, {20}), {20}, full_after=OFF))

    assert verdicts[18].cause == "collector_off"
    assert verdicts[-1].state in ALARMED_STATES
    assert verdicts[-1].cause == "malloc"


def test_a_collector_that_is_off_is_no_alarm_without_growth():
    verdicts = ram_verdicts(run(growing((0.1, 0.0), 30), full_after=OFF))

    assert first_alarm(verdicts) is None
    assert {one.cause for one in verdicts} == {""}


def test_a_script_that_collects_by_itself_has_usual_teeth():
    collected = range(5, 60, 5)
    epochs = growing(ARRAYS, 60, collected, survives=0.0)
    verdicts = ram_verdicts(run(epochs, collected, full_after=OFF))

    assert first_alarm(verdicts) is None


def test_a_collector_that_is_off_stays_the_cause_in_epochs_without_counts():
    counts = dict.fromkeys(("python_blocks", "full_collections", "malloc_bytes"))
    events = [
        replace(each, **counts, objects_to_full_collection=None)
        if isinstance(each, EpochEnded) and each.epoch % 3 == 0
        else each
        for each in run(growing(ARRAYS, 30), full_after=OFF)
    ]
    verdicts = [one for one in ram_verdicts(events) if one.state in ALARMED_STATES]

    assert {one.cause for one in verdicts} == {"collector_off"}


@pytest.mark.parametrize(("freed_mib", "cause"), [(60.0, "collector_off"), (0.0, "malloc")])
def test_a_collector_that_is_off_is_refuted_by_a_collect_in_vain(freed_mib: float, cause: str):
    t_s = 20 * EPOCH_S - 0.05
    before, after = (Footprint(ram_process_bytes=m * MIB) for m in (400.0, 400.0 - freed_mib))
    collect = ActionRecord(
        t_s,
        action="collect",
        ok=True,
        requested_by="ann",
        fit=1,
        epoch=19,
        seconds=0.1,
        before=before,
        after=after,
    )
    events = [*run(growing(ARRAYS, 40), full_after=OFF), collect]
    verdicts = ram_verdicts(sorted(events, key=lambda each: each.t_s))

    assert verdicts[18].cause == "collector_off"
    assert (verdicts[-1].state in ALARMED_STATES, verdicts[-1].cause) == (True, cause)
