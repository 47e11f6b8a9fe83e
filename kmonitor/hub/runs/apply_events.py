"""Application of events to run records: pure, so that it can be repeated from the database."""

from collections.abc import Callable
from typing import Any

from kmonitor.hub.runs.run_record import MAX_FAULTS, MAX_SOURCES, RunRecord
from kmonitor_agent.wire.messages.commands import STEP_TIME_METRICS
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    ActionRecord,
    AnyEvent,
    CommandProgress,
    EpochEnded,
    EpochStarted,
    Fault,
    FieldSources,
    FitEnded,
    FitStarted,
    FoldEnded,
    FoldStarted,
    GraphSize,
    LimitsInForce,
    LostEvents,
    Paused,
    Sample,
    SessionDied,
    SessionEnded,
    SessionStarted,
    StudyStarted,
)
from kmonitor_agent.wire.messages.fields import clamp_seconds
from kmonitor_agent.wire.messages.readings import extra_sample_values
from kmonitor_agent.wire.messages.unions import MOST_COLUMNS, RunState

_METRIC_FIELDS = (
    "ram_bytes",
    "ram_of_bytes",
    "ram_file_bytes",
    "vram_bytes",
    "vram_of_bytes",
    "graph_operations",
    "step_time_s",
)
_RECLAIMS = frozenset({"save", "collect", "reload", "auto", "diagnose"})
_END_PHASES: dict[str, RunState] = {
    "finished": "finished",
    "failed": "failed",
    "interrupted": "interrupted",
    "stopped": "stopped",
    "restart": "starting",
}

_REQUESTED = "requested by "
"""Begin of a run's reason to stop, before the name of a user or a limit."""

_FIT_ENDS = {
    "failed": "the last fit failed",
    "interrupted": "the last fit was interrupted",
    "left": "the last fit ended early",
}


def apply_event(record: RunRecord, event: AnyEvent) -> float:
    """Apply one event to the record of its run.

    Returns:
        The event's run time, seconds.
    """
    apply = _FOLDS.get(type(event))
    if apply is not None:
        apply(record, event)
        record.clamp()
    run_t_s = clamp_seconds(record.session_offset_s + event.t_s)
    record.last_t_s = max(record.last_t_s, run_t_s)
    return run_t_s


def _session_started(record: RunRecord, event: SessionStarted) -> None:
    is_again = record.is_known and event.session == record.session and not record.supervisor
    if is_again and record.has_first_event:
        return  # sent again, for a hub that had forgotten
    if not record.is_known:
        record.started_wall_s = event.started_wall_s
    elif event.session != record.session:
        # The wall clock places a later process of the run; where it jumped back, run time
        # still goes on.
        after_first_s = event.started_wall_s - record.started_wall_s
        record.session_offset_s = max(after_first_s, record.last_t_s)
    _set_identity(record, event)
    record.supervisor = 0
    if is_again:
        return  # what came since its first event, which was lost, is newer
    record.cause = ""
    record.calls = 0
    record.phase = "idle" if record.fit else "starting"
    record.phase_why = record.liveness = record.liveness_why = ""
    record.faults = {}


def _set_identity(record: RunRecord, event: SessionStarted) -> None:
    if not record.renamed:
        record.name = event.name
    record.session = event.session
    record.session_started_wall_s = event.started_wall_s
    record.host = event.host
    record.pid = event.pid
    record.pid_namespace = event.pid_namespace
    record.versions = event.versions
    record.backend = event.backend or record.backend
    record.actions = event.actions
    record.job = event.job
    record.job_ends_wall_s = event.job_ends_wall_s
    record.rank = event.rank
    record.world_size = event.world_size
    record.group = event.group
    record.study = event.study
    record.fold = event.fold
    record.folds = event.folds
    record.attempt = event.attempt


def _session_ended(record: RunRecord, event: SessionEnded) -> None:
    was_idle = record.phase == "idle"
    record.phase = _END_PHASES[event.why]
    texts = [event.error_type, event.message]
    # A fit that did not end well is worth a word though the process did: sys.exit, say.
    before = record.phase_why if was_idle and event.why in {"finished", "stopped"} else ""
    record.phase_why = ": ".join(text for text in texts if text) or before
    if event.why == "restart":
        record.phase_why = "restarting in a new process"
        record.supervisor = event.supervisor


def _session_died(record: RunRecord, event: SessionDied) -> None:
    record.supervisor = event.supervisor
    record.cause = _cause(event)
    record.last_t_s = max(record.last_t_s, record.session_offset_s + event.t_s)
    is_at_limit = event.how == "signal" and record.ends_at_limit
    if event.supervisor:
        record.phase = "starting"
        record.phase_why = f"{event.why}; restarting in a new process"
        return
    if record.phase == "failed" and event.how == "status":
        return  # the exception that the process reported says more
    is_users = event.is_requested or event.signal == "SIGINT"
    record.phase = "interrupted" if is_users and event.how == "signal" else "failed"
    if event.how == "status" and not event.status:
        record.phase = "finished"  # it was to be started again, and then never came to a fit
    record.phase_why = event.why
    if is_at_limit:
        record.cause = f"time limit ({event.signal})"
        record.phase_why = f"{event.why}, at its job's time limit"


def _cause(event: SessionDied) -> str:
    if event.how == "memory":
        return "out of memory"
    return event.signal or (f"exit status {event.status}" if event.status else "")


def _fit_started(record: RunRecord, event: FitStarted) -> None:
    if event.initial_epoch:  # it goes on: what is known of it is the epoch before, done
        record.epoch = event.initial_epoch - 1
        record.step = event.steps or 0
    elif event.fit != record.fit:  # else the same one again, in a later process
        record.epoch = None
        record.step = 0
    record.fit = event.fit
    record.epochs = event.epochs
    record.steps = event.steps
    record.model = event.model
    record.batch_size = event.batch_size
    record.optimizer = event.optimizer
    record.learning_rate = event.learning_rate
    record.phase = "training"
    record.phase_why = ""


def _fit_ended(record: RunRecord, event: FitEnded) -> None:
    record.fits_done += 1
    record.phase = "idle"
    if event.how == "stopped" and record.phase_why.startswith(_REQUESTED):
        return
    texts = [_FIT_ENDS.get(event.how, ""), event.error_type, event.message]
    record.phase_why = ": ".join(text for text in texts if text)


def _epoch_started(record: RunRecord, event: EpochStarted) -> None:
    record.epoch = event.epoch
    record.step = 0
    if record.phase in {"starting", "idle"}:
        record.phase = "training"
        record.phase_why = ""


def _epoch_ended(record: RunRecord, event: EpochEnded) -> None:
    record.epoch = event.epoch
    record.epochs_done += 1
    record.step = event.steps
    if event.learning_rate is not None:
        record.learning_rate = event.learning_rate
    if event.step_times is not None:
        for metric, field in STEP_TIME_METRICS.items():
            record.metrics.pop(f"{metric}_s", None)
            if (seconds := getattr(event.step_times, field)) is not None:
                record.metrics[f"{metric}_s"] = seconds
        record.metrics["slow_steps_part"] = event.step_times.slow_part
    for part in EPOCH_PARTS if event.parts is not None else ():
        seconds = getattr(event.parts, f"{part}_s")
        if seconds is None:
            record.metrics.pop(f"part_{part}_s", None)
        else:
            record.metrics[f"part_{part}_s"] = seconds


def _sample(record: RunRecord, event: Sample) -> None:
    record.step = event.step if event.fit else record.step
    record.calls = event.calls
    if event.calls and record.phase == "starting":
        record.phase = "idle"
        record.phase_why = ""
    for field in _METRIC_FIELDS:
        value = getattr(event, field)
        # Charts, cards and limits show whole epochs' medians; a running one's only at first.
        is_overruled = field == "step_time_s" and record.epochs_done > 0
        if value is not None and not is_overruled:
            record.metrics[field] = value
    if event.logs or event.more_devices:
        for name, _ in extra_sample_values(event.logs, event.more_devices):
            known = record.extra_columns
            if name not in known and len(known) < MOST_COLUMNS:
                known.append(name)


def _graph(record: RunRecord, event: GraphSize) -> None:
    record.metrics["graph_operations"] = float(event.operations)


def _sources(record: RunRecord, event: FieldSources) -> None:
    for source in event.sources:
        if source.field not in record.sources and len(record.sources) >= MAX_SOURCES:
            continue
        record.sources[source.field] = source
        if source.absent:
            record.metrics.pop(source.field, None)


def _limits(record: RunRecord, event: LimitsInForce) -> None:
    record.limits = event.limits


def _paused(record: RunRecord, event: Paused) -> None:
    if event.paused:
        record.phase = "paused"
    elif record.phase == "paused":
        record.phase = "training" if record.fits_done < record.fit else "idle"


def _command(record: RunRecord, event: CommandProgress) -> None:
    if event.name not in _RECLAIMS:
        return
    if event.state == "started" and record.phase in {"training", "paused", "idle"}:
        record.before_reclaim = record.phase
        record.phase = "reclaiming"
    elif event.state in {"done", "failed"}:
        _end_reclaim(record)


def _action(record: RunRecord, event: ActionRecord) -> None:
    if event.ok and event.checkpoint:
        record.checkpoint_epoch = event.epoch
        record.checkpoint_bytes = event.state_bytes
        record.checkpoint_wall_s = record.session_started_wall_s + event.t_s
    if event.ok and event.action == "stop":
        record.phase_why = f"{_REQUESTED}{event.requested_by}"
    _end_reclaim(record)


def _study(record: RunRecord, event: StudyStarted | FoldStarted | FoldEnded) -> None:
    record.tally = event.tally
    if record.phase in {"starting", "idle"}:
        record.phase = "training"


def _end_reclaim(record: RunRecord) -> None:
    if record.phase == "reclaiming":
        record.phase = record.before_reclaim


def _fault(record: RunRecord, event: Fault) -> None:
    is_full = len(record.faults) >= MAX_FAULTS - 1 and event.where not in record.faults
    where = "other" if is_full else event.where
    record.faults[where] = max(event.count, record.faults.get(where, 0))


def _events_lost(record: RunRecord, event: LostEvents) -> None:
    record.gaps += max(0, event.last - event.first + 1)


_FOLDS: dict[type[AnyEvent], Callable[[RunRecord, Any], None]] = {
    ActionRecord: _action,
    SessionDied: _session_died,
    SessionEnded: _session_ended,
    SessionStarted: _session_started,
    CommandProgress: _command,
    EpochEnded: _epoch_ended,
    EpochStarted: _epoch_started,
    Fault: _fault,
    FitEnded: _fit_ended,
    FitStarted: _fit_started,
    FoldStarted: _study,
    FoldEnded: _study,
    GraphSize: _graph,
    LimitsInForce: _limits,
    LostEvents: _events_lost,
    Paused: _paused,
    Sample: _sample,
    FieldSources: _sources,
    StudyStarted: _study,
}
