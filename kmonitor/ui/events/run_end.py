"""End of a run in full: cause, exhausted resources, last minute, and ways to resume the training.

The last minute is requested from the hub once per run. This module needs no numpy, which the
window loads only after its first paint.
"""

import math
import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.ui.runs.run_states import has_ended, has_ended_badly, run_state_label
from kmonitor.ui.runs.sent_commands import SendRequest
from kmonitor.ui.text.formats import (
    bytes_text,
    count_text,
    rate_text,
    seconds_text,
    sparkline_text,
)
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import metric_amount, metric_name
from kmonitor.ui.verdicts.evidence import EvidenceState
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.unions import RunSummary, SeriesReply, SeriesRequest
from kmonitor_agent.wire.messages.verdict_events import COUNTED_METRICS

Floats = Sequence[float]
LAST_S: Final = 60.0
LAST_MINUTE_COLUMNS: Final = (
    "ram_bytes",
    "ram_of_bytes",
    "ram_left_bytes",
    "cgroup_limit_bytes",
    "cgroup_used_bytes",
    "cgroup_left_bytes",
    *(column for columns in COUNTED_METRICS.values() for column in columns),
)
"""Columns to request from the hub."""

_REQUESTED_S: Final = 90.0
"""Requested length, seconds: the last event may come some time after the last sample."""


@dataclass(frozen=True, slots=True)
class ResourceEnd:
    """Use of a resource in the last sample: `used` of `of`, in the metric's unit."""

    metric: LimitMetric
    used: float
    of: float

    @property
    def left_part(self) -> float:
        """Fraction of the resource that was left, 0..1."""
        return max(0.0, self.of - self.used) / self.of


@dataclass(frozen=True, slots=True)
class LastMinute:
    """RAM before the end, and other resources that may have run out.

    Attributes:
        t_s: Run times of the samples, seconds, the last at most 60 s after the first, `[n]`.
        values: RAM at these times, bytes, `[n]`.
        of_bytes: Available memory, or the cgroup's limit where that was the nearest bound; None
            if not read.
        is_cgroup: True if `of_bytes` is the cgroup's limit.
        is_account: True if `values` are the memory use of the whole cgroup, with all processes in
            it.
        resources: Other resources in the last sample.
    """

    t_s: Floats
    values: Floats
    of_bytes: float | None = None
    is_cgroup: bool = False
    is_account: bool = False
    resources: tuple[ResourceEnd, ...] = ()

    @property
    def seconds(self) -> float:
        """Time from the first sample to the last, seconds."""
        return self.t_s[-1] - self.t_s[0]

    @property
    def bytes_per_s(self) -> float:
        """Theil-Sen slope of RAM, bytes per second; a single jump changes it little."""
        # Imported late: numpy would delay the first paint.
        import numpy as np  # noqa: PLC0415

        from kmonitor.base.trend import theil_sen_slope  # noqa: PLC0415

        slope = theil_sen_slope(np.array(self.t_s), np.array(self.values))
        return self._change_bytes / self.seconds if slope is None else slope

    @property
    def is_jump(self) -> bool:
        """True if most of the change came at once."""
        return abs(self.bytes_per_s) * self.seconds < abs(self._change_bytes) / 2

    @property
    def _change_bytes(self) -> float:
        return self.values[-1] - self.values[0]


class RunEndStore:
    """Last minutes of ended runs, requested when one is shown; main thread only."""

    def __init__(self, request: SendRequest) -> None:
        self._send_request = request
        self._minutes: dict[str, LastMinute | None] = {}
        self._open: dict[int, str] = {}

    def want(self, run: RunSummary) -> None:
        """Request the last minute of a run, unless it is known or the run is live."""
        known = run.run in self._minutes or run.run in self._open.values()
        if has_ended(run) and not known:
            question = SeriesRequest(
                request_id=0,
                run=run.run,
                columns=list(LAST_MINUTE_COLUMNS),
                from_s=last_minute_start_s(run),
                buckets=4000,
            )
            self._open[self._send_request(question)] = run.run

    def get(self, run: str) -> LastMinute | None:
        """Last minute of a run; None: not known, or there is none."""
        return self._minutes.get(run)

    def apply_series(self, reply: SeriesReply) -> bool:
        """Take a reply; False if it answers a request from elsewhere."""
        run = self._open.pop(reply.request_id, None)
        if run is None:
            return False
        self._minutes[run] = read_last_minute(reply)
        return True

    def refuse(self, request_number: int) -> None:
        """Drop a refused request; it is sent again when the end is shown again."""
        self._open.pop(request_number, None)


def run_end_state(
    run: RunSummary, minute: LastMinute | None, *, now_wall_s: float
) -> EvidenceState:
    """Return the end of a run in full.

    Args:
        minute: Memory of the run at the end; None if it is not known.
        now_wall_s: Now, UTC epoch seconds.
    """
    state = run_state_label(run, now_wall_s=now_wall_s)
    lines = [resume_text(run)] if has_ended_badly(run) else []
    if minute is not None:
        memory: list[str] = []
        if is_about_memory(run, minute):
            memory = [
                last_minute_text(minute),
                last_minute_sparkline(minute),
                last_minute_peak_text(minute),
            ]
        ended = [resource_end_text(each) for each in what_ran_out(run, minute)]
        lines = [*ended, *memory, *lines]
    lines = [line for line in lines if line]
    why = state.why
    return EvidenceState(
        title=f"{run.name}: {state.label}",
        subtitle=tr("Before the end"),
        lead=why[:1].upper() + why[1:],
        lines=tuple(lines),
        advice=(),
        actions=(),
        tone="crit" if has_ended_badly(run) else "mute",
    )


_NAMED_BY: Final[tuple[tuple[str, tuple[LimitMetric, ...]], ...]] = (
    ("Too many open files", ("open_files",)),
    ("No space left on device", ("disk", "temp_disk", "shared_memory")),
    ("Disk quota exceeded", ("disk", "temp_disk")),
    ("can't start new thread", ("threads", "processes")),
    ("Resource temporarily unavailable", ("threads", "processes")),
    ("Bus error", ("shared_memory",)),
)
"""Words of errors, and the resources that may have run out then."""

_OF_MEMORY: Final = (
    *("out of memory", "OutOfMemory", "MemoryError", "bad_alloc", "OOM", "ResourceExhausted"),
    *("RESOURCE_EXHAUSTED", "Cannot allocate memory", "Unable to allocate", "SIGKILL", "SIGBUS"),
    *("SIGABRT", "SIGSEGV", "memory ran out"),
)
_NEARLY_OUT: Final = 0.02
_NEARLY_FULL: Final = 0.9


def what_ran_out(run: RunSummary, minute: LastMinute) -> list[ResourceEnd]:
    """Nearly exhausted resources, and the fullest of the resources that the error names."""
    named_metrics = next((metrics for words, metrics in _NAMED_BY if words in run.state_why), ())
    about = [each for each in minute.resources if each.metric in named_metrics]
    named = min(about, key=lambda each: each.left_part, default=None)
    return [
        each
        for each in minute.resources
        if each is named or (not named_metrics and each.left_part <= _NEARLY_OUT)
    ]


def resource_end_text(end: ResourceEnd) -> str:
    """Like "Open file descriptors: 698 of 700 in the last sample, 2 left"."""
    used, whole, left = (
        metric_amount(end.metric, amount)
        for amount in (end.used, end.of, max(0.0, end.of - end.used))
    )
    return tr("{resource}: {used} of {whole} in the last sample, {left} left").format(
        resource=metric_name(end.metric), used=used, whole=whole, left=left
    )


def is_about_memory(run: RunSummary, minute: LastMinute) -> bool:
    """True if memory may be the cause of the end: the error says so, or hardly any was left.

    A process that vanished without any message may have been killed for its memory use.
    """
    if any(words in run.state_why for words, _ in _NAMED_BY):
        return False
    if minute.of_bytes and max(minute.values) >= _NEARLY_FULL * minute.of_bytes:
        return True
    text = f"{run.cause} {run.state_why}".strip()
    is_unexplained = run.state == "lost" or not text
    return is_unexplained or any(words in text for words in _OF_MEMORY)


def resume_text(run: RunSummary) -> str:
    """Text on resuming the training from its last state, with the command.

    Empty for a study's fold that saved nothing: the study decides on another attempt.
    """
    if run.checkpoint_bytes is None and run.fold is not None:
        return ""
    if run.checkpoint_bytes is None:
        return tr(
            "Nothing was saved. `kmonitor run --resume-after-crash 3 -- python ...` saves"
            " regularly and continues after a crash"
        )
    epoch = "?" if run.checkpoint_epoch is None else run.checkpoint_epoch + 1
    return tr(
        "Its state from epoch {epoch} is saved ({size}): `kmonitor checkpoints {run}` lists it "
        "and `kmonitor restore` turns it into a model"
    ).format(epoch=epoch, size=bytes_text(run.checkpoint_bytes), run=run.run[:8])


def last_minute_start_s(run: RunSummary) -> float:
    """Run time from which the columns are requested, seconds."""
    return max(0.0, run.duration_s - _REQUESTED_S)


def read_last_minute(reply: SeriesReply) -> LastMinute | None:
    """The last minute of a reply with `LAST_MINUTE_COLUMNS`; None for fewer than two samples."""
    columns = {column.name: _points(column.t_s, column.values) for column in reply.columns}
    left = _newest(columns, "ram_left_bytes")
    group_left = _newest(columns, "cgroup_left_bytes")
    is_cgroup = left is not None and left == group_left
    of_bytes = _newest(columns, "cgroup_limit_bytes" if is_cgroup else "ram_of_bytes")
    # In a control group its own account is the one that kills.
    is_account = is_cgroup and bool(columns.get("cgroup_used_bytes", ((), ()))[0])
    t_s, values = columns.get("cgroup_used_bytes" if is_account else "ram_bytes", ((), ()))
    if not t_s:
        return None
    first = next(at for at, time_s in enumerate(t_s) if time_s >= t_s[-1] - LAST_S)
    t_s = t_s[first:]
    values = values[first:]
    if len(t_s) < 2 or t_s[-1] <= t_s[0]:  # noqa: PLR2004 - a rate takes two
        return None
    return LastMinute(t_s, values, of_bytes, is_cgroup, is_account, _resources(columns))


def _resources(columns: Mapping[str, tuple[Floats, Floats]]) -> tuple[ResourceEnd, ...]:
    found: list[ResourceEnd] = []
    for metric, (used_column, whole_column) in COUNTED_METRICS.items():
        used = _newest(columns, used_column)
        whole = _newest(columns, whole_column)
        if used is not None and whole:
            found.append(ResourceEnd(metric, used, whole))
    return tuple(found)


def newest_values(reply: SeriesReply) -> dict[str, float]:
    """Newest value of each column of a reply that has values."""
    columns = {column.name: _points(column.t_s, column.values) for column in reply.columns}
    return {name: values[-1] for name, (_, values) in columns.items() if values}


def _newest(columns: Mapping[str, tuple[Floats, Floats]], name: str) -> float | None:
    values = columns.get(name, ((), ()))[1]
    return values[-1] if values else None


def _points(t_s: bytes, values: bytes) -> tuple[Floats, Floats]:
    pairs = zip(_floats(t_s), _floats(values), strict=True)
    finite = [(time_s, value) for time_s, value in pairs if math.isfinite(value)]
    return tuple(time_s for time_s, _ in finite), tuple(value for _, value in finite)


def _floats(packed: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(packed) // 8}d", packed)


def last_minute_text(minute: LastMinute) -> str:
    """Like "RAM over the last 58 s: 3.1 GiB to 7.9 GiB, +84 MiB / s; cgroup limit 8 GiB"."""
    form = (
        tr("Cgroup RAM over the last {time}: {first} to {last}, {rate}")
        if minute.is_account
        else tr("RAM over the last {time}: {first} to {last}, {rate}")
    )
    text = form.format(
        time=seconds_text(minute.seconds),
        first=bytes_text(minute.values[0]),
        last=bytes_text(minute.values[-1]),
        rate=tr("most of it at once")
        if minute.is_jump
        else rate_text(minute.bytes_per_s, "bytes", tr("s")),
    )
    if minute.of_bytes is None:
        return text
    limit = bytes_text(minute.of_bytes)
    whose = tr("cgroup limit {amount}") if minute.is_cgroup else tr("{amount} available")
    return f"{text}; {whose.format(amount=limit)}"


def last_minute_peak_text(minute: LastMinute) -> str:
    """Like "Highest of 43 samples: 7.9 GiB, 99% of it"."""
    highest = max(minute.values)
    text = tr("Highest of {n} samples: {amount}").format(
        n=count_text(len(minute.values)), amount=bytes_text(highest)
    )
    return f"{text} ({100 * highest / minute.of_bytes:.0f}%)" if minute.of_bytes else text


_SPARKLINE_WIDTH: Final = 48


def last_minute_sparkline(minute: LastMinute) -> str:
    """Sparkline of the last minute: blocks from lowest to highest value, evenly in time."""
    n = min(_SPARKLINE_WIDTH, len(minute.values))
    values = [_at(minute, minute.t_s[0] + minute.seconds * i / (n - 1)) for i in range(n)]
    return sparkline_text(values)


def _at(minute: LastMinute, t_s: float) -> float:
    """RAM at a time, interpolated between two samples, bytes."""
    after = min(max(bisect_right(minute.t_s, t_s), 1), len(minute.t_s) - 1)
    t0 = minute.t_s[after - 1]
    t1 = minute.t_s[after]
    v0 = minute.values[after - 1]
    v1 = minute.values[after]
    return v1 if t1 <= t0 else v0 + (v1 - v0) * (t_s - t0) / (t1 - t0)
