"""Limits as written in scripts, checked, and as text. Pure: no clock, no IO."""

import math
import re
from dataclasses import dataclass
from typing import Final, cast, get_args

from kmonitor_agent.wire.messages.commands import (
    LIMIT_ACTIONS,
    LIMIT_METRICS,
    STEP_TIME_METRICS,
    LimitAction,
    LimitMetric,
    LimitSpec,
    SetLimits,
)
from kmonitor_agent.wire.text import round_binary_size

_BINARY: Final = {"K": 10, "M": 20, "G": 30, "T": 40}
_BYTES: Final = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
    # As Docker and Kubernetes write them.
    **{f"{unit}{i}": 2**power for unit, power in _BINARY.items() for i in ("", "I")},
}
_SECONDS: Final = {"US": 1e-6, "MS": 1e-3, "S": 1.0, "MIN": 60.0}
_COUNTS: Final = {"": 1, "K": 10**3, "M": 10**6}
_UNITS: Final[dict[str, dict[str, float]]] = {
    "ram": {**_BYTES},
    "vram": {**_BYTES},
    "graph": {**_COUNTS},
    "functions": {**_COUNTS},
    **{metric: {**_SECONDS} for metric in (*STEP_TIME_METRICS, "epoch_time")},
    "open_files": {**_COUNTS},
    "threads": {**_COUNTS},
    "processes": {**_COUNTS},
    "shared_memory": {**_BYTES},
    "disk": {**_BYTES},
    "temp_disk": {**_BYTES},
}
_OF_BYTES: Final = frozenset({"ram", "vram", "shared_memory", "disk", "temp_disk"})
_COUNTED: Final = frozenset({"open_files", "threads", "processes"})

BOUNDED_METRICS: Final = _OF_BYTES | _COUNTED
"""Metrics that are a part of something, and so have percentages."""

_EXAMPLES: Final = {
    "ram": '"80%", "12 GiB" or a number of bytes',
    "vram": '"80%", "12 GiB" or a number of bytes',
    "graph": '"50 k" or a number of operations',
    "functions": "a number of functions",
    "step_time": '"250 ms", "1.5 s" or a number of seconds, for the median of an epoch\'s steps',
    **dict.fromkeys(
        (*(metric for metric in STEP_TIME_METRICS if metric != "step_time"), "epoch_time"),
        '"250 ms", "1.5 s" or a number of seconds',
    ),
    "open_files": '"80%" or a number of open file descriptors',
    "threads": '"80%" or a number of threads',
    "processes": '"80%" or a number of processes',
    "shared_memory": '"80%", "2 GiB" or a number of bytes',
    "disk": '"95%", "900 GiB" or a number of bytes',
    "temp_disk": '"95%", "20 GiB" or a number of bytes',
}
_WRITTEN: Final = re.compile(r"\s*([0-9][0-9_ ]*(?:\.[0-9]+)?)\s*([A-Za-z]*|%)\s*")
_SMALLEST_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True, init=False)
class Limit:
    """A limit for `MonitorCallback(limits=[...])`: `Limit("ram", "80%", action="reload")`.

    A limit is exceeded when its metric stays above the threshold for `hold_s`. It is released when
    the metric falls to 95% of the threshold. While it stays exceeded, it acts again only after
    `cooldown_s`, and only if the metric has grown by another 5% of the threshold since the last
    action. Otherwise it would act forever, because freed memory often stays with the process.

    Attributes:
        spec: The checked limit, as sent to the hub.
    """

    spec: LimitSpec

    def __init__(
        self,
        metric: str,
        threshold: str | float = "",
        *,
        action: str = "notify",
        hold_s: float = 0.0,
        cooldown_s: float = 60.0,
    ) -> None:
        """Check the arguments.

        Args:
            metric: "ram", "vram", "graph", "functions", "step_time" (the median of an epoch, which
                a few slow steps do not change), "step_time_mean", "step_time_p95",
                "step_time_p99", "step_time_max" (the longest), "epoch_time", "open_files",
                "threads", "processes", "shared_memory", "disk" or "temp_disk".
            threshold: "80%" (not for graph, functions and step times), "12 GiB", "250 ms", "50 k",
                or a number of bytes, operations, functions, files, threads, processes or seconds.
                A percentage of ram refers to the available memory: what the process holds and
                what it can still get.
            action: "notify", "save", "collect", "reload", "restart" (under `kmonitor run`),
                "auto" (collect, then reload, then restart, each only if the one before did not
                help) or "stop".
            hold_s: Time that the metric must stay above the threshold, seconds, 0 to 1e9.
            cooldown_s: Minimum time between two actions, seconds, 0 to 1e9.

        Raises:
            ValueError: An argument is not valid or out of its range; the message says what to
                write.
            TypeError: `threshold` is missing, or is neither a string nor a number.
        """
        _one_of("metric", metric, LIMIT_METRICS)
        _one_of("action", action, LIMIT_ACTIONS)
        if threshold == "":
            written = f'use Limit("{metric}", ...) with {_EXAMPLES[metric]}.'
            raise TypeError(f"Limit: the threshold for {metric} is missing; {written}")
        value, fraction = _threshold(metric, threshold)
        spec = LimitSpec(
            metric=cast("LimitMetric", metric),
            value=value,
            fraction=fraction,
            action=cast("LimitAction", action),
            hold_s=_duration("hold_s", hold_s),
            cooldown_s=_duration("cooldown_s", cooldown_s),
        )
        object.__setattr__(self, "spec", spec)


def limit_text(spec: LimitSpec) -> str:
    """A limit in a few words for records: "limit ram 80%"."""
    if spec.fraction is not None:
        return f"limit {spec.metric} {100 * spec.fraction:g}%"
    if spec.value is None:
        return "limit"
    return f"limit {spec.metric} {limit_amount_text(spec.metric, spec.value)}"


def limit_amount_text(metric: str, value: float) -> str:
    """A value of a metric with its unit, "12 GiB"."""
    if metric in STEP_TIME_METRICS or metric == "epoch_time":
        return _seconds_text(value)
    if metric in _OF_BYTES:
        return round_binary_size(value)
    return f"{value:,.0f}".replace(",", " ")


def _seconds_text(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:g} {unit}"
    return f"{seconds / 1e-6:g} µs"


def _one_of(argument: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        listed = ", ".join(f'"{name}"' for name in known)
        raise ValueError(f"Limit: {argument}={value!r} is not valid; use one of {listed}.")


def _threshold(metric: str, threshold: object) -> tuple[float | None, float | None]:
    """Value in the metric's unit, or fraction; exactly one of them."""
    if isinstance(threshold, str):
        return _from_text(metric, threshold)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise TypeError(
            f"Limit: threshold={threshold!r} is not a number; use {_EXAMPLES[metric]}."
        )
    try:
        return _checked(metric, float(threshold)), None
    except OverflowError:  # an int beyond what a float can be
        return _checked(metric, math.inf), None


def _from_text(metric: str, text: str) -> tuple[float | None, float | None]:
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise _not_understood(metric, text)
    number = float(match[1].replace("_", "").replace(" ", ""))
    if match[2] == "%":
        return None, _fraction(metric, number)
    scale = _UNITS[metric].get(match[2].upper())
    if scale is None:
        raise _not_understood(metric, text)
    return _checked(metric, number * scale), None


def _not_understood(metric: str, text: str) -> ValueError:
    return ValueError(f'Limit: "{text}" is not a threshold for {metric}; use {_EXAMPLES[metric]}.')


def _fraction(metric: str, percent: float) -> float:
    if metric not in BOUNDED_METRICS:
        raise ValueError(
            f"Limit: {metric} has no upper bound, so a percentage cannot be used; use"
            f" {_EXAMPLES[metric]}."
        )
    if not 0 < percent <= 100:  # noqa: PLR2004 - percent
        raise ValueError(f"Limit: {percent:g}% is not between 0% and 100%; use 80%, for example.")
    return percent / 100


def _checked(metric: str, value: float) -> float:
    if not (math.isfinite(value) and 0 < value <= 1e18):  # noqa: PLR2004 - `Amount`'s bound
        raise ValueError(f"Limit: {value!r} is not a threshold; use {_EXAMPLES[metric]}.")
    if metric in _COUNTED | {"graph", "functions"} and not value.is_integer():
        raise ValueError(
            f"Limit: {metric} requires a whole number, not {value:g}; use {_EXAMPLES[metric]}."
        )
    if metric in _OF_BYTES and value < _SMALLEST_BYTES:
        raise ValueError(
            f"Limit: {value:g} bytes is below 1 MiB; use {_EXAMPLES[metric]} (use a percentage for"
            " a fraction)."
        )
    return value


def _duration(argument: str, seconds: object) -> float:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= cast("float", seconds) <= 1e9:  # noqa: PLR2004 - 30 years
        raise ValueError(
            f"Limit: {argument}={seconds!r} is not valid; use a number of seconds, 0 or more."
        )
    return float(cast("float", seconds))


assert set(_UNITS) == set(get_args(LimitMetric))  # noqa: S101 - a metric without units is a slip


def why_limits_invalid(wanted: SetLimits) -> str:
    """Why limits from a command make no sense; empty when they do."""
    for spec in wanted.limits:
        if (spec.value is None) == (spec.fraction is None):
            return f"the limit on {spec.metric} needs either a value or a percentage"
        if spec.fraction is not None and spec.metric not in BOUNDED_METRICS:
            return (
                f"{spec.metric} has no upper bound here: set an absolute value instead of a"
                " percentage"
            )
        if spec.metric not in wanted.metrics:
            return f"{spec.metric} is not among the metrics whose limits are to be replaced"
    return ""
