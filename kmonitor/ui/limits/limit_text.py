"""Limits and their actions as text."""

import re
from typing import Final

from kmonitor.ui.text.formats import (
    NARROW_SPACE,
    bytes_text,
    count_text,
    percent_text,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor.ui.text.metrics import metric_amount, metric_name
from kmonitor_agent.wire.messages.commands import (
    LimitAction,
    LimitMetric,
    LimitSpec,
)

_RAW_LIMIT: Final = re.compile(
    r"limit (?P<metric>ram|vram|graph|functions) (?P<value>[0-9]+(\.[0-9]+)?(e\+[0-9]{2})?)"
)
"""Limits as named by agents before 0.2: the number as `format` writes it in short."""

_ACTIONS: Final[dict[LimitAction, str]] = {
    "notify": later("notify"),
    "save": later("save"),
    "collect": later("collect"),
    "reload": later("reload"),
    "restart": later("restart"),
    "auto": later("auto"),
    "stop": later("stop"),
}


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
