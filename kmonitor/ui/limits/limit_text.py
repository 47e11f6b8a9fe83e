"""Metrics, limits and their actions as text."""

import re
from typing import Final

from kmonitor.ui.text.formats import (
    NARROW_SPACE,
    Unit,
    amount_text,
    bytes_text,
    count_text,
    percent_text,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.commands import (
    STEP_TIME_METRICS,
    LimitAction,
    LimitMetric,
    LimitSpec,
)

METRIC_UNITS: Final[dict[LimitMetric, Unit]] = {
    "ram": "bytes",
    "vram": "bytes",
    "graph": "operations",
    **dict.fromkeys(STEP_TIME_METRICS, "seconds"),
    "epoch_time": "seconds",
    "functions": "functions",
    "open_files": "count",
    "threads": "count",
    "processes": "count",
    "shared_memory": "bytes",
    "disk": "bytes",
    "temp_disk": "bytes",
}

_RAW_LIMIT: Final = re.compile(
    r"limit (?P<metric>ram|vram|graph|functions) (?P<value>[0-9]+(\.[0-9]+)?(e\+[0-9]{2})?)"
)
"""Limits as named by agents before 0.2: the number as `format` writes it in short."""

_NAMES: Final[dict[LimitMetric, str]] = {
    "ram": later("RAM"),
    "vram": later("VRAM"),
    "graph": later("Graph size"),
    "step_time": later("Step time"),
    "step_time_mean": later("Mean step time"),
    "step_time_p95": later("Step time, 95th percentile"),
    "step_time_p99": later("Step time, 99th percentile"),
    "step_time_max": later("Longest step"),
    "epoch_time": later("Epoch time"),
    "functions": later("Functions"),
    "open_files": later("Open file descriptors"),
    "threads": later("Threads"),
    "processes": later("Child processes"),
    "shared_memory": later("Shared memory"),
    "disk": later("Disk"),
    "temp_disk": later("Temporary files"),
}

_ACTIONS: Final[dict[LimitAction, str]] = {
    "notify": later("notify"),
    "save": later("save"),
    "collect": later("collect"),
    "reload": later("reload"),
    "restart": later("restart"),
    "auto": later("auto"),
    "stop": later("stop"),
}


def metric_name(metric: LimitMetric) -> str:
    return tr(_NAMES[metric])


def metric_name_in_sentence(metric: LimitMetric) -> str:
    """Name of a metric within a sentence: "RAM", "graph size"."""
    name = metric_name(metric)
    return name if name.isupper() else name[:1].lower() + name[1:]


def metric_amount(metric: LimitMetric, value: float) -> str:
    return amount_text(value, METRIC_UNITS[metric])


def round_amount(metric: LimitMetric, value: float) -> str:
    """Amount of a limit, as the user set it: "72 GiB", where a measured value reads "72.0 GiB"."""
    return metric_amount(metric, value).replace(f".0{NARROW_SPACE}", NARROW_SPACE)


def limit_action_name(action: LimitAction) -> str:
    """Action of a limit in one word."""
    return tr(_ACTIONS[action])


def limit_action_text(action: LimitAction) -> str:
    """Action of a limit as a choice: "Collect: release retained traces"."""
    texts: dict[LimitAction, str] = {
        "notify": tr("Notify only"),
        "save": tr("Save a checkpoint"),
        "collect": tr("Collect: release retained traces"),
        "reload": tr("Save + Clear + Reload"),
        "auto": tr("Auto: collect, then reload or restart if needed"),
        "restart": tr("Restart the process and continue"),
        "stop": tr("Stop training"),
    }
    return texts[action]


def threshold_text(limit: LimitSpec) -> str:
    """Threshold of a limit: "12 GiB" or "80%"."""
    if limit.fraction is not None:
        return percent_text(limit.fraction)
    return round_amount(limit.metric, limit.value or 0.0)


def limit_summary(limit: LimitSpec) -> str:
    """Limit with its action: "RAM 80%, reload"."""
    return (
        f"{metric_name(limit.metric)} {threshold_text(limit)}, {limit_action_name(limit.action)}"
    )


def requester_text(requester: str) -> str:
    """Requester of an action; a limit reads with its size, also if an older agent wrote raw bytes.

    Args:
        requester: As stored: "limit ram 5.77765e+08", "limit ram 551 MiB", "script", a user's
            name.
    """
    match = _RAW_LIMIT.fullmatch(requester)
    if match is None:
        return translated_text(requester)
    metric = match["metric"]
    value = float(match["value"])
    amount = bytes_text(value) if metric in ("ram", "vram") else count_text(value)
    return translated_text(f"limit {metric} {amount.replace(f'.0{NARROW_SPACE}', NARROW_SPACE)}")


def threshold_value(limit: LimitSpec, of: float | None) -> float | None:
    """Threshold of a limit in the metric's unit; None for a fraction of an unknown total.

    Args:
        of: Total that bounds the metric, same unit; None if nothing bounds it.
    """
    if limit.fraction is None:
        return limit.value
    return None if of is None else limit.fraction * of
