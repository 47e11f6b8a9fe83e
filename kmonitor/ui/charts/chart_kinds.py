"""Kinds of charts, the four metrics and all others: columns, units and names.

A new chart of a sampled column is a row in `_MEASURED` and a name in `_titles`. The column itself
is a field of `Sample` (`wire/messages/readings.py`), filled by a generator of fields in
`recording/sampler.py` or `probes/resources.py` of the agent. Its name in the list of readings is
in `_GROUPS` of `runs/readings.py`; a row of `hub/metrics/metric_table.py` exports it. A chart that
is not a curve has a builder of its own, like that of an epoch's parts (`epoch_parts_chart`), which
`extra_charts` asks for its key.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from kmonitor.ui.text.formats import Unit
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_name
from kmonitor_agent.wire.messages.commands import STEP_TIME_METRICS, LimitMetric
from kmonitor_agent.wire.messages.events import EPOCH_PARTS
from kmonitor_agent.wire.messages.readings import (
    EPOCH_PREFIX,
    EPOCH_SECONDS,
    LEARNING_RATE,
    MAX_COLUMN,
    NATIVE_BYTES,
    STEP_LOG_PREFIX,
    parse_device_column,
    part_column,
    step_time_column,
)

ChartGroup = Literal["memory", "resources", "graph", "time", "training", "gpu"]
STANDARD_METRICS: Final[tuple[LimitMetric, ...]] = ("vram", "ram", "graph", "step_time")
"""Charts that every run has; limits and verdicts belong to these."""

LOG_PREFIX: Final = "log:"
PARTS_KEY: Final = part_column("compute")
"""Key of the chart of all parts of an epoch's time: the column that every run with parts has."""

_STANDARD_GROUPS: Final[dict[LimitMetric, ChartGroup]] = {
    "vram": "memory",
    "ram": "memory",
    "graph": "graph",
    "step_time": "time",
}
_VALIDATION: Final = "val_"

_TAILS: Final[tuple[LimitMetric, ...]] = tuple(
    metric for metric in STEP_TIME_METRICS if metric != "step_time"
)

_MEASURED: Final[tuple[tuple[str, ChartGroup, Unit], ...]] = (
    ("ram_process_bytes", "memory", "bytes"),
    ("ram_file_bytes", "memory", "bytes"),
    ("ram_unique_bytes", "memory", "bytes"),
    ("ram_children_bytes", "memory", "bytes"),
    ("cgroup_used_bytes", "memory", "bytes"),
    ("host_available_bytes", "memory", "bytes"),
    ("allocator_in_use_bytes", "memory", "bytes"),
    ("allocator_peak_bytes", "memory", "bytes"),
    (NATIVE_BYTES, "memory", "bytes"),
    ("ram_left_bytes", "resources", "bytes"),
    ("vram_left_bytes", "resources", "bytes"),
    ("swapped_bytes", "resources", "bytes"),
    ("open_files", "resources", "count"),
    ("threads", "resources", "count"),
    ("processes", "resources", "count"),
    ("zombies", "resources", "count"),
    ("shared_memory_bytes", "resources", "bytes"),
    ("disk_used_bytes", "resources", "bytes"),
    ("temp_disk_used_bytes", "resources", "bytes"),
    ("major_faults", "resources", "count"),
    ("memory_pressure_fraction", "resources", "fraction"),
    ("io_pressure_fraction", "resources", "fraction"),
    ("cpu_cores", "time", "number"),
    ("children_cpu_cores", "time", "number"),
    ("cpu_throttled_fraction", "time", "fraction"),
    ("cpu_wait_fraction", "time", "fraction"),
    ("disk_wait_fraction", "time", "fraction"),
    ("cpu_clock_hz", "time", "hertz"),
    ("functions", "graph", "functions"),
    ("code_regions", "graph", "number"),
    (EPOCH_SECONDS, "time", "seconds"),
    *((step_time_column(metric), "time", "seconds") for metric in _TAILS),
    (PARTS_KEY, "time", "seconds"),
    (LEARNING_RATE, "training", "number"),
    ("device_utilisation_fraction", "gpu", "fraction"),
    ("device_temperature_c", "gpu", "celsius"),
    ("device_power_w", "gpu", "watts"),
    ("device_used_bytes", "gpu", "bytes"),
    ("device_process_bytes", "gpu", "bytes"),
)
_OF_DEVICE: Final[dict[str, Unit]] = {
    "utilisation_fraction": "fraction",
    "temperature_c": "celsius",
    "power_w": "watts",
    "used_bytes": "bytes",
}
_LOWER: Final = re.compile(
    r"loss|error|entropy|divergence|perplexity|(^|_)(mse|mae|rmse|mape|msle|kld)($|_)"
)
_HIGHER: Final = re.compile(
    r"accuracy|(^|_)(acc|auc|f1|iou|dice|r2|psnr|ssim|bleu|map|top\d*)($|_)|precision|recall"
    r"|f1_?score|fbeta|similarity|specificity|sensitivity|_at_"
)


@dataclass(frozen=True, slots=True)
class ChartKind:
    """A chart that can be shown.

    Attributes:
        key: Name of the chart, also in saved arrangements: a metric, or its first column.
        group: Group of the chart in the menu.
        columns: Columns drawn: the first solid, a second (validation) dashed; for `PARTS_KEY` all
            are stacked, the first lowest.
        within: Column of the same values within epochs, where Keras reports it; empty: none.
        log: Name of the Keras log; empty if the chart shows no log.
    """

    key: str
    group: ChartGroup
    unit: Unit
    columns: tuple[str, ...]
    within: str = ""
    log: str = ""

    @property
    def requested_columns(self) -> tuple[str, ...]:
        """All columns that the chart may draw."""
        return (*self.columns, self.within) if self.within else self.columns

    @property
    def is_of_epochs(self) -> bool:
        """True if the chart has one value per epoch."""
        return self.columns[0].startswith((LOG_PREFIX, EPOCH_PREFIX))


def standard_metric(key: str) -> LimitMetric | None:
    """Metric of a chart that can have limits and verdicts; None for any other chart."""
    return next((metric for metric in STANDARD_METRICS if metric == key), None)


def chart_kind(key: str) -> ChartKind | None:
    """Chart of this key; None for a key without a chart in this version."""
    metric = standard_metric(key)
    if metric is not None:
        return ChartKind(key, _STANDARD_GROUPS[metric], METRIC_UNITS[metric], (key,))
    if key.startswith(LOG_PREFIX) and len(key) > len(LOG_PREFIX):
        return _log_kind(key.removeprefix(LOG_PREFIX))
    device = parse_device_column(key)
    if device is not None:
        return ChartKind(key, "gpu", _OF_DEVICE[device[1]], (key,))
    if key == PARTS_KEY:
        return ChartKind(key, "time", "seconds", tuple(map(part_column, EPOCH_PARTS)))
    found = next((each for each in _MEASURED if each[0] == key), None)
    return None if found is None else ChartKind(key, found[1], found[2], (key,))


def judged_metric(key: str) -> LimitMetric | None:
    """Metric whose verdict a chart shows; None for a chart without a verdict."""
    return "epoch_time" if key == PARTS_KEY else standard_metric(key)


def chart_title(key: str) -> str:
    """Title of a chart; for a log the name that the script gave it."""
    metric = standard_metric(key)
    device = parse_device_column(key)
    if metric is not None:
        return metric_name(metric)
    if device is not None:
        return _device_titles()[device[1]].format(n=device[0])
    if key.startswith(LOG_PREFIX):
        return key.removeprefix(LOG_PREFIX)
    return _titles().get(key, key)


def group_title(group: ChartGroup) -> str:
    """Heading of a group in the menu."""
    titles: dict[ChartGroup, str] = {
        "memory": tr("Memory"),
        "resources": tr("Resources"),
        "graph": tr("Graph"),
        "time": tr("Time"),
        "training": tr("Training metrics"),
        "gpu": tr("GPU"),
    }
    return titles[group]


def available_chart_kinds(have: Collection[str]) -> list[ChartKind]:
    """Charts that can be drawn from columns, in menu order; always includes the standard four.

    Args:
        have: Columns with at least one reading.
    """
    keys: list[str] = [*STANDARD_METRICS, *_log_keys(have)]
    keys += [column for column, *_ in _MEASURED if column in have]
    keys += sorted(column for column in have if parse_device_column(column) is not None)
    kinds = [kind for key in keys if (kind := chart_kind(key)) is not None]
    group_order = get_args(ChartGroup)
    return sorted(kinds, key=lambda kind: group_order.index(kind.group))


def better_direction(log: str) -> Literal["lower", "higher"] | None:
    """Direction in which a log improves, guessed from its name; None: the name does not say."""
    name = log.casefold()
    if _LOWER.search(name):
        return "lower"
    return "higher" if _HIGHER.search(name) else None


def _log_kind(name: str) -> ChartKind:
    columns = [f"{LOG_PREFIX}{name}"[:MAX_COLUMN]]
    if not name.startswith(_VALIDATION):
        columns.append(f"{LOG_PREFIX}{_VALIDATION}{name}"[:MAX_COLUMN])
    within = f"{STEP_LOG_PREFIX}{name}"[:MAX_COLUMN]
    return ChartKind(columns[0], "training", "number", tuple(columns), within, name)


def _log_keys(have: Iterable[str]) -> list[str]:
    """Chart keys of logs: validation shares its log's chart; step-only logs have their own."""
    prefixes = (LOG_PREFIX, STEP_LOG_PREFIX)
    names = {
        column.removeprefix(prefix)
        for column in have
        for prefix in prefixes
        if column.startswith(prefix)
    }
    plain = sorted(
        (
            name
            for name in names
            if not (name.startswith(_VALIDATION) and name.removeprefix(_VALIDATION) in names)
        ),
        key=lambda name: (name != "loss", name.casefold()),
    )
    return [f"{LOG_PREFIX}{name}"[:MAX_COLUMN] for name in plain]


def _titles() -> dict[str, str]:
    return {
        "ram_process_bytes": tr("RAM, this process"),
        "ram_file_bytes": tr("RAM, file-backed pages"),
        "ram_unique_bytes": tr("RAM, unique set size (USS)"),
        "ram_children_bytes": tr("RAM, children"),
        "cgroup_used_bytes": tr("RAM, cgroup"),
        "host_available_bytes": tr("Available on the host"),
        "allocator_in_use_bytes": tr("Allocator, in use"),
        "allocator_peak_bytes": tr("Allocator, peak"),
        NATIVE_BYTES: tr("Native memory in use"),
        "ram_left_bytes": tr("RAM left"),
        "vram_left_bytes": tr("VRAM left"),
        "swapped_bytes": tr("Swapped out"),
        "open_files": tr("Open file descriptors"),
        "threads": tr("Threads"),
        "processes": tr("Child processes"),
        "zombies": tr("Zombies"),
        "shared_memory_bytes": tr("Shared memory"),
        "disk_used_bytes": tr("Disk space used"),
        "temp_disk_used_bytes": tr("Space used on the temp disk"),
        "major_faults": tr("Major page faults"),
        "memory_pressure_fraction": tr("Memory pressure"),
        "io_pressure_fraction": tr("I/O pressure"),
        "cpu_cores": tr("CPUs in use"),
        "children_cpu_cores": tr("CPUs in use, children"),
        "cpu_throttled_fraction": tr("CPU throttled"),
        "cpu_wait_fraction": tr("Waiting for a CPU"),
        "disk_wait_fraction": tr("Waiting for disk"),
        "cpu_clock_hz": tr("CPU clock"),
        "functions": tr("Registered functions"),
        "code_regions": tr("Compiled code regions"),
        EPOCH_SECONDS: tr("Epoch time"),
        **{step_time_column(metric): metric_name(metric) for metric in _TAILS},
        PARTS_KEY: tr("Where the time goes"),
        LEARNING_RATE: tr("Learning rate"),
        "device_utilisation_fraction": tr("GPU utilization"),
        "device_temperature_c": tr("GPU temperature"),
        "device_power_w": tr("GPU power"),
        "device_used_bytes": tr("VRAM, all processes"),
        "device_process_bytes": tr("VRAM, this process"),
    }


def _device_titles() -> dict[str, str]:
    return {
        "utilisation_fraction": tr("GPU {n} utilization"),
        "temperature_c": tr("GPU {n} temperature"),
        "power_w": tr("GPU {n} power"),
        "used_bytes": tr("GPU {n} VRAM, all processes"),
    }
