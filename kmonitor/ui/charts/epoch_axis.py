"""Conversion of run time to epochs and back; the epochs of all fits lie in a row on one axis."""

from typing import Final

import numpy as np

from kmonitor.ui.plots.chart_state import NO_POINTS, FloatArray

_RECENT_EPOCHS: Final = 5
_RUNNING_AT_MOST: Final = 0.8


class EpochAxis:
    """Axis on which epoch i of the run (over all its fits) lies from i to i + 1; one thread.

    Time between epochs has no width: events from that time lie at the border. The running
    epoch's length is not known; it is assumed to equal that of earlier epochs, and is extended
    once the epoch has lasted longer.

    Attributes:
        version: Counter that grows with every change.
    """

    def __init__(self) -> None:
        self.version = 0
        self._starts: list[float] = []
        self._ends: list[float] = []
        self._now_s = 0.0
        self._start_t_s = self._times = self._epochs = NO_POINTS
        self._usual_s = 0.0

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def start_t_s(self) -> FloatArray:
        """Run times of the epochs' starts, seconds, `[n_epochs]`."""
        return self._start_t_s

    @property
    def end_t_s(self) -> FloatArray:
        """Run times of the epochs' ends, seconds; NaN for a running epoch, `[n_epochs]`."""
        return np.array(self._ends)

    @property
    def end_x(self) -> float:
        """Position of the newest moment, epochs."""
        return float(self.x_of(np.array([self._now_s]))[0])

    def set_epochs(self, start_t_s: FloatArray, end_t_s: FloatArray) -> None:
        """Take all epochs from the hub; epochs that began later are kept.

        Args:
            start_t_s: Run times of starts, rising, `[n_epochs]`.
            end_t_s: Run times of ends, NaN where the epoch has not ended, `[n_epochs]`.
        """
        last = float(start_t_s[-1]) if len(start_t_s) else -1.0
        newer = [i for i, start in enumerate(self._starts) if start > last]
        ended = dict(zip(self._starts, self._ends, strict=True))
        starts = [float(start) for start in start_t_s]
        ends = [
            ended.get(start, float(end)) if np.isnan(end) else float(end)
            for start, end in zip(starts, end_t_s, strict=True)
        ]
        self._ends = ends + [self._ends[i] for i in newer]
        self._starts = starts + [self._starts[i] for i in newer]
        self._changed()

    def epoch_started(self, t_s: float) -> None:
        """Add an epoch that began at this run time; an epoch that is already known is ignored."""
        if not self._starts or t_s > self._starts[-1]:
            self._starts.append(t_s)
            self._ends.append(np.nan)
            self._changed()

    def epoch_ended(self, t_s: float) -> None:
        """End the last epoch at this run time."""
        if self._starts and t_s >= self._starts[-1] and np.isnan(self._ends[-1]):
            self._ends[-1] = t_s
            self._changed()

    def reached(self, t_s: float) -> None:
        """Advance the newest moment to this run time."""
        self._now_s = max(self._now_s, t_s)

    def x_of(self, t_s: FloatArray) -> FloatArray:
        """Positions of run times, epochs; 0 before the first epoch."""
        times, epochs = self._line()
        return np.interp(t_s, times, epochs) if len(times) else np.zeros(len(t_s))

    def t_s_of(self, x: FloatArray) -> FloatArray:
        """Run times of positions, seconds.

        -1 before the first epoch, now from the end of the last.
        """
        times, epochs = self._line()
        if not len(times):
            # All there is lies at 0.
            return np.where(x > 0.0, self._now_s, -1.0)
        inside = np.interp(x, epochs, times)
        # The time before the first epoch and after the last lies at the ends.
        inside[x < epochs[0]] = -1.0
        inside[x >= epochs[-1]] = max(self._now_s, float(times[-1]))
        return inside

    def _changed(self) -> None:
        """Compute the corners of time against epochs, both rising, `[2 * n_epochs]`."""
        self.version += 1
        starts = np.array(self._starts)
        ends = np.array(self._ends)
        self._start_t_s = starts
        # An epoch that was cut off by its process' end lasted until the next one.
        following = np.append(starts[1:], np.nan)
        self._times = np.column_stack((starts, np.where(np.isnan(ends), following, ends))).ravel()
        self._epochs = np.repeat(np.arange(len(starts) + 1.0), 2)[1:-1]
        lengths = (ends - starts)[~np.isnan(ends)][-_RECENT_EPOCHS:]
        self._usual_s = float(np.median(lengths)) if len(lengths) else 0.0

    def _line(self) -> tuple[FloatArray, FloatArray]:
        """Corners of time against epochs, with the running epoch as of now."""
        if self._starts and np.isnan(self._ends[-1]):
            start = self._starts[-1]
            elapsed = self._now_s - start
            self._times[-1] = start + max(self._usual_s, elapsed / _RUNNING_AT_MOST, 1e-6)
        return self._times, self._epochs
