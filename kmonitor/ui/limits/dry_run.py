"""Dry run of a limit: how often its action would have run, counted in measured values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kmonitor.ui.limits.limit_text import limit_action_name, round_amount
from kmonitor.ui.text.formats import duration_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.commands import LimitAction, LimitMetric

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DryRun:
    """Result of a dry run.

    Attributes:
        n: Number of actions.
        span_s: Measured time, seconds.
    """

    n: int
    span_s: float


def dry_run(
    t_s: Floats, values: Floats, *, threshold: float, hold_s: float, cool_down_s: float
) -> DryRun:
    """Count how often values stay above a threshold for the hold time, once per cool-down.

    The effect of the action is not known: values continue as measured. So the result is an
    estimate, and a low one if the metric would have grown again after the action.

    Args:
        t_s: Increasing times `[n]`, seconds.
        values: Values `[n]` at `t_s`; NaN where nothing was measured.
        threshold: In the unit of `values`.
        hold_s: Minimum time above the threshold, seconds.
        cool_down_s: Minimum time from one action to the next, seconds.
    """
    is_read = ~np.isnan(values)
    t_s = t_s[is_read]
    values = values[is_read]
    if not len(t_s):
        return DryRun(0, 0.0)
    is_above = values > threshold
    rises = np.flatnonzero(is_above & ~np.concatenate(([False], is_above[:-1])))
    falls = np.flatnonzero(is_above & ~np.concatenate((is_above[1:], [False])))
    n = 0
    last_s = -np.inf
    for rise, fall in zip(rises, falls, strict=True):
        held = np.flatnonzero(t_s[rise : fall + 1] - t_s[rise] >= hold_s)
        if len(held) and t_s[rise + held[0]] - last_s >= cool_down_s:
            n = n + 1
            last_s = float(t_s[rise + held[0]])
    return DryRun(n, float(t_s[-1] - t_s[0]))


def dry_run_text(
    found: DryRun, *, metric: LimitMetric, threshold: float, action: LimitAction
) -> str:
    """Describe the result in one sentence."""
    limit = round_amount(metric, threshold)
    span = duration_text(found.span_s)
    if not found.n:
        return tr("In the {span} measured, {limit} was never exceeded.").format(
            span=span, limit=limit
        )
    times = tr("once") if found.n == 1 else tr("{n} times").format(n=found.n)
    return tr(
        "In the {span} measured, {limit} was exceeded {times}:"
        " about {n}\u00a0\u00d7\u00a0{action}."
    ).format(span=span, limit=limit, times=times, n=found.n, action=limit_action_name(action))
