"""Step times of an epoch as text: their distribution, and the time of a few slow steps."""

from typing import Final

from kmonitor.ui.runs.epoch_parts import spent_text
from kmonitor.ui.text.formats import count_text, percent_text, seconds_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.events import CallbackTime, EpochParts, StepTimes

LEAST_SLOW_PART: Final = 0.1
"""Smallest fraction of the time for which slow steps are reported."""

FEW_PART: Final = 0.3
"""Largest fraction of steps that counts as "a few"."""

_ABOUT: Final = 0.03
_FRACTIONS: Final = (
    (1 / 4, later("a quarter of the steps' time")),
    (1 / 3, later("a third of the steps' time")),
    (1 / 2, later("half of the steps' time")),
    (2 / 3, later("two thirds of the steps' time")),
    (3 / 4, later("three quarters of the steps' time")),
)


def step_times_text(times: StepTimes) -> str:
    """Distribution as text: "median 5.58 ms, mean 17.3 ms, p95 6.1 ms, p99 510 ms, max 520 ms"."""
    if times.p50_s is None or times.p95_s is None or times.p99_s is None or times.max_s is None:
        text = tr("mean {mean}; the device runs asynchronously, so individual steps are not timed")
        return text.format(mean=seconds_text(times.mean_s))
    return tr("median {median}, mean {mean}, p95 {most}, p99 {nearly_all}, max {longest}").format(
        median=seconds_text(times.p50_s),
        mean=seconds_text(times.mean_s),
        most=seconds_text(times.p95_s),
        nearly_all=seconds_text(times.p99_s),
        longest=seconds_text(times.max_s),
    )


_OF_STEPS: Final = ("input", "callbacks", "compiling")
_ALIKE: Final = 1.3
"""Factor of their mean up to which slow steps are about as long as each other."""

_COLLECTED: Final = 0.5
"""Part of the excess time of slow steps that steps with a garbage collection must explain."""

_EXPLAINED: Final = (0.75, 1.25)
"""A part explains slow steps if its time is within these factors of their excess time."""


def has_few_slow_steps(times: StepTimes) -> bool:
    """True if a few slow steps took so much of the time that they are worth a report."""
    is_much = times.slow > 0 and times.slow_part >= LEAST_SLOW_PART
    return is_much and times.slow <= FEW_PART * times.count


def slow_steps_advice_text(times: StepTimes) -> str:
    """Advice on a few slow steps whose cause is known; empty if there is none."""
    if not has_few_slow_steps(times) or not is_slow_by_collections(times):
        return ""
    return fewer_collections_text()


def fewer_collections_text() -> str:
    """Advice on garbage collections that take long."""
    return tr("call gc.collect() less often, or call gc.freeze() once after setup")


def slow_steps_text(times: StepTimes, parts: EpochParts | None = None) -> str:
    """Describe a few slow steps that took much of the time; empty if there are none.

    "3 of 118 timed steps took two thirds of the steps' time, each about 0.5 s; that time was
    spent waiting for input"

    The first step of an epoch and the last, after which none begins, are not timed.

    Args:
        times: Step times of an epoch.
        parts: Parts of the same epoch; None: not measured.
    """
    if not has_few_slow_steps(times):
        return ""
    mean_s = times.slow_sum_s / times.slow
    longest_s = times.max_s or 0.0
    text = tr("{slow} of {n} timed steps took {part}, each about {each}")
    if times.slow == 1:
        text = tr("1 of {n} timed steps took {part}: {each}")
    elif longest_s > _ALIKE * mean_s:
        text = tr("{slow} of {n} timed steps took {part}, the longest {longest}")
    whole = text.format(
        slow=count_text(times.slow),
        n=count_text(times.count),
        part=part_text(times.slow_part),
        each=seconds_text(mean_s),
        longest=seconds_text(longest_s),
    )
    where = "" if parts is None else _spent_by_slow_steps(times, parts)
    if where:
        whole = tr("{text}; that time was spent {where}").format(text=whole, where=where)
    if not is_slow_by_collections(times):
        return whole
    if times.slow == 1:
        return tr("{text}; Python ran a full garbage collection in it").format(text=whole)
    if times.collected >= times.slow:
        return tr("{text}; Python ran full garbage collections in them").format(text=whole)
    return tr("{text}; Python ran full garbage collections in {n} of them").format(
        text=whole, n=count_text(times.collected)
    )


def is_slow_by_collections(times: StepTimes) -> bool:
    """True if most of the excess time of slow steps is that of steps with a garbage collection."""
    above_s = times.slow_sum_s - times.slow * times.step_s
    collected_s = times.collected_sum_s - times.collected * times.step_s
    return times.collected > 0 and collected_s >= _COLLECTED * above_s


def _spent_by_slow_steps(times: StepTimes, parts: EpochParts) -> str:
    """Part that explains the excess time of slow steps, after "spent"; empty if there is none.

    A part that all steps could have had evenly explains nothing.
    """
    above_s = times.slow_sum_s - times.slow * times.step_s
    least_s, most_s = (times_longer * above_s for times_longer in _EXPLAINED)
    least_s = max(least_s, times.count * times.step_s)
    found = (name for name in _OF_STEPS if least_s <= _within_steps_s(parts, name) <= most_s)
    name = next(found, "")
    if name == "callbacks":
        return spent_text(name, max(parts.callbacks, key=_callback_in_steps_s).name)
    return spent_text(name) if name else ""


def _within_steps_s(parts: EpochParts, name: str) -> float:
    """Time of a part in steps that are timed: the wait for an epoch's first batch is in none."""
    if name == "callbacks":
        return sum(map(_callback_in_steps_s, parts.callbacks))
    seconds = getattr(parts, f"{name}_s") or 0.0
    return seconds - parts.first_input_s if name == "input" else seconds


def _callback_in_steps_s(callback: CallbackTime) -> float:
    """Time of a callback in steps; 0 if it is unknown, or is that of checkpoints."""
    return 0.0 if callback.saves else callback.in_steps_s or 0.0


def part_text(part: float) -> str:
    """A fraction of the steps' time, spelled out if it is simple: "half of the steps' time"."""
    for fraction, text in _FRACTIONS:
        if abs(part - fraction) <= _ABOUT:
            return tr(text)
    return tr("{percent} of the steps' time").format(percent=percent_text(part))
