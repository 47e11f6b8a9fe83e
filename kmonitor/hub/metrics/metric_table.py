"""Table of the metrics that the hub exports: name, unit, what it is and where it comes from."""

from dataclasses import dataclass
from typing import Final, Literal

RUN: Final = ("run", "name")
"""Labels of everything that belongs to one run: its id, and its name to read."""


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One metric, which has a value for each set of its labels.

    Attributes:
        name: As Prometheus has it, its unit last; a counter's without "_total".
        unit: As UCUM writes it ("By", "s", "Cel", "W", "1"); empty for a number of things.
        about: What it is, for who looks at it.
        source: Where in kmonitor it comes from.
        labels: Their names.
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
_SUMMARY: Final = "the run as lists show it"
_HUB: Final = "the hub"
_ACTIONS: Final = "records of actions"


def _of_sample(name: str, unit: str, about: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_run_{name}", unit, about, _SAMPLE, RUN)


def _of_run(name: str, unit: str, about: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_run_{name}", unit, about, _SUMMARY, (*RUN, *labels))


INFO: Final = _of_run(
    "info", "", "1, with what else is known of the run", "host", "backend", "model", "job", "study"
)
STATE: Final = _of_run("state", "", "1 for the state that the run is in", "state")
LAST_EVENT: Final = _of_run(
    "last_event_timestamp_seconds", "s", "When the hub took its newest event, UTC"
)
RAM: Final = _of_run(
    "ram_bytes", "By", "Memory of the process and its children that the kernel cannot take back"
)
RAM_LIMIT: Final = _of_run(
    "ram_limit_bytes", "By", "RAM that can be had: what the run holds and what is left"
)
VRAM: Final = _of_run(
    "vram_bytes", "By", "Device memory in use, by the allocator or the driver", "source"
)
VRAM_LIMIT: Final = _of_run("vram_limit_bytes", "By", "What vram_bytes is a part of", "source")
GRAPH: Final = _of_run("graph_operations", "", "Operations in live traces: graph size")
STEP_TIME: Final = _of_run("step_time_seconds", "s", "Median step time of the last epoch")
STEP_PERCENTILE: Final = _of_run(
    "step_time_percentile_seconds", "s", "Step time that so many percent do not exceed", "percent"
)
STEP_MEAN: Final = _of_run("step_time_mean_seconds", "s", "Mean step time of the last epoch")
STEP_MAX: Final = _of_run("step_time_max_seconds", "s", "Longest step of the last epoch")
SLOW_STEPS: Final = _of_run(
    "slow_steps_ratio", "1", "Part of the time of its steps that those of over three medians took"
)
EPOCH_PART: Final = _of_run(
    "epoch_part_seconds", "s", "Where the time of the last epoch went, by part", "part"
)
EPOCH: Final = _of_run("epoch", "", "Index of the running epoch of the last fit, from 0")
PLANNED: Final = _of_run("epochs_planned", "", "Epochs that the last fit is to have")
EPOCHS: Final = MetricDefinition(
    "kmonitor_run_epochs_done", "", "Epochs that ended, in all fits together", _SUMMARY, RUN
)
RATE: Final = _of_run("learning_rate", "", "Learning rate as it was told last")
VERDICT: Final = _of_run(
    "verdict", "", "1 for a metric that is growing, or suspected to leak", "metric", "state"
)
FAULTS: Final = _of_run("faults", "", "Faults of kmonitor's own in the training process")
GAPS: Final = _of_run("lost_events", "", "Events of the run that are known to be lost")

EPOCH_LOG: Final = MetricDefinition(
    "kmonitor_run_log",
    "",
    "A log of Keras at the last epoch's end",
    "ends of epochs",
    (*RUN, "log"),
)
LOGS_LEFT_OUT: Final = MetricDefinition(
    "kmonitor_run_logs_left_out", "", "Logs beyond those that are shown", "ends of epochs", RUN
)

RECLAIMS: Final = MetricDefinition(
    "kmonitor_run_reclaims",
    "",
    "Collects, reloads and restarts since the hub started",
    _ACTIONS,
    (*RUN, "action", "result"),
    "counter",
)
RECLAIMED: Final = MetricDefinition(
    "kmonitor_run_reclaimed_bytes",
    "By",
    "By how much they brought the process's memory down",
    _ACTIONS,
    RUN,
    "counter",
)
RECLAIMING: Final = MetricDefinition(
    "kmonitor_run_reclaim_seconds", "s", "How long the training waited for them", _ACTIONS, RUN,
    "counter",
)  # fmt: skip

OF_SAMPLE: Final = {
    "ram_process_bytes": _of_sample("process_bytes", "By", "The same of the process alone"),
    "ram_file_bytes": _of_sample("file_bytes", "By", "Pages of files, given back when needed"),
    "ram_unique_bytes": _of_sample("unique_bytes", "By", "What would be freed if it ended"),
    "ram_children_bytes": _of_sample(
        "children_bytes", "By", "What its children add to that of the process"
    ),
    "ram_peak_bytes": _of_sample("resident_peak_bytes", "By", "Highest resident set so far"),
    "cgroup_used_bytes": _of_sample(
        "cgroup_used_bytes",
        "By",
        "What the control group with the limit uses of it, by its account",
    ),
    "ram_left_bytes": _of_sample(
        "ram_left_bytes", "By", "Memory that the process can still get, whoever uses the rest"
    ),
    "swapped_bytes": _of_sample("swapped_bytes", "By", "Of the process, what is swapped out"),
    "vram_left_bytes": _of_sample("vram_left_bytes", "By", "Free on the device"),
    "open_files": _of_sample("open_files", "", "Open descriptors of the process"),
    "open_files_of": _of_sample("open_files_limit", "", "How many it may have"),
    "threads": _of_sample("threads", "", "Threads of the process"),
    "threads_of": _of_sample("threads_limit", "", "How many it could have"),
    "processes": _of_sample("child_processes", "", "Children, zombies among them"),
    "processes_of": _of_sample("child_processes_limit", "", "How many it could have"),
    "zombies": _of_sample("zombies", "", "Children that ended and that nobody waited for"),
    "shared_memory_bytes": _of_sample(
        "shared_memory_bytes", "By", "Blocks in /dev/shm made since the run began"
    ),
    "shared_memory_of_bytes": _of_sample(
        "shared_memory_limit_bytes", "By", "Those and what is free there"
    ),
    "disk_used_bytes": _of_sample(
        "disk_used_bytes", "By", "Used by everybody on the disk of the checkpoints"
    ),
    "disk_of_bytes": _of_sample("disk_limit_bytes", "By", "That and what can still be written"),
    "temp_disk_used_bytes": _of_sample(
        "temp_disk_used_bytes", "By", "Used by everybody on the disk of temporary files"
    ),
    "temp_disk_of_bytes": _of_sample(
        "temp_disk_limit_bytes", "By", "That and what can still be written"
    ),
    "major_faults": _of_sample(
        "major_faults", "", "Pages that the process had to wait for a disk for"
    ),
    "memory_pressure_fraction": _of_sample(
        "memory_pressure_ratio", "1", "Part of 10 s in which a task waited for memory"
    ),
    "io_pressure_fraction": _of_sample(
        "io_pressure_ratio", "1", "Part of 10 s in which a task waited for a disk"
    ),
    "cgroup_high_events": _of_sample(
        "cgroup_high_events", "", "Times that the control group was throttled at memory.high"
    ),
    "device_used_bytes": _of_sample("device_used_bytes", "By", "By the driver, all processes"),
    "device_total_bytes": _of_sample("device_total_bytes", "By", "The device's memory"),
    "device_process_bytes": _of_sample("device_process_bytes", "By", "By the driver, this one"),
    "device_utilisation_fraction": _of_sample(
        "device_utilisation_ratio", "1", "Part of the time in which anything ran on the device"
    ),
    "device_temperature_c": _of_sample("device_temperature_celsius", "Cel", "By the driver"),
    "device_power_w": _of_sample("device_power_watts", "W", "By the driver"),
    "allocator_in_use_bytes": _of_sample(
        "allocator_in_use_bytes", "By", "What the framework's allocator has handed out"
    ),
    "allocator_peak_bytes": _of_sample("allocator_peak_bytes", "By", "The most of it so far"),
    "functions": _of_sample("graph_functions", "", "Functions registered with the runtime"),
    "code_regions": _of_sample("code_regions", "", "Regions of code compiled while it ran"),
    "cpu_cores": _of_sample("cpu_cores", "", "Processors that the process keeps busy"),
    "children_cpu_cores": _of_sample("children_cpu_cores", "", "Those of its children"),
    "cpu_throttled_fraction": _of_sample(
        "cpu_throttled_ratio", "1", "Part of the time in which its control group was held back"
    ),
    "disk_wait_fraction": _of_sample(
        "disk_wait_ratio", "1", "Part of the time in which it waited for the disk"
    ),
    "cpu_clock_hz": _of_sample(
        "cpu_clock_hertz", "Hz", "Clock of the processor that the process ran on last"
    ),
}
"""By the field of `Sample`."""


def _of_hub(name: str, unit: str, about: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_{name}", unit, about, _HUB, labels)


def _counted(name: str, unit: str, about: str, *labels: str) -> MetricDefinition:
    return MetricDefinition(f"kmonitor_{name}", unit, about, _HUB, labels, "counter")


RUNS: Final = _of_hub("runs", "", "Runs that the hub knows, ended ones too", "state")
LEFT_OUT: Final = _of_hub("runs_left_out", "", "Living runs beyond those that are shown")
HUB_INFO: Final = _of_hub("hub_info", "", "1, with the hub's version", "version")
HUB_STARTED: Final = _of_hub("hub_start_timestamp_seconds", "s", "When the hub started, UTC")
HUB_SNAPSHOT: Final = _of_hub(
    "hub_snapshot_timestamp_seconds", "s", "When the hub's loop told these figures last, UTC"
)
HUB_AGENTS: Final = _of_hub("hub_trainings", "", "Trainings that are connected")
HUB_VIEWERS: Final = _of_hub("hub_viewers", "", "Windows that are connected")
HUB_ROWS: Final = _of_hub("hub_stored_events", "", "Events in the database")
HUB_DATABASE: Final = _of_hub("hub_database_bytes", "By", "Size of the database")
HUB_RESIDENT: Final = _of_hub("hub_resident_bytes", "By", "Resident set of the hub")
HUB_TROUBLES: Final = _of_hub("hub_troubles", "", "What is wrong with the hub; see its status")
HUB_EVENTS: Final = _counted("hub_events", "", "Events taken since the hub started")
HUB_RECLAIMS: Final = _counted(
    "reclaims", "", "Reclaims of all runs since the hub started", "action", "result"
)
HUB_CPU: Final = _counted("hub_cpu_seconds", "s", "Processor time of the hub")
HUB_FAULTS: Final = _counted("hub_faults", "", "Faults of the hub since it started", "part")
HUB_REMOVED: Final = _counted("hub_runs_removed", "", "Runs removed to keep the history small")
SENT: Final = _counted("hub_otlp_exports", "", "Times that figures were sent by OTLP", "result")

METRICS: Final[tuple[MetricDefinition, ...]] = (
    *(value for value in tuple(globals().values()) if isinstance(value, MetricDefinition)),
    *OF_SAMPLE.values(),
)
"""All of them."""
