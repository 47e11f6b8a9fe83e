"""Limits as they are typed: `ram=80%:reload`, `graph=50k`, `vram=off`."""

from collections.abc import Sequence

import msgspec

from kmonitor.base.errors import Expected
from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.messages.commands import (
    LIMIT_METRICS,
    LimitMetric,
    LimitSpec,
    SetLimits,
)

OFF = "off"
"""Stands where a threshold would, to take a metric's limit away."""

_EXAMPLE = "For example: kmonitor command last set_limits ram=80%:reload step_time='250 ms'"


def limits_from(words: Sequence[str], *, set_by: str) -> SetLimits:
    """The arguments of `set_limits`.

    Args:
        words: Each METRIC=THRESHOLD, METRIC=THRESHOLD:ACTION or METRIC=off.
        set_by: Who sets them.

    Raises:
        Expected: There are none, or one makes no sense; says what to write.
    """
    if not words:
        raise Expected("set_limits needs at least one limit.", _EXAMPLE)
    metrics: dict[LimitMetric, None] = {}
    limits: list[LimitSpec] = []
    for word in words:
        metric, spec = _one(word)
        metrics[metric] = None
        if spec is not None:
            limits.append(msgspec.structs.replace(spec, set_by=set_by))
    return SetLimits(metrics=list(metrics), limits=limits)


def _one(word: str) -> tuple[LimitMetric, LimitSpec | None]:
    metric, equals, rest = word.partition("=")
    threshold, _, action = rest.partition(":")
    if not equals or metric not in LIMIT_METRICS:
        known = ", ".join(LIMIT_METRICS)
        raise Expected(f'"{word}" is no limit; it begins with one of {known} and "=".', _EXAMPLE)
    if threshold.strip() == OFF:
        return metric, None
    try:
        limit = Limit(metric, _threshold(threshold), action=action or "notify")
    except (ValueError, TypeError) as exc:
        raise Expected(f'"{word}" is no limit: {exc}', _EXAMPLE) from exc
    return metric, limit.spec


def _threshold(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
