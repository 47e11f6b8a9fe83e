"""State of a study's page: the table of attempts, a forecast of the end, and a cell per fold."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from kmonitor.ui.guide.pages import heading_slug
from kmonitor.ui.runs.run_states import Tone, has_ended
from kmonitor.ui.studies.folds import AttemptState, fold_text, last_attempts
from kmonitor.ui.studies.study_store import StudyRecord, is_search
from kmonitor.ui.text.formats import (
    bytes_text,
    count_text,
    duration_text,
    moment_text,
    seconds_text,
)
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import StudyTally
from kmonitor_agent.wire.messages.unions import RunSummary

ATTEMPT_COLUMNS: Final = (
    "fold",
    "attempt",
    "state",
    "time",
    "steps",
    "ram",
    "growth",
    "vram",
    "why",
)

_SHORT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class TimeBar:
    """Time of an attempt as a fraction of the longest displayed one; 0..1.

    Attributes:
        done: Time so far.
        forecast: Estimated total time; None: the attempt is over, or the estimate is not known.
        limit: Maximum time; None: the attempt is over, or the maximum is not known or far off.
    """

    done: float
    forecast: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt in the table.

    Attributes:
        fold: Index.
        run: Id of its run; may be empty.
        cells: Texts in the order of `ATTEMPT_COLUMNS`.
        icon, tone: Icon and tone of the attempt's state.
        bar: Bar of the attempt's time; None: the attempt has not begun.
    """

    fold: int
    run: str
    cells: tuple[str, ...]
    icon: str
    tone: Tone
    bar: TimeBar | None
    tooltip: str


def _rows(tries: Sequence[Sequence[AttemptState]]) -> tuple[AttemptRow, ...]:
    longest = max(
        (max(t.seconds or 0.0, t.forecast_s or 0.0) for of_fold in tries for t in of_fold),
        default=0.0,
    )
    return tuple(_row(each, longest) for of_fold in tries for each in of_fold)


def _row(each: AttemptState, longest: float) -> AttemptRow:
    cells = (
        count_text(each.fold),
        _attempt_text(each),
        each.label,
        _time_text(each),
        count_text(each.steps) if each.steps else "",
        bytes_text(each.ram_bytes) if each.ram_bytes else "",
        _growth(each.growth_bytes),
        bytes_text(each.vram_bytes) if each.vram_bytes else "",
        each.why,
    )
    text = fold_text(each)
    return AttemptRow(each.fold, each.run, cells, each.icon, each.tone, _bar(each, longest), text)


def _attempt_text(each: AttemptState) -> str:
    if not each.attempt or each.state == "again":
        return ""
    text = count_text(each.attempt)
    return tr("{n}, resumed").format(n=text) if each.resumed else text


def _time_text(each: AttemptState) -> str:
    if each.seconds is None:
        return ""
    seconds = each.seconds
    took = seconds_text(seconds) if 0 < seconds < _SHORT_S else duration_text(seconds)
    if each.is_running:
        took = duration_text(seconds)
        if each.forecast_s is not None:
            whole = duration_text(max(seconds, each.forecast_s))
            return tr("{time} of about {whole}").format(time=took, whole=whole)
    return took


def _bar(each: AttemptState, longest: float) -> TimeBar | None:
    if each.seconds is None or longest <= 0.0:
        return None
    forecast_fraction = None
    if each.forecast_s is not None:
        forecast_fraction = min(1.0, max(each.seconds, each.forecast_s) / longest)
    near = each.limit_s is not None and each.limit_s <= longest
    limit = each.limit_s / longest if near and each.limit_s is not None else None
    return TimeBar(min(1.0, each.seconds / longest), forecast_fraction, limit)


def _growth(n_bytes: float | None) -> str:
    if n_bytes is None:
        return ""
    sign = "\u2212" if n_bytes < 0 else "+"
    return f"{sign}{bytes_text(abs(n_bytes))}"


_MOST_PLAYED: Final = 5000
"""Maximum number of waiting folds whose turns are simulated one by one."""

_WIDE: Final = 1.15
"""Ratio of an estimate's ends above which the ends are shown."""


@dataclass(frozen=True, slots=True)
class StudyForecast:
    """Remaining time, seconds: minimum, most likely value and maximum from the folds so far."""

    low_s: float
    likely_s: float
    high_s: float


def study_forecast(
    folds: Sequence[AttemptState], finished_s: Sequence[float], *, at_once: int
) -> StudyForecast | None:
    """Estimate the remaining time of a running study from its folds; None: no data yet.

    Args:
        folds: Last attempt at each fold.
        finished_s: Run times of the finished folds.
        at_once: Number of folds that run at the same time.
    """
    running = [each for each in folds if each.is_running]
    waiting = sum(each.state in {"queued", "again"} for each in folds)
    forecasts_s = [each.forecast_s for each in running if each.forecast_s is not None]
    known = list(finished_s) or forecasts_s
    is_open = len(forecasts_s) < len(running)
    if (waiting or is_open) and not known:
        return None
    ends = [
        _end(running, waiting, typical, at_once)
        for typical in ((min(known), median(known), max(known)) if known else (0.0, 0.0, 0.0))
    ]
    return StudyForecast(*ends)


def study_forecast_text(forecast: StudyForecast | None, *, now_wall_s: float) -> str:
    """Forecast as text: "about 12 min left (10 min to 16 min), finishing at about 14:35"."""
    if forecast is None:
        return tr("finish time not known yet")
    moment = moment_text(now_wall_s + forecast.likely_s, now_wall_s=now_wall_s)
    likely, low, high = (
        duration_text(each) for each in (forecast.likely_s, forecast.low_s, forecast.high_s)
    )
    if forecast.high_s > _WIDE * max(1.0, forecast.low_s) and low != high:
        text = tr("about {time} left ({low} to {high}), finishing at about {moment}")
        return text.format(time=likely, low=low, high=high, moment=moment)
    return tr("about {time} left, finishing at about {moment}").format(time=likely, moment=moment)


def _end(running: Sequence[AttemptState], waiting: int, typical_s: float, at_once: int) -> float:
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


@dataclass(frozen=True, slots=True)
class FoldCell:
    """One fold in the grid.

    Attributes:
        fold: Index.
        run: Id of its run; empty: it has none.
        icon, tone: Icon and tone of the fold's state.
        share: Filled fraction of the cell, 0..1.
        is_estimate: True if the fraction is estimated from run times, and not counted.
        has_more: True if the fold took more than one attempt.
        description: Text for the tooltip and a screen reader.
    """

    fold: int
    run: str
    icon: str
    tone: Tone
    share: float
    is_estimate: bool
    has_more: bool
    description: str


@dataclass(frozen=True, slots=True)
class StudyState:
    """The page, except its charts.

    Attributes:
        lead: "3 of 10 folds over, 1 running, 1 tried again, 1 killed".
        forecast: Estimated time of the end; empty once the study has ended.
        facts: Function, limits, and number of folds at once.
        cells: One cell per fold.
        empty: Reason why there are no folds; empty if there are any.
    """

    lead: str
    forecast: str
    facts: str
    cells: tuple[FoldCell, ...]
    rows: tuple[AttemptRow, ...]
    empty: str = ""


def study_state(
    study: RunSummary,
    record: StudyRecord,
    tries: Sequence[Sequence[AttemptState]],
    *,
    now_wall_s: float,
) -> StudyState:
    """Return the page of a study.

    Args:
        now_wall_s: Now, UTC epoch seconds.
    """
    folds = last_attempts(tries)
    forecast = ""
    if not has_ended(study) and record.started is not None:
        found = study_forecast(folds, record.finished_s(), at_once=record.started.at_once)
        forecast = study_forecast_text(found, now_wall_s=now_wall_s)
    return StudyState(
        lead=study_progress_text(study),
        forecast=forecast,
        facts=_facts(record),
        cells=tuple(_cell(each, len(of_fold)) for each, of_fold in zip(folds, tries, strict=True)),
        rows=_rows(tries),
        empty="" if record.started is not None else tr("Loading\u2026"),
    )


def _facts(record: StudyRecord) -> str:
    started = record.started
    if started is None:
        return ""
    timeout = (
        tr("time limit learned from the finished folds") if started.folds else tr("no time limit")
    )
    if started.timeout_s is not None:
        timeout = tr("time limit {time}").format(time=duration_text(started.timeout_s))
    memory = tr("memory limited by the host")
    if started.memory_bytes is not None:
        memory = tr("memory limit {size}").format(size=bytes_text(started.memory_bytes))
    at_once = tr("{n} in parallel").format(n=count_text(started.at_once))
    parts = [started.function, at_once, timeout, memory]
    return " \u00b7 ".join(part for part in parts if part)


def _cell(fold: AttemptState, n_tries: int) -> FoldCell:
    share = fold.share or 0.0
    is_estimate = False
    if fold.is_running and fold.share is None and fold.forecast_s and fold.seconds:
        share = min(0.95, fold.seconds / fold.forecast_s)
        is_estimate = True
    if fold.tone in ("crit", "ok"):
        share = 1.0
    text = fold_text(fold)
    left = _time_left_text(fold)
    return FoldCell(
        fold=fold.fold,
        run=fold.run,
        icon=fold.icon,
        tone=fold.tone,
        share=share,
        is_estimate=is_estimate,
        has_more=n_tries > 1,
        description=f"{text} \u00b7 {left}" if left else text,
    )


def _time_left_text(fold: AttemptState) -> str:
    if not fold.is_running or fold.forecast_s is None or fold.seconds is None:
        return ""
    left = duration_text(max(0.0, fold.forecast_s - fold.seconds))
    return tr("about {time} left").format(time=left)


def study_progress_text(study: RunSummary) -> str:
    """Progress of a study: "3 of 10 folds · 1 running · 1 retried · 1 killed"."""
    tally = study.tally
    if tally is None:
        return fold_count_text(study, study.folds)
    parts = [folds_done_text(study, tally)]
    running = 0 if has_ended(study) else tally.running
    for n, template in (
        (running, tr("{n} running")),
        (tally.retried, tr("{n} retried")),
        (tally.pruned, tr("{n} pruned")),
        (tally.too_large, tr("{n} too large")),
        (tally.failed, tr("{n} failed")),
        (tally.out_of_memory, tr("{n} out of memory")),
        (tally.killed - tally.out_of_memory, tr("{n} killed")),
    ):
        if n:
            parts.append(template.format(n=count_text(n)))
    return " \u00b7 ".join(parts)


def folds_done_text(study: RunSummary, tally: StudyTally) -> str:
    """Number of folds that are over: "3 of 10 folds"; of a search without a total, "3 trials"."""
    if not study.folds:
        return fold_count_text(study, tally.over)
    template = tr("{n} of 1 fold") if study.folds == 1 else tr("{n} of {of} folds")
    return template.format(n=count_text(tally.over), of=count_text(study.folds))


def fold_count_text(study: RunSummary, count: int) -> str:
    """Number of a study's folds, or of a search's trials: "1 fold", "12 trials"."""
    if is_search(study):
        template = tr("1 trial") if count == 1 else tr("{n} trials")
    else:
        template = tr("1 fold") if count == 1 else tr("{n} folds")
    return template.format(n=count_text(count))


def study_guide_slug() -> str:
    """Fragment of the link to the guide's section about this page."""
    return heading_slug(tr("In the window"))
