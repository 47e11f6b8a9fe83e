"""Monitor of runs that make no step for longer than ever before; notes when it begins and ends."""

from dataclasses import dataclass, field
from typing import Final

from kmonitor.hub.ingest.connections import MAX_CONNECTIONS
from kmonitor.hub.judge.slowness.stall_detector import Stall, StallDetector
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    EpochEnded,
    EpochStarted,
    FitEnded,
    FitStarted,
    LimitCrossed,
    Notice,
    Sample,
    SessionDied,
    SessionEnded,
    SessionStarted,
)

_MOST: Final = MAX_CONNECTIONS
"""Maximum number of followed runs; above it, the first ones are dropped."""

_WHOLE_S: Final = 10.0
"""Duration from which on tenths of a second are not shown."""


@dataclass(slots=True)
class _Followed:
    stall_detector: StallDetector = field(default_factory=StallDetector)
    is_action_due: bool = False


class StallMonitor:
    """Owned by the hub's main thread; receives the events that the event log takes.

    Pauses learned of a run are not stored: after a start of the hub they are learned again, and a
    stall that was noted lasts until a step is made.
    """

    def __init__(self, log: HubEventLog) -> None:
        self._event_log = log
        self._runs: dict[str, _Followed] = {}

    def on_event(self, record: RunRecord, event: AnyEvent | None) -> None:
        """Take an event of a run; None: an event of unknown type."""
        if record.study:
            return  # who runs its folds has bounds of its own, and ends them
        t_s = 0.0 if event is None else record.session_offset_s + event.t_s
        match event:
            case Sample():
                self._check_sample(record, event, t_s)
            case FitStarted() | EpochEnded() | FitEnded():
                self._train(record, event, t_s)
            case EpochStarted():
                self._of(record).is_action_due = False  # the last safe point for it is behind
            case LimitCrossed() | ActionRecord() | Notice(code="not_done"):
                self._act(record, event, t_s)
            case SessionStarted() | SessionEnded() | SessionDied():
                self._live(record, event)
            case _:
                pass

    def _train(
        self, record: RunRecord, event: FitStarted | EpochEnded | FitEnded, t_s: float
    ) -> None:
        silence = self._of(record).stall_detector
        if isinstance(event, EpochEnded):
            silence.end_epoch(event.steps)
            return
        _clear(record)
        silence.end_fit()
        if isinstance(event, FitStarted):
            steps = event.steps
            per_call = event.steps_per_execution
            silence.begin_fit(t_s, steps=steps, per_call=per_call)

    def _act(
        self, record: RunRecord, event: LimitCrossed | ActionRecord | Notice, t_s: float
    ) -> None:
        followed = self._of(record)
        if isinstance(event, LimitCrossed):
            # Its action runs at the next safe point, whose beginning is not reported.
            needs_action = event.crossed and event.answered and event.action != "notify"
            followed.is_action_due = followed.is_action_due or needs_action
            return
        followed.is_action_due = False
        self._excuse(record, t_s)

    def _live(self, record: RunRecord, event: SessionStarted | SessionEnded | SessionDied) -> None:
        _clear(record)
        if isinstance(event, SessionStarted):
            followed = self._of(record)
            followed.stall_detector.end_fit()
            followed.stall_detector.interval_s = event.sample_interval_s
            followed.is_action_due = False
        elif record.is_over:
            self._runs.pop(record.run, None)

    def _of(self, record: RunRecord) -> _Followed:
        found = self._runs.setdefault(record.run, _Followed())
        if len(self._runs) > _MOST:
            del self._runs[next(iter(self._runs))]
        return found

    def _check_sample(self, record: RunRecord, event: Sample, t_s: float) -> None:
        followed = self._of(record)
        if record.phase != "training" or not event.fit or followed.is_action_due:
            self._excuse(record, t_s)
            return
        silence = followed.stall_detector
        was = record.stalled_since_s
        if not silence.is_in_fit:
            silence.join_fit(t_s, event.epoch, event.step, steps=record.steps)
            return
        stall = silence.check(t_s, event.epoch, event.step)
        if stall is not None:
            why = f"{_stall_text(stall)}{_pressure_text(event)}"
            record.stalled_since_s = stall.since_s
            record.stalled_why = why
            if was is None:
                self._event_log.notify(record, t_s, "warning", "no_steps", record.stalled_why)
        elif was is not None and silence.is_moving:
            _clear(record)
            text = f"steps are running again after {t_s - was:.0f} s without a step"
            self._event_log.notify(record, t_s, "info", "steps_again", text)

    def _excuse(self, record: RunRecord, t_s: float) -> None:
        _clear(record)
        self._of(record).stall_detector.excuse_until(t_s)


def _clear(record: RunRecord) -> None:
    record.stalled_since_s = None
    record.stalled_why = ""


_MUCH_MEMORY: Final = 0.2
_MUCH_DISK: Final = 0.5
"""Fractions of the time in which a task waits that explain a stall."""


def _pressure_text(sample: Sample) -> str:
    memory = sample.memory_pressure_fraction or 0.0
    disk = sample.io_pressure_fraction or 0.0
    if memory >= _MUCH_MEMORY:
        return f"; tasks are waiting for memory {100 * memory:.0f}% of the time"
    if disk >= _MUCH_DISK:
        return f"; tasks are waiting for the disk {100 * disk:.0f}% of the time"
    return ""


def _stall_text(stall: Stall) -> str:
    longest = f"{stall.longest_s:.2g}" if stall.longest_s < _WHOLE_S else f"{stall.longest_s:.0f}"
    where = f"{stall.fit_stage.value}; the longest pause before that was {longest} s"
    return f"no step for {stall.silent_s:.0f} s {where}"
