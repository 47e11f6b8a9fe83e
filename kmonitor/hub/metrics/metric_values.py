"""Values of the metrics from a snapshot, and the newest snapshot for all exporters.

An unknown quantity has no value.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kmonitor.base.errors import UserError
from kmonitor.hub.metrics import metric_table
from kmonitor.hub.metrics.metric_table import SENT, MetricDefinition
from kmonitor.hub.metrics.snapshot import (
    MOST_LOGS,
    HubSnapshot,
    ReclaimTotals,
    RunSnapshot,
    Snapshot,
)
from kmonitor_agent.wire.messages.events import EPOCH_PARTS

STALE_S: Final = 60.0
"""Age from which a snapshot is not used for runs, seconds: the hub's loop hangs, and they may have
changed."""

_LONGEST_SOURCE: Final = 100


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a metric.

    Attributes:
        labels: Values of its labels, in their order.
        value: In its unit.
    """

    metric_definition: MetricDefinition
    labels: tuple[str, ...]
    value: float


class SnapshotHolder:
    """One snapshot, replaced as a whole by the hub's loop; read by any thread."""

    def __init__(self) -> None:
        self._newest: Snapshot | None = None
        self._exports: Mapping[str, int] = {}

    def lay(self, snapshot: Snapshot) -> None:
        self._newest = snapshot

    def lay_exports(self, counts: Mapping[str, int]) -> None:
        """Replace the counts of exports, by result; exported beside each snapshot.

        Every exporter sends them: a collector that gets nothing cannot know it otherwise.
        """
        self._exports = dict(counts)

    def points(self) -> list[Point]:
        """The values of the newest snapshot; none before the first."""
        newest = self._newest
        if newest is None:
            return []
        sent = [Point(SENT, (result,), count) for result, count in self._exports.items()]
        return [*points(newest, time.monotonic()), *sent]


def points(snapshot: Snapshot, now_s: float) -> Iterator[Point]:
    """Every value of a snapshot.

    Args:
        now_s: Monotonic time.
    """
    yield from _of_hub(snapshot.hub)
    if now_s - snapshot.taken_at_s > STALE_S:
        return
    yield Point(metric_table.LEFT_OUT, (), snapshot.left_out)
    yield Point(metric_table.HUB_EVENTS, (), snapshot.events)
    for state, count in snapshot.states.items():
        yield Point(metric_table.RUNS, (state,), count)
    for labels, count in snapshot.reclaims.times.items():
        yield Point(metric_table.HUB_RECLAIMS, labels, count)
    for run in snapshot.runs:
        yield from _of_run(run)


def _of_hub(hub: HubSnapshot) -> Iterator[Point]:
    yield Point(metric_table.HUB_INFO, (hub.version,), 1.0)
    yield Point(metric_table.HUB_STARTED, (), hub.started_wall_s)
    yield Point(metric_table.HUB_SNAPSHOT, (), hub.wall_s)
    yield Point(metric_table.HUB_AGENTS, (), hub.agents)
    yield Point(metric_table.HUB_VIEWERS, (), hub.viewers)
    yield Point(metric_table.HUB_ROWS, (), hub.rows)
    yield Point(metric_table.HUB_DATABASE, (), hub.database_bytes)
    yield Point(metric_table.HUB_RESIDENT, (), hub.resident_bytes)
    yield Point(metric_table.HUB_TROUBLES, (), hub.troubles)
    yield Point(metric_table.HUB_CPU, (), hub.cpu_s)
    yield Point(metric_table.HUB_REMOVED, (), hub.runs_removed)
    for part, count in hub.faults.items():
        yield Point(metric_table.HUB_FAULTS, (part,), count)


def _of_run(run: RunSnapshot) -> Iterator[Point]:
    labels = (run.run, run.name)
    about = (run.host, run.backend, run.model, run.job, run.study)
    yield Point(metric_table.INFO, (*labels, *about), 1.0)
    yield Point(metric_table.STATE, (*labels, run.state), 1.0)
    yield Point(metric_table.LAST_EVENT, labels, run.last_wall_s)
    yield Point(metric_table.EPOCHS, labels, run.epochs_done)
    yield Point(metric_table.FAULTS, labels, run.faults)
    yield Point(metric_table.GAPS, labels, run.gaps)
    if run.epochs:
        yield Point(metric_table.PLANNED, labels, run.epochs)
    if run.epoch is not None:
        yield Point(metric_table.EPOCH, labels, run.epoch)
    if run.learning_rate is not None:
        yield Point(metric_table.RATE, labels, run.learning_rate)
    for metric, state in run.verdicts.items():
        yield Point(metric_table.VERDICT, (*labels, metric, state), 1.0)
    yield from _measured(run, labels)
    yield from _logs(run, labels)
    yield from _reclaims(run.reclaims, labels)


def _measured(run: RunSnapshot, labels: tuple[str, str]) -> Iterator[Point]:
    source = (*labels, run.vram_source[:_LONGEST_SOURCE])
    for name, definition, its_labels in (
        ("ram_bytes", metric_table.RAM, labels),
        ("ram_of_bytes", metric_table.RAM_LIMIT, labels),
        ("vram_bytes", metric_table.VRAM, source),
        ("vram_of_bytes", metric_table.VRAM_LIMIT, source),
        ("graph_operations", metric_table.GRAPH, labels),
        ("step_time_s", metric_table.STEP_TIME, labels),
        ("step_time_mean_s", metric_table.STEP_MEAN, labels),
        ("step_time_p95_s", metric_table.STEP_PERCENTILE, (*labels, "95")),
        ("step_time_p99_s", metric_table.STEP_PERCENTILE, (*labels, "99")),
        ("step_time_max_s", metric_table.STEP_MAX, labels),
        ("slow_steps_part", metric_table.SLOW_STEPS, labels),
        *((f"part_{part}_s", metric_table.EPOCH_PART, (*labels, part)) for part in EPOCH_PARTS),
    ):
        value = run.metrics.get(name)
        if value is not None:
            yield Point(definition, its_labels, value)
    for name, definition in metric_table.OF_SAMPLE.items():
        value = getattr(run.sample, name, None)
        if value is not None:
            yield Point(definition, labels, value)


def _logs(run: RunSnapshot, labels: tuple[str, str]) -> Iterator[Point]:
    if run.logs:
        yield Point(metric_table.LOGS_LEFT_OUT, labels, max(0, len(run.logs) - MOST_LOGS))
    for name, value in list(run.logs.items())[:MOST_LOGS]:
        yield Point(metric_table.EPOCH_LOG, (*labels, name), value)


def _reclaims(totals: ReclaimTotals, labels: tuple[str, str]) -> Iterator[Point]:
    for about, count in totals.times.items():
        yield Point(metric_table.RECLAIMS, (*labels, *about), count)
    if totals.times:
        yield Point(metric_table.RECLAIMED, labels, totals.freed_bytes)
        yield Point(metric_table.RECLAIMING, labels, totals.seconds)


def points_by_metric(found: Iterable[Point]) -> dict[MetricDefinition, list[Point]]:
    """Values by their metric, in the order of the table."""
    families: dict[MetricDefinition, list[Point]] = {}
    for point in found:
        families.setdefault(point.metric_definition, []).append(point)
    return families


class ExporterRefused(UserError):
    """A requested exporter cannot be opened; says why and what to do."""
