"""Freed memory that malloc keeps in one arena after another, against a heap that fragments.

Both series are recorded, of scripts in `tests/leaks`: memory of the process, what malloc keeps of
it, and the most that one of its 16 arenas keeps, at the ends of epochs, MiB.
"""

from collections.abc import Iterator, Sequence

import pytest

from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import verdict_headline
from kmonitor_agent.wire.messages.events import (
    Event,
    FitStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, ArenaFill
from tests.support.growing_run import MIB, epoch_with, ram_verdicts

Epoch = tuple[float, float, float]
"""Memory, what malloc keeps of it, and the most in one arena, MiB."""

# fmt: off
SHUFFLED: tuple[Epoch, ...] = (
    (269, 18, 11), (289, 39, 12), (307, 56, 18), (302, 51, 14), (306, 55, 13), (323, 72, 13),
    (326, 74, 13), (339, 87, 13), (341, 90, 13), (340, 89, 13), (340, 88, 13), (344, 92, 13),
    (356, 104, 13), (370, 118, 13), (382, 130, 14), (391, 139, 14), (391, 139, 14), (397, 145, 13),
    (392, 139, 13), (390, 138, 13), (380, 128, 13), (389, 137, 14), (413, 161, 14), (405, 153, 13),
    (403, 151, 13), (414, 162, 13), (408, 156, 13), (408, 156, 13), (410, 158, 13), (412, 160, 13),
    (407, 155, 14), (418, 166, 14), (396, 144, 13), (396, 144, 13), (407, 155, 13), (393, 141, 13),
    (400, 148, 13), (413, 160, 14), (412, 160, 13), (410, 157, 13),
)
"""Epochs of tensorflow_54299_shuffled_images."""

FRAGMENTED: tuple[Epoch, ...] = (
    (618, 5, 3), (622, 8, 6), (625, 11, 9), (628, 14, 12), (632, 18, 16), (635, 21, 19),
    (639, 24, 23), (642, 28, 26), (646, 32, 30), (650, 36, 34), (654, 40, 38), (659, 44, 42),
    (663, 48, 46), (667, 52, 50), (672, 57, 55), (677, 61, 60), (682, 67, 65), (688, 72, 70),
    (693, 77, 75), (699, 83, 81), (704, 88, 86), (710, 94, 92), (716, 99, 97), (721, 105, 103),
    (727, 110, 109), (733, 116, 114), (739, 122, 120), (745, 128, 126), (750, 133, 132),
    (756, 139, 137),
)
"""Epochs of tensorflow_2942_heap_fragments."""
# fmt: on


def run(epochs: Sequence[Epoch], *, counts_arenas: bool = True, **more: float) -> Iterator[Event]:
    """A fit whose epochs end with that."""
    yield FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)
    for epoch, (ram, free, largest) in enumerate(epochs):
        yield from epoch_with(
            epoch,
            ram,
            ram_of_mib=more.get("ram_of_mib", 16_000.0),
            malloc_bytes=(106.0 + more.get("in_use_mib", 0.0) * epoch) * MIB,
            malloc_free_bytes=free * MIB,
            malloc_largest_free_bytes=largest * MIB if counts_arenas else None,
            malloc_arenas=16.0 if counts_arenas else None,
        )


def first_alarm(verdicts: Sequence[Verdict]) -> Verdict | None:
    return next((one for one in verdicts if one.state in ALARMED_STATES), None)


def growing(epochs: Sequence[Epoch], a_unit: float) -> list[Epoch]:
    """The same beside something else that grows."""
    return [(ram + a_unit * n, free, largest) for n, (ram, free, largest) in enumerate(epochs)]


def test_arenas_that_fill_are_named_and_never_alarmed():
    verdicts = ram_verdicts(run((*SHUFFLED, *SHUFFLED[-20:] * 3)))

    assert verdicts[-1].unit == 99
    assert first_alarm(verdicts) is None
    amid = verdicts[17]
    assert (amid.state, amid.cause, amid.advice) == ("rising", "arenas", [])
    assert amid.arenas == ArenaFill(16, 145 * MIB, 13 * MIB)
    assert with_plain_spaces(verdict_headline(amid)).endswith(
        "malloc retains freed memory for reuse: 145 MiB in 16 arenas, at most 13.0 MiB in one"
    )
    assert verdicts[-1].state == "steady"


def test_the_same_memory_is_growing_where_arenas_are_not_counted():
    alarm = first_alarm(ram_verdicts(run(SHUFFLED, counts_arenas=False)))

    assert alarm is not None
    assert alarm.cause == "cache"


def test_a_heap_that_fragments_is_growing():
    alarm = first_alarm(ram_verdicts(run(FRAGMENTED, in_use_mib=0.1)))

    assert alarm is not None
    assert (alarm.cause, alarm.arenas) == ("cache", None)
    assert alarm.unit <= 11


@pytest.mark.parametrize("in_use_mib", [6.0, 0.0])
def test_a_leak_beside_arenas_that_fill_is_growing(in_use_mib: float):
    """The leak is memory from malloc, or mapped by something that counts nothing."""
    alarm = first_alarm(ram_verdicts(run(growing(SHUFFLED, 6.0), in_use_mib=in_use_mib)))

    assert alarm is not None
    assert alarm.unit <= 20


def test_the_arena_that_keeps_most_excuses_no_growth_of_its_own():
    grows = [(269.0 + 5.0 * n + n % 3, 18.0 + 5.0 * n, 11.0 + 5.0 * n) for n in range(20)]

    assert first_alarm(ram_verdicts(run(grows))) is not None


def test_holes_in_several_arenas_are_growing():
    holes = [(269.0 + 8.0 * n + n % 3, 18.0 + 8.0 * n, 11.0 + 2.0 * n) for n in range(30)]

    assert first_alarm(ram_verdicts(run(holes))) is not None


def test_arenas_that_would_not_fit_are_growing():
    assert first_alarm(ram_verdicts(run(SHUFFLED, ram_of_mib=430.0))) is not None
