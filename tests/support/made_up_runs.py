"""Runs, rows and columns as a hub would send them, for presenters and windows without one."""

import math
import struct
from typing import Any

from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.commands import CommandName, LimitSpec
from kmonitor_agent.wire.messages.events import ActionRecord, Event, FieldSource, Footprint
from kmonitor_agent.wire.messages.unions import (
    EventRow,
    HubReply,
    MetricReading,
    RunsReply,
    RunSummary,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)

HUB = "hub1"
NOW_WALL_S = 1_790_000_000.0
GIB = 2.0**30
MIB = 2.0**20
EPOCH_STEP_TIME = "epoch:step_time_s"
ACTIONS: list[CommandName] = ["save", "collect", "reload", "pause", "resume", "stop", "set_limits"]


def made_up_run(run: str = "run1", **changed: Any) -> RunSummary:
    """A living run in its 37th epoch of 90."""
    fields: dict[str, Any] = {
        "run": run,
        "name": "resnet50-imagenet",
        "host": "gpu-01",
        "state": "training",
        "session": "session1",
        "pid": 48213,
        "started_wall_s": NOW_WALL_S - 3720.0,
        "last_wall_s": NOW_WALL_S - 0.4,
        "change": 1,
        "duration_s": 3720.0,
        "backend": "tensorflow",
        "fit": 1,
        "epoch": 36,
        "epochs": 90,
        "epochs_done": 36,
        "step": 1204,
        "steps": 1563,
        "model": "resnet50",
        "ram": MetricReading(value=73.4 * GIB, of=192 * GIB, source="process and children"),
        "vram": MetricReading(value=50.7 * GIB, of=80 * GIB, source="tensorflow allocator, GPU:0"),
        "graph": MetricReading(value=24374.0, source="tensorflow: live traces"),
        "step_time": MetricReading(value=0.272, source="start to start"),
        "actions": ACTIONS,
        "checkpoint_epoch": 35,
        "checkpoint_bytes": 312 * 2**20,
        "checkpoint_wall_s": NOW_WALL_S - 240.0,
    }
    return RunSummary(**{**fields, **changed})


def told_runs(*runs: RunSummary, hub: str = HUB, change: int = 1) -> RunsReply:
    """The hub's list."""
    return RunsReply(
        request_id=0,
        hub=hub,
        change=change,
        head=100,
        version="0.1.0",
        host="gpu-01",
        runs=list(runs),
    )


def told_hub(hub: str = HUB, rows: int = 1234) -> HubReply:
    """The hub on itself."""
    return HubReply(
        request_id=0,
        hub=hub,
        version="0.1.0",
        pid=77,
        host="gpu-01",
        started_wall_s=NOW_WALL_S - 9000.0,
        agents=1,
        viewers=1,
        rows=rows,
        database_bytes=10**6,
        wall_s=NOW_WALL_S,
    )


def made_up_row(row: int, event: Event, run: str = "run1") -> EventRow:
    """A stored event."""
    return EventRow(row=row, run=run, seq=row, t_s=event.t_s, body=encode_event(event))


def reload_record(t_s: float = 2200.0, *, ok: bool = True) -> ActionRecord:
    """A reload that gave memory back."""
    return ActionRecord(
        t_s=t_s,
        action="reload",
        ok=ok,
        requested_by="limit ram 80 GiB",
        fit=1,
        epoch=21,
        seconds=14.2,
        before=Footprint(
            ram_process_bytes=88 * GIB, allocator_in_use_bytes=60.4 * GIB, graph_operations=29200
        ),
        after=Footprint(
            ram_process_bytes=47 * GIB, allocator_in_use_bytes=31.6 * GIB, graph_operations=15600
        ),
        checkpoint="epoch-22.npz",
        state_bytes=312 * 2**20,
        why="" if ok else "the checkpoint folder is full",
    )


def limit(metric: str = "ram", value: float = 128 * GIB, **more: Any) -> LimitSpec:
    """A limit set by a script."""
    return LimitSpec(**{"metric": metric, "value": value, "action": "reload", **more})


def told_series(asked: SeriesRequest, run: RunSummary, ask: int) -> SeriesReply:
    """Columns that grow, fall at a reload, and end at what the summary says."""
    epochs = max(run.epochs_done, 1)
    per_epoch_s = run.duration_s / (epochs + 0.7)
    starts = [i * per_epoch_s for i in range(epochs + 1)]
    ends = [*(s + per_epoch_s * 0.99 for s in starts[:-1]), math.nan]
    return SeriesReply(
        request_id=ask,
        run=run.run,
        row=50,
        columns=[
            _epoch_medians(run, ends[:-1]) if name == EPOCH_STEP_TIME else _column(name, run)
            for name in asked.columns
        ],
        sources=[
            FieldSource("ram_bytes", "bytes", "process: /proc/self/statm"),
            FieldSource("cgroup_limit_bytes", "bytes", absent="no cgroup limits this process"),
        ],
        epoch_t_s=_doubles(starts),
        epoch_end_t_s=_doubles(ends),
        fit_of_epoch=struct.pack(f"<{len(starts)}i", *([1] * len(starts))),
    )


def _epoch_medians(run: RunSummary, ends: list[float]) -> ThinnedColumn:
    """Step times of whole epochs, which end at what the summary says."""
    last = run.step_time.value
    if last is None or not run.epochs_done:
        return ThinnedColumn(EPOCH_STEP_TIME, b"", b"", 0)
    values = [last * _shape(end / ends[-1]) for end in ends]
    return ThinnedColumn(EPOCH_STEP_TIME, _doubles(ends), _doubles(values), len(ends))


def _column(name: str, run: RunSummary) -> ThinnedColumn:
    last = {
        "ram_bytes": run.ram.value,
        "ram_process_bytes": run.ram.value,
        "ram_peak_bytes": (run.ram.value or 0) * 1.2 or None,
        "ram_unique_bytes": (run.ram.value or 0) * 0.8 or None,
        "ram_children_bytes": 0.0,
        "host_available_bytes": 118 * GIB,
        "vram_bytes": run.vram.value,
        "allocator_in_use_bytes": run.vram.value,
        "allocator_peak_bytes": (run.vram.value or 0) * 1.2 or None,
        "graph_operations": run.graph.value,
        "step_time_s": run.step_time.value,
        "functions": 540.0,
    }.get(name)
    if last is None:
        return ThinnedColumn(name, b"", b"", 0)
    n = 600
    times = [run.duration_s * i / (n - 1) for i in range(n)]
    values = [last * _shape(i / (n - 1)) for i in range(n)]
    return ThinnedColumn(name, _doubles(times), _doubles(values), n)


def _shape(part: float) -> float:
    wobble = 0.008 * math.sin(part * 190)
    if part < 0.02:
        return 0.45 + 5 * part
    if part < 0.6:
        return 0.55 + 1.08 * part + wobble
    return 0.64 + 0.9 * (part - 0.6) + wobble * (1 - part)


def _doubles(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)
