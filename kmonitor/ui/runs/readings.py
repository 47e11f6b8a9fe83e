"""The selected run's memory readings, each with its source or the reason why it is missing."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.text.formats import Unit, amount_text, count_text, percent_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.events import FieldSource, FieldSources, Sample
from kmonitor_agent.wire.messages.verdict_events import COUNTED_METRICS

_RARE: Final = ("ram_unique_bytes", "ram_children_bytes")
"""Fields that are read at most every 10 s; they keep their last value in between."""

_UNITS: Final[dict[str, Unit]] = {
    "_bytes": "bytes",
    "_fraction": "fraction",
    "_c": "celsius",
    "_w": "watts",
    "_hz": "hertz",
}

_RESOURCES: Final = later("Resources")

_GROUPS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        later("RAM"),
        (
            ("ram_bytes", later("With children")),
            ("ram_process_bytes", later("This process")),
            ("ram_file_bytes", later("File-backed pages")),
            ("ram_peak_bytes", later("Peak resident set size")),
            ("ram_unique_bytes", later("Unique set size (USS)")),
            ("ram_children_bytes", later("Children")),
            ("host_available_bytes", later("Available on the host")),
            ("cgroup_limit_bytes", later("Cgroup limit")),
            ("cgroup_used_bytes", later("Cgroup usage")),
        ),
    ),
    (
        _RESOURCES,
        (
            ("ram_left_bytes", later("RAM left")),
            ("swapped_bytes", later("Swapped out")),
            ("vram_left_bytes", later("VRAM left")),
            ("shared_memory_bytes", later("Shared memory")),
            ("disk_used_bytes", later("Disk")),
            ("temp_disk_used_bytes", later("Temporary files")),
            ("open_files", later("Open file descriptors")),
            ("threads", later("Threads")),
            ("processes", later("Child processes")),
            ("zombies", later("Zombies")),
            ("major_faults", later("Major page faults")),
            ("memory_pressure_fraction", later("Memory pressure")),
            ("io_pressure_fraction", later("I/O pressure")),
            ("cgroup_high_events", later("Throttled at memory.high")),
        ),
    ),
    (
        later("GPU and allocator"),
        (
            ("allocator_in_use_bytes", later("Allocator, in use")),
            ("allocator_peak_bytes", later("Allocator, peak")),
            ("device_process_bytes", later("VRAM, this process")),
            ("device_used_bytes", later("VRAM, all processes")),
            ("device_total_bytes", later("VRAM, total")),
            ("device_utilisation_fraction", later("GPU utilization")),
            ("device_temperature_c", later("GPU temperature")),
            ("device_power_w", later("GPU power")),
        ),
    ),
    (
        later("CPU"),
        (
            ("cpu_cores", later("CPUs in use")),
            ("children_cpu_cores", later("CPUs in use, children")),
            ("cpu_throttled_fraction", later("CPU throttled")),
            ("cpu_wait_fraction", later("Waiting for a CPU")),
            ("disk_wait_fraction", later("Waiting for disk")),
            ("cpu_clock_hz", later("CPU clock")),
        ),
    ),
    (
        later("Graph"),
        (
            ("functions", later("Registered functions")),
            ("code_regions", later("Compiled code regions")),
        ),
    ),
)

_WHOLES: Final = {
    "ram_left_bytes": "ram_of_bytes",
    **dict(COUNTED_METRICS.values()),
}
"""Total that each field is a part of."""

_LEAST_PART: Final = 0.005
"""Smallest fraction that is shown."""

_SHOWN_ABOVE_ZERO: Final = frozenset(
    {
        "swapped_bytes",
        "shared_memory_bytes",
        "processes",
        "zombies",
        "memory_pressure_fraction",
        "io_pressure_fraction",
        "cgroup_high_events",
    }
)

READING_COLUMNS: Final = (
    *(field for _, fields in _GROUPS for field, _ in fields),
    *_WHOLES.values(),
)
"""Columns that the window requests from the hub for an ended run."""


RESOURCE_COLUMNS: Final = (
    *(field for title, fields in _GROUPS for field, _ in fields if title == _RESOURCES),
    *_WHOLES.values(),
)
"""Columns of resources that a training can exhaust."""


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One line: title, value, source, and the total that it is a part of, if any."""

    title: str
    value: str
    tooltip: str
    whole: str = ""


@dataclass(frozen=True, slots=True)
class ReadingGroup:
    """A group of lines, and one line about missing readings.

    Attributes:
        title: Heading.
        rows: Rows of the readings.
        absent: Reason why other readings are missing; may be empty.
    """

    title: str
    rows: tuple[ReadingRow, ...]
    absent: str


class RunReadings:
    """The last value and source of each measured field of one run."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self._sources: dict[str, FieldSource] = {}
        self._t_s = -1.0

    def apply_sample(self, sample: Sample, t_s: float) -> None:
        """Store a newer sample; rarely read fields keep their last value.

        Args:
            sample: Sample as the agent sent it.
            t_s: Run time of the sample.
        """
        if t_s < self._t_s:
            return
        self._t_s = t_s
        for field in READING_COLUMNS:
            value: float | None = getattr(sample, field)
            if value is not None:
                self._values[field] = value
            elif field not in _RARE:
                self._values.pop(field, None)

    def apply_value(self, field: str, value: float, t_s: float) -> None:
        """Store a value from the hub's history, unless newer samples have arrived."""
        if t_s > self._t_s or field not in self._values:
            self._values[field] = value

    def apply_sources(self, sources: FieldSources) -> None:
        self.add_sources(sources.sources)

    def add_sources(self, sources: list[FieldSource]) -> None:
        self._sources |= {source.field: source for source in sources}

    def value(self, field: str) -> float | None:
        """Return the last value of a field; None: it was not read."""
        return self._values.get(field)

    def source(self, field: str) -> FieldSource | None:
        """Return the source of a field; None: it was not reported."""
        return self._sources.get(field)

    def groups(self) -> tuple[ReadingGroup, ...]:
        """Return the rows by group; groups without a value are left out."""
        groups = (
            self._group(title, tuple(each for each in fields if self._is_shown(each[0])))
            for title, fields in _GROUPS
        )
        return tuple(group for group in groups if group.rows or group.absent)

    def resources(self) -> tuple[ReadingRow, ...]:
        """Return all rows of resources that a training can exhaust, also those `groups` omits."""
        title, fields = next(group for group in _GROUPS if group[0] == _RESOURCES)
        return self._group(title, fields).rows

    def _is_shown(self, field: str) -> bool:
        """True if the row is shown when there is little room."""
        if field == "temp_disk_used_bytes":
            return self._values.get(field) != self._values.get("disk_used_bytes")
        if field == "major_faults":
            return False
        return field not in _SHOWN_ABOVE_ZERO or self._values.get(field, 0.0) > 0.0

    def _group(self, title: str, fields: tuple[tuple[str, str], ...]) -> ReadingGroup:
        rows: list[ReadingRow] = []
        reasons: list[str] = []
        for field, title_text in fields:
            source = self._sources.get(field)
            if field in self._values:
                whole = self._values.get(_WHOLES.get(field, ""))
                rows.append(_row(field, tr(title_text), self._values[field], whole, source))
            elif source is not None and source.absent and source.absent not in reasons:
                reasons.append(source.absent)
        return ReadingGroup(
            tr(title), tuple(rows), "; ".join(translated_text(reason) for reason in reasons)
        )


def _row(
    field: str, title: str, value: float, whole: float | None, source: FieldSource | None
) -> ReadingRow:
    text = _text(field, value)
    tooltip = translated_text(source.source) if source else ""
    if not whole:
        return ReadingRow(title, text, tooltip)
    of = _text(field, whole)
    if value / whole >= _LEAST_PART:
        text = f"{text} ({percent_text(value / whole)})"
    lines = [tr("of {amount}").format(amount=of), tooltip]
    return ReadingRow(title, text, "\n".join(filter(None, lines)), of)


def _text(field: str, value: float) -> str:
    for end, unit in _UNITS.items():
        if field.endswith(end):
            return amount_text(value, unit)
    return count_text(value)
