"""When a study ends, as far as its folds tell: an estimate, never more. Pure."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from kmonitor.ui.studies.folds import TryPicture
from kmonitor.ui.text.formats import duration_text, moment_text
from kmonitor.ui.text.language import tr

_MOST_PLAYED: Final = 5000
"""Folds whose turns are played through one by one."""

_WIDE: Final = 1.15
"""Ends of an estimate that are further apart than this are told."""


@dataclass(frozen=True, slots=True)
class StudyForecast:
    """What is left, seconds: least, most likely and most by what was measured."""

    low_s: float
    likely_s: float
    high_s: float


def study_forecast(
    folds: Sequence[TryPicture], finished_s: Sequence[float], *, at_once: int
) -> StudyForecast | None:
    """What is left of a study that runs; None where nothing tells.

    Args:
        folds: How each stands.
        finished_s: How long those that finished took.
        at_once: How many run at the same time.
    """
    running = [each for each in folds if each.is_running]
    waiting = sum(each.state in {"queued", "again"} for each in folds)
    foretold = [each.forecast_s for each in running if each.forecast_s is not None]
    known = list(finished_s) or foretold
    is_open = len(foretold) < len(running)
    if (waiting or is_open) and not known:
        return None
    ends = [
        _end(running, waiting, typical, at_once)
        for typical in ((min(known), median(known), max(known)) if known else (0.0, 0.0, 0.0))
    ]
    return StudyForecast(*ends)


def forecast_words(forecast: StudyForecast | None, *, now_wall_s: float) -> str:
    """The same in words: "about 12 min left (10 min to 16 min), until about 14:35"."""
    if forecast is None:
        return tr("when it ends is not known yet")
    moment = moment_text(now_wall_s + forecast.likely_s, now_wall_s=now_wall_s)
    likely, low, high = (
        duration_text(each) for each in (forecast.likely_s, forecast.low_s, forecast.high_s)
    )
    if forecast.high_s > _WIDE * max(1.0, forecast.low_s) and low != high:
        text = tr("about {time} left ({low} to {high}), until about {moment}")
        return text.format(time=likely, low=low, high=high, moment=moment)
    return tr("about {time} left, until about {moment}").format(time=likely, moment=moment)


def _end(running: Sequence[TryPicture], waiting: int, typical_s: float, at_once: int) -> float:
    left = [max(0.0, (each.forecast_s or typical_s) - (each.seconds or 0.0)) for each in running]
    slots = left + [0.0] * max(0, at_once - len(left))
    if waiting > _MOST_PLAYED:
        return max(left, default=0.0) + typical_s * waiting / max(1, len(slots))
    heapq.heapify(slots)
    end = max(slots, default=0.0)
    for _ in range(waiting if slots else 0):
        ends = heapq.heappop(slots) + typical_s
        heapq.heappush(slots, ends)
        end = max(end, ends)
    return end
