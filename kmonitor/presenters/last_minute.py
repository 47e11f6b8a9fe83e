"""What memory did in the last minute of a process, in words and as a line of blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.presenters.formats import bytes_text, count_text, rate_text, seconds_text
from kmonitor.presenters.language import tr
from kmonitor_agent.protocol.messages import RunSummary, SeriesTold

Floats = NDArray[np.float64]

LAST_S: Final = 60.0
COLUMNS: Final = ("ram_bytes", "ram_of_bytes", "cgroup_limit_bytes")
"""What is asked of the hub."""

_ASKED_S: Final = 90.0
"""The run's last event may come some time after its last sample."""

_BLOCKS: Final = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_WIDTH: Final = 48


@dataclass(frozen=True, slots=True)
class LastMinute:
    """RAM before the end.

    Attributes:
        t_s: Run times of the samples, seconds, the last at most 60 s after the first, `[n]`.
        values: RAM at them, bytes, `[n]`.
        of_bytes: The smaller of host memory and the cgroup's limit; None if not read.
        is_cgroup: Whether that is the cgroup's.
    """

    t_s: Floats
    values: Floats
    of_bytes: float | None = None
    is_cgroup: bool = False

    @property
    def seconds(self) -> float:
        """From the first sample to the last."""
        return float(self.t_s[-1] - self.t_s[0])

    @property
    def bytes_per_s(self) -> float:
        """How fast it changed between them."""
        return float(self.values[-1] - self.values[0]) / max(self.seconds, 1e-9)


def asked_from_s(run: RunSummary) -> float:
    """From which run time on the columns are to be asked, seconds."""
    return max(0.0, run.duration_s - _ASKED_S)


def last_minute(told: SeriesTold) -> LastMinute | None:
    """The last minute of an answer with `COLUMNS`; None where fewer than two samples are."""
    columns = {column.name: _points(column.t_s, column.values) for column in told.columns}
    t_s, values = columns.get("ram_bytes", (np.empty(0), np.empty(0)))
    if not len(t_s):
        return None
    is_last = t_s >= t_s[-1] - LAST_S
    t_s, values = t_s[is_last], values[is_last]
    if len(t_s) < 2 or t_s[-1] <= t_s[0]:  # noqa: PLR2004 - a rate takes two
        return None
    of_bytes, group = _newest(columns, "ram_of_bytes"), _newest(columns, "cgroup_limit_bytes")
    return LastMinute(t_s, values, of_bytes, of_bytes is not None and group == of_bytes)


def last_minute_words(minute: LastMinute) -> str:
    """Like "RAM in the last 58 s: 3.1 GiB to 7.9 GiB, +84 MiB / s; cgroup limit 8 GiB"."""
    text = tr("RAM in the last {time}: {first} to {last}, {rate}").format(
        time=seconds_text(minute.seconds),
        first=bytes_text(float(minute.values[0])),
        last=bytes_text(float(minute.values[-1])),
        rate=rate_text(minute.bytes_per_s, "bytes", tr("s")),
    )
    if minute.of_bytes is None:
        return text
    limit = bytes_text(minute.of_bytes)
    whose = tr("cgroup limit {amount}") if minute.is_cgroup else tr("host memory {amount}")
    return f"{text}; {whose.format(amount=limit)}"


def highest_words(minute: LastMinute) -> str:
    """Like "Highest of 43 samples: 7.9 GiB, 99 % of it"."""
    highest = float(minute.values.max())
    text = tr("Highest of {n} samples: {amount}").format(
        n=count_text(len(minute.values)), amount=bytes_text(highest)
    )
    return f"{text} ({100 * highest / minute.of_bytes:.0f} %)" if minute.of_bytes else text


def blocks(minute: LastMinute) -> str:
    """The same as a line of blocks, from the lowest sample to the highest, evenly in time."""
    n = min(_WIDTH, len(minute.values))
    at: Floats = np.linspace(float(minute.t_s[0]), float(minute.t_s[-1]), n)
    values: Floats = np.interp(at, minute.t_s, minute.values)
    low, high = float(values.min()), float(values.max())
    heights: Floats = (values - low) / max(high - low, 1.0) * (len(_BLOCKS) - 1)
    return "".join(_BLOCKS[round(height)] for height in heights.tolist())


def _newest(columns: Mapping[str, tuple[Floats, Floats]], name: str) -> float | None:
    values = columns.get(name, (np.empty(0), np.empty(0)))[1]
    return float(values[-1]) if len(values) else None


def _points(t_s: bytes, values: bytes) -> tuple[Floats, Floats]:
    times, found = np.frombuffer(t_s, "<f8"), np.frombuffer(values, "<f8")
    is_there = np.isfinite(found)
    return times[is_there], found[is_there]
