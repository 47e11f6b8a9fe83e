"""Table of the metrics that the hub exports: name, unit, description and source."""

from dataclasses import dataclass
from typing import Final, Literal

RUN: Final = ("run", "name")
"""Labels of every metric of one run: its id, and its readable name."""


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One metric, with a value for each set of its labels.

    Attributes:
        name: Name as in Prometheus, with its unit last; a counter's without "_total".
        unit: Unit as in UCUM ("By", "s", "Cel", "W", "1"); empty for a number of things.
        about: Description for readers of the metric.
        source: Source within kmonitor.
        kind: A gauge may fall, a counter grows from the hub's start on.
    """

    name: str
    unit: str
    about: str
    source: str
    labels: tuple[str, ...] = ()
    kind: Literal["gauge", "counter"] = "gauge"

    @property
    def exposed(self) -> str:
        """Its name on a Prometheus page."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


_SAMPLE: Final = "newest sample"
_SUMMARY: Final = "the run as shown in lists"
_HUB: Final = "the hub"
_ACTIONS: Final = "records of actions"


def _of_sample(name: str, unit: str, about: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_run_{name}", unit, about, _SAMPLE, RUN)


def _of_run(name: str, unit: str, about: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_run_{name}", unit, about, _SUMMARY, (*RUN, *labels))


INFO: Final = _of_run(
    "info", "", "Always 1; its labels describe the run", "host", "backend", "model", "job", "study"
)
STATE: Final = _of_run("state", "", "1 for the current state of the run", "state")
LAST_EVENT: Final = _of_run(
    "last_event_timestamp_seconds", "s", "Time of the newest event that the hub received, UTC"
)
RAM: Final = _of_run(
    "ram_bytes", "By", "Memory that the kernel cannot reclaim, for the process and its children"
)
RAM_LIMIT: Final = _of_run(
    "ram_limit_bytes", "By", "RAM available to the run: what it holds and what is left"
)
VRAM: Final = _of_run(
    "vram_bytes", "By", "VRAM in use, as reported by the allocator or the driver", "source"
)
VRAM_LIMIT: Final = _of_run("vram_limit_bytes", "By", "Limit on vram_bytes", "source")
GRAPH: Final = _of_run("graph_operations", "", "Operations in live traces: graph size")
STEP_TIME: Final = _of_run("step_time_seconds", "s", "Median step time of the last epoch")
STEP_PERCENTILE: Final = _of_run(
    "step_time_percentile_seconds", "s", "Percentiles of the step time", "percent"
)
STEP_MEAN: Final = _of_run("step_time_mean_seconds", "s", "Mean step time of the last epoch")
STEP_MAX: Final = _of_run("step_time_max_seconds", "s", "Longest step in the last epoch")
SLOW_STEPS: Final = _of_run(
    "slow_steps_ratio",
    "1",
    "Fraction of step time taken by steps longer than three times the median",
)
EPOCH_PART: Final = _of_run(
    "epoch_part_seconds", "s", "Duration of the last epoch, by part", "part"
)
EPOCH: Final = _of_run("epoch", "", "Index of the current epoch of the last fit, starting from 0")
PLANNED: Final = _of_run("epochs_planned", "", "Planned epochs in the last fit")
EPOCHS: Final = MetricDefinition(
    "kmonitor_run_epochs_done", "", "Completed epochs across all fits", _SUMMARY, RUN
)
RATE: Final = _of_run("learning_rate", "", "Last known learning rate")
VERDICT: Final = _of_run(
    "verdict", "", "1 for a metric that is growing or suspected of leaking", "metric", "state"
)
FAULTS: Final = _of_run("faults", "", "Internal kmonitor errors in the training process")
GAPS: Final = _of_run("lost_events", "", "Run events that were lost")

EPOCH_LOG: Final = MetricDefinition(
    "kmonitor_run_log",
    "",
    "A value logged by Keras at the end of the last epoch",
    "epoch ends",
    (*RUN, "log"),
)
LOGS_LEFT_OUT: Final = MetricDefinition(
    "kmonitor_run_logs_left_out",
    "",
    "Number of Keras logs that are not exported",
    "epoch ends",
    RUN,
)

RECLAIMS: Final = MetricDefinition(
    "kmonitor_run_reclaims",
    "",
    "Collect, reload and restart actions since the hub started",
    _ACTIONS,
    (*RUN, "action", "result"),
    "counter",
)
RECLAIMED: Final = MetricDefinition(
    "kmonitor_run_reclaimed_bytes",
    "By",
    "Process memory freed by collect, reload and restart actions",
    _ACTIONS,
    RUN,
    "counter",
)
RECLAIMING: Final = MetricDefinition(
    "kmonitor_run_reclaim_seconds", "s", "Time the training process spent waiting for reclaims",
    _ACTIONS, RUN, "counter",
)  # fmt: skip

OF_SAMPLE: Final = {
    "ram_process_bytes": _of_sample("process_bytes", "By", "Memory of the process alone"),
    "ram_file_bytes": _of_sample(
        "file_bytes", "By", "File-backed pages, which the kernel can reclaim"
    ),
    "ram_unique_bytes": _of_sample(
        "unique_bytes", "By", "Unique set size (USS): what would be freed if the process ended"
    ),
    "ram_children_bytes": _of_sample("children_bytes", "By", "Memory of the process's children"),
    "ram_peak_bytes": _of_sample(
        "resident_peak_bytes", "By", "Peak resident set size (RSS) so far"
    ),
    "cgroup_used_bytes": _of_sample(
        "cgroup_used_bytes",
        "By",
        "Memory used by the cgroup that limits the run",
    ),
    "ram_left_bytes": _of_sample(
        "ram_left_bytes", "By", "Memory that the process can still allocate"
    ),
    "swapped_bytes": _of_sample("swapped_bytes", "By", "Swapped-out memory of the process"),
    "vram_left_bytes": _of_sample("vram_left_bytes", "By", "VRAM free on the device"),
    "open_files": _of_sample("open_files", "", "Open file descriptors of the process"),
    "open_files_of": _of_sample("open_files_limit", "", "Limit on open file descriptors"),
    "threads": _of_sample("threads", "", "Threads in the process"),
    "threads_of": _of_sample("threads_limit", "", "Limit on threads"),
    "processes": _of_sample("child_processes", "", "Child processes, including zombies"),
    "processes_of": _of_sample("child_processes_limit", "", "Limit on child processes"),
    "zombies": _of_sample("zombies", "", "Zombie children: exited but never reaped"),
    "shared_memory_bytes": _of_sample(
        "shared_memory_bytes", "By", "Blocks in /dev/shm that the run created or had open"
    ),
    "shared_memory_of_bytes": _of_sample(
        "shared_memory_limit_bytes", "By", "Total shared memory, used and free"
    ),
    "disk_used_bytes": _of_sample(
        "disk_used_bytes", "By", "Space used on the disk that holds the checkpoints"
    ),
    "disk_of_bytes": _of_sample(
        "disk_limit_bytes",
        "By",
        "Total space, used and free, on the disk that holds the checkpoints",
    ),
    "temp_disk_used_bytes": _of_sample(
        "temp_disk_used_bytes", "By", "Space used on the disk that holds temporary files"
    ),
    "temp_disk_of_bytes": _of_sample(
        "temp_disk_limit_bytes",
        "By",
        "Total space, used and free, on the disk that holds temporary files",
    ),
    "major_faults": _of_sample("major_faults", "", "Major page faults of the process"),
    "memory_pressure_fraction": _of_sample(
        "memory_pressure_ratio",
        "1",
        "Fraction of the last 10 s during which tasks waited for memory",
    ),
    "io_pressure_fraction": _of_sample(
        "io_pressure_ratio", "1", "Fraction of the last 10 s during which tasks waited for a disk"
    ),
    "cgroup_high_events": _of_sample(
        "cgroup_high_events", "", "Number of times the cgroup was throttled at memory.high"
    ),
    "device_used_bytes": _of_sample(
        "device_used_bytes", "By", "VRAM used by all processes, as reported by the driver"
    ),
    "device_total_bytes": _of_sample("device_total_bytes", "By", "Total VRAM of the device"),
    "device_process_bytes": _of_sample(
        "device_process_bytes", "By", "VRAM used by this process, as reported by the driver"
    ),
    "device_utilisation_fraction": _of_sample(
        "device_utilisation_ratio", "1", "Fraction of time that the device was busy"
    ),
    "device_temperature_c": _of_sample(
        "device_temperature_celsius", "Cel", "Temperature of the device, as reported by the driver"
    ),
    "device_power_w": _of_sample(
        "device_power_watts", "W", "Power draw of the device, as reported by the driver"
    ),
    "allocator_in_use_bytes": _of_sample(
        "allocator_in_use_bytes", "By", "Memory in use by the framework's allocator"
    ),
    "allocator_peak_bytes": _of_sample(
        "allocator_peak_bytes", "By", "Peak memory of the framework's allocator"
    ),
    "functions": _of_sample(
        "graph_functions", "", "Functions registered with the framework's runtime"
    ),
    "code_regions": _of_sample("code_regions", "", "Compiled code regions"),
    "cpu_cores": _of_sample("cpu_cores", "", "CPUs used by the process"),
    "children_cpu_cores": _of_sample(
        "children_cpu_cores", "", "CPUs used by the process's children"
    ),
    "cpu_throttled_fraction": _of_sample(
        "cpu_throttled_ratio", "1", "Fraction of time that the process's cgroup was throttled"
    ),
    "cpu_wait_fraction": _of_sample(
        "cpu_wait_ratio", "1", "Fraction of time that the main thread waited for a CPU"
    ),
    "disk_wait_fraction": _of_sample(
        "disk_wait_ratio", "1", "Fraction of time that the process waited for the disk"
    ),
    "cpu_clock_hz": _of_sample(
        "cpu_clock_hertz", "Hz", "Clock frequency of the CPU that the process last ran on"
    ),
}
"""Metrics by the field of `Sample`."""


def _of_hub(name: str, unit: str, about: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_{name}", unit, about, _HUB, labels)


def _counted(name: str, unit: str, about: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_{name}", unit, about, _HUB, labels, "counter")


RUNS: Final = _of_hub("runs", "", "Known runs, including ended ones", "state")
LEFT_OUT: Final = _of_hub("runs_left_out", "", "Live runs that are not exported")
HUB_INFO: Final = _of_hub("hub_info", "", "Always 1; a label gives the hub's version", "version")
HUB_STARTED: Final = _of_hub("hub_start_timestamp_seconds", "s", "When the hub started, UTC")
HUB_SNAPSHOT: Final = _of_hub(
    "hub_snapshot_timestamp_seconds", "s", "Time at which these metrics were last updated, UTC"
)
HUB_AGENTS: Final = _of_hub("hub_trainings", "", "Connected training processes")
HUB_VIEWERS: Final = _of_hub("hub_viewers", "", "Connected kmonitor windows")
HUB_ROWS: Final = _of_hub("hub_stored_events", "", "Events in the database")
HUB_DATABASE: Final = _of_hub("hub_database_bytes", "By", "Size of the database")
HUB_RESIDENT: Final = _of_hub("hub_resident_bytes", "By", "Resident set size (RSS) of the hub")
HUB_TROUBLES: Final = _of_hub(
    "hub_troubles", "", "Problems that the hub reports; see kmonitor hub status"
)
HUB_EVENTS: Final = _counted("hub_events", "", "Events received since the hub started")
HUB_RECLAIMS: Final = _counted(
    "reclaims", "", "Reclaims across all runs since the hub started", "action", "result"
)
HUB_CPU: Final = _counted("hub_cpu_seconds", "s", "CPU time of the hub")
HUB_FAULTS: Final = _counted(
    "hub_faults", "", "Internal errors in the hub since it started", "part"
)
HUB_REMOVED: Final = _counted(
    "hub_runs_removed", "", "Runs removed to limit the size of the history"
)
SENT: Final = _counted("hub_otlp_exports", "", "OTLP exports", "result")

METRICS: Final[tuple[MetricDefinition, ...]] = (
    *(value for value in tuple(globals().values()) if isinstance(value, MetricDefinition)),
    *OF_SAMPLE.values(),
)
"""Every metric: those of this module in the order of definition, then those of samples."""
