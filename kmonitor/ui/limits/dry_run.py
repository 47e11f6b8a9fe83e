"""Dry run of a limit: how often its action would have run, counted in measured values."""

import math
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from kmonitor.ui.limits.limit_text import limit_action_name, round_amount
from kmonitor.ui.text.formats import duration_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.limit_watch import LimitWatch
from kmonitor_agent.wire.messages.commands import LimitAction, LimitMetric, LimitSpec

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DryRun:
    """Result of a dry run.

    Attributes:
        acted_s: Times of the actions, as in the readings, seconds.
        crossings: Number of times that the metric stayed above the limit for the hold time; once
            it has, further ones count only after a release.
        span_s: Measured time, seconds.
        was_above: True if a reading was above the limit, for however short a time.
    """

    acted_s: tuple[float, ...]
    crossings: int
    span_s: float
    was_above: bool = False


def dry_run(t_s: Floats, values: Floats, limit: LimitSpec) -> DryRun:
    """Give measured values to the watch that judges them in a training.

    The effect of the action is not known: values continue as measured. So the result is an
    estimate. The levels of `auto` depend on what each of them freed, so they count as one action.
    The first `stop` is the last action.

    Args:
        t_s: Increasing times `[n]`, seconds.
        values: Values `[n]` at `t_s`, in the metric's unit; NaN where nothing was measured.
        limit: With a value; not a percentage, whose whole may have changed since.
    """
    is_read = ~np.isnan(values)
    t_s = t_s[is_read]
    values = values[is_read]
    if not len(t_s):
        return DryRun((), 0, 0.0)
    span_s = float(t_s[-1] - t_s[0])
    above = np.flatnonzero(values > (math.inf if limit.value is None else limit.value))
    first = int(above[0]) if len(above) else len(t_s)  # no earlier reading changes anything
    watch = LimitWatch(_as_one_action(limit))
    acted_s: list[float] = []
    crossings = 0
    for now_s, value in zip(t_s[first:].tolist(), values[first:].tolist(), strict=True):
        was_crossed = watch.is_crossed
        event = watch.observe(value, None, now_s)
        if event is not None and event.crossed:
            crossings += not was_crossed
            if event.answered:
                acted_s.append(now_s)
                watch.reset_base()
                if limit.action == "stop":
                    break
    return DryRun(tuple(acted_s), crossings, span_s, was_above=bool(len(above)))


def _as_one_action(limit: LimitSpec) -> LimitSpec:
    is_auto = limit.action == "auto"
    return msgspec.structs.replace(limit, action="collect") if is_auto else limit


def dry_run_text(
    found: DryRun,
    *,
    metric: LimitMetric,
    threshold: float,
    action: LimitAction,
    hold_s: float = 0.0,
) -> str:
    """Describe the result in one sentence."""
    limit = round_amount(metric, threshold)
    span = duration_text(found.span_s)
    if not found.acted_s and found.was_above:
        return tr("In the {span} measured, {limit} was never exceeded for {hold}.").format(
            span=span, limit=limit, hold=duration_text(hold_s)
        )
    if not found.acted_s:
        return tr("In the {span} measured, {limit} was never exceeded.").format(
            span=span, limit=limit
        )
    n = found.crossings
    times = tr("once") if n == 1 else tr("{n} times").format(n=n)
    return tr(
        "In the {span} measured, {limit} was exceeded {times}:"
        " about {n}\u00a0\u00d7\u00a0{action}."
    ).format(
        span=span,
        limit=limit,
        times=times,
        n=len(found.acted_s),
        action=limit_action_name(action),
    )
