"""Snapshots of a hub, for tests of its figures."""

import time
from collections.abc import Iterable

from kmonitor.hub.metrics.metric_values import SnapshotHolder, points
from kmonitor.hub.metrics.snapshot import HubSnapshot, RunMetricsStore, Snapshot
from kmonitor.hub.runs.run_record import RunRecord

HUB_NOW = HubSnapshot(
    version="1.2.3",
    started_wall_s=1.8e9,
    wall_s=1.8e9 + 60,
    agents=2,
    viewers=1,
    rows=10,
    database_bytes=4096,
    faults={"gap": 3},
    troubles=0,
    runs_removed=0,
    resident_bytes=6e7,
    cpu_s=1.5,
)


def snapshot(book: RunMetricsStore, records: Iterable[RunRecord]) -> Snapshot:
    """Present metrics, by this machine's clock."""
    return book.snapshot(HUB_NOW, records, time.monotonic())


def shelf(book: RunMetricsStore, records: Iterable[RunRecord]) -> SnapshotHolder:
    """With such a snapshot on it."""
    laid = SnapshotHolder()
    laid.lay(snapshot(book, records))
    return laid


def told(found: Snapshot, now_s: float | None = None) -> dict[tuple[str, ...], float]:
    """Values by the exposed name of the figure and its labels, run ids left out."""
    now_s = found.taken_at_s if now_s is None else now_s
    return {
        (point.metric_definition.exposed, *point.labels[1:])
        if point.metric_definition.labels[:1] == ("run",)
        else (point.metric_definition.exposed, *point.labels): point.value
        for point in points(found, now_s)
    }
