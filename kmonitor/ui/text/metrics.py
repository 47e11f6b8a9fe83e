"""Names, units and amounts of the metrics that limits and verdicts refer to."""

from typing import Final

from kmonitor.ui.text.formats import Unit, amount_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.commands import STEP_TIME_METRICS, LimitMetric
from kmonitor_agent.wire.messages.unions import RunSummary

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


def metric_name(metric: LimitMetric, *, on_host: bool = False) -> str:
    """Name of a metric: "RAM", "Graph size".

    Args:
        on_host: True if VRAM is memory of the host, handed out by the CPU's allocator.
    """
    if on_host and metric == "vram":
        return tr("Framework allocator (CPU)")
    return tr(_NAMES[metric])


def is_on_host(run: RunSummary, metric: LimitMetric) -> bool:
    """True if VRAM is memory of the host: the framework's allocator serves the CPU."""
    return metric == "vram" and "cpu" in run.vram.source.casefold()


def metric_name_of(run: RunSummary, metric: LimitMetric) -> str:
    """Name of a metric in a run: without a GPU, VRAM is that of the framework's allocator."""
    return metric_name(metric, on_host=is_on_host(run, metric))


def metric_name_in_sentence(metric: LimitMetric, *, on_host: bool = False) -> str:
    """Name of a metric within a sentence: "RAM", "graph size"."""
    name = metric_name(metric, on_host=on_host)
    return name if name.isupper() else name[:1].lower() + name[1:]


def metric_amount(metric: LimitMetric, value: float) -> str:
    return amount_text(value, METRIC_UNITS[metric])
