"""Attempts at the folds of a study: state, time and memory of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from kmonitor.ui.runs.run_states import Tone, has_ended
from kmonitor.ui.studies.study_store import StudyRecord, is_search
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.messages.events import FoldEnded, FoldStarted
from kmonitor_agent.wire.messages.unions import RunSummary

MOST_FOLDS: Final = 2000
"""Maximum number of drawn folds; with more the grid is unreadable."""

_STALE_S: Final = 3600.0
"""Maximum time for which a fold's time continues by the clock without reports, seconds."""

FoldState = Literal[
    "queued",
    "again",
    "running",
    "finished",
    "pruned",
    "too_large",
    "failed",
    "error",
    "out_of_memory",
    "timeout",
    "hang",
    "killed",
    "interrupted",
    "lost",
    "not_run",
]
"""`again`: the fold waits for another attempt. `lost`: the fold ran when contact with the study's
process was lost. `not_run`: the study ended before the fold's turn. `pruned`, `too_large`,
`failed`: a trial of a search that returned without a value."""

_STATE_STYLES: Final[dict[FoldState, tuple[str, str, Tone]]] = {
    "queued": ("clock", later("Waiting"), "mute"),
    "again": ("restart", later("Waiting to retry"), "warn"),
    "running": ("play", later("Running"), "accent"),
    "finished": ("check", later("Finished"), "ok"),
    "pruned": ("check", later("Pruned"), "mute"),
    "too_large": ("warning", later("Too large"), "warn"),
    "failed": ("error", later("Failed"), "crit"),
    "error": ("error", later("Error"), "crit"),
    "out_of_memory": ("warning", later("Out of memory"), "crit"),
    "timeout": ("clock", later("Timeout"), "crit"),
    "hang": ("pause", later("Hung"), "crit"),
    "killed": ("bolt", later("Killed"), "crit"),
    "interrupted": ("stop", later("Interrupted"), "warn"),
    "lost": ("unplug", later("Lost"), "crit"),
    "not_run": ("idle", later("Not run"), "mute"),
}


@dataclass(frozen=True, slots=True)
class AttemptState:
    """One attempt at a fold, or a fold without an attempt yet.

    Attributes:
        fold: Index, from 0.
        attempt: Number from 1; 0: none has begun.
        icon, label, tone: The state as displayed.
        why: Details of the state; may be empty.
        run: Id of the fold's run; empty: it has none.
        seconds: Run time so far, or total; None: the attempt has not begun.
        forecast_s: Estimated total run time; None: the attempt is over, or the estimate is not
            known.
        limit_s: Maximum run time; None: the attempt is over, or the maximum is not known yet.
        share: Completed fraction of the work, 0..1; None: not known.
        steps: Number of completed steps; None: not known yet.
        ram_bytes: Peak memory of its processes; current memory while the attempt runs.
        growth_bytes: Growth from start to end; None while the attempt runs.
        vram_bytes: Peak on its GPU; None: no GPU is used, or the peak is not known.
        device: GPU that the attempt is pinned to; may be empty.
        resumed: True if the attempt continues where the previous one was killed.
        noun: "fold" or "trial", for texts.
    """

    fold: int
    attempt: int
    state: FoldState
    icon: str
    label: str
    tone: Tone
    why: str = ""
    run: str = ""
    seconds: float | None = None
    forecast_s: float | None = None
    limit_s: float | None = None
    share: float | None = None
    steps: int | None = None
    ram_bytes: float | None = None
    growth_bytes: float | None = None
    vram_bytes: float | None = None
    device: str = ""
    resumed: bool = False
    noun: Noun = "fold"

    @property
    def is_running(self) -> bool:
        return self.state == "running"


def attempts_by_fold(
    study: RunSummary,
    record: StudyRecord,
    runs: Mapping[int, RunSummary],
    *,
    now_wall_s: float,
) -> tuple[tuple[AttemptState, ...], ...]:
    """Return all attempts at each fold, the oldest first; a fold without one is shown as waiting.

    Args:
        study: The study's own run.
        runs: The folds' own runs, by fold.
        now_wall_s: Now, UTC epoch seconds.
    """
    count = min(max(study.folds, record.count), MOST_FOLDS)
    return tuple(_tries(fold, study, record, runs.get(fold), now_wall_s) for fold in range(count))


def last_attempts(tries: Sequence[Sequence[AttemptState]]) -> tuple[AttemptState, ...]:
    return tuple(each[-1] for each in tries)


def fold_name(fold: int, noun: Noun = "fold") -> str:
    """Name of a fold: "fold 2", from 0 as in the script; of a search "trial 2"."""
    template = tr("fold {n}") if noun == "fold" else tr("trial {n}")
    return template.format(n=fold)


def fold_text(fold: AttemptState) -> str:
    """Describe a fold in one sentence: "fold 2: Out of memory, its processes held 4.1 GiB"."""
    text = f"{fold_name(fold.fold, fold.noun)}: {fold.label}"
    if fold.attempt > 1:
        text = tr("{fold}, attempt {n}").format(fold=text, n=fold.attempt)
    return f"{text}, {fold.why}" if fold.why else text


def describe_fold_end(event: FoldEnded) -> tuple[str, bool, str]:
    """Icon of an attempt's end, True if the end is a failure, and the end in one sentence."""
    ended = _ended(event, "")
    text = fold_text(ended)
    if event.again:
        text = tr("{fold}; it will be retried").format(fold=text)
    return ended.icon, ended.tone in {"warn", "crit"}, text


def _tries(
    fold: int, study: RunSummary, record: StudyRecord, run: RunSummary | None, now_wall_s: float
) -> tuple[AttemptState, ...]:
    run_id = run.run if run is not None else ""
    ended = record.ended(fold)
    started = record.running(fold)
    over = has_ended(study)
    found = [_ended(each, run_id) for each in ended]
    if started is not None:
        found.append(_running(started, study, record, run, now_wall_s))
    elif not ended:
        found.append(_attempt_state(fold, 0, "not_run" if over else "queued"))
    elif ended[-1].again and not over:
        found.append(replace(_attempt_state(fold, ended[-1].attempt, "again"), run=run_id))
    noun: Noun = "trial" if is_search(study) else "fold"
    return tuple(replace(each, noun=noun) for each in found)


def _running(
    started: FoldStarted,
    study: RunSummary,
    record: StudyRecord,
    run: RunSummary | None,
    now_wall_s: float,
) -> AttemptState:
    state: FoldState = "running"
    if has_ended(study):
        state = "interrupted" if study.state == "interrupted" else "lost"
    icon, label, tone = _STATE_STYLES[state]
    seen = record.progress(started.fold, started.attempt)
    seconds = seen.fold_progress.seconds if seen is not None else None
    if state == "running":
        reported_wall_s = (
            study.started_wall_s + seen.t_s if seen is not None else started.started_wall_s
        )
        since_s = min(_STALE_S, max(0.0, now_wall_s - reported_wall_s))
        seconds = (seconds or 0.0) + since_s
    is_on = state == "running" and seen is not None
    return AttemptState(
        fold=started.fold,
        attempt=started.attempt,
        state=state,
        icon=icon,
        label=tr(label),
        tone=tone,
        why="" if state == "running" else tr("still running when the study ended"),
        run=run.run if run is not None else "",
        seconds=seconds,
        forecast_s=seen.fold_progress.forecast_s if is_on and seen is not None else None,
        limit_s=seen.fold_progress.limit_s if is_on and seen is not None else None,
        share=_share(run, None if seen is None else seen.fold_progress.share) if is_on else None,
        ram_bytes=seen.fold_progress.held_bytes or None if seen is not None else None,
        vram_bytes=run.vram.value if run is not None and not run.vram.absent else None,
        device=started.device,
        resumed=started.resumed,
    )


def _share(run: RunSummary | None, reported: float | None) -> float | None:
    """The fold's own run reports every second, the study less often; a search has many fits."""
    if run is None or reported is None or not run.epochs or run.epoch is None or run.fit != 1:
        return reported
    within = min(1.0, run.step / run.steps) if run.steps else 0.0
    return max(reported, min(1.0, (run.epoch + within) / run.epochs))


def _ended(each: FoldEnded, run: str) -> AttemptState:
    state: FoldState = each.outcome or each.cause
    icon, label, tone = _STATE_STYLES[state]
    text = tr(label)
    if each.signal:
        text = f"{text} ({each.signal})"
    lines = translated_text(each.why).strip().splitlines()
    return AttemptState(
        fold=each.fold,
        attempt=each.attempt,
        state=state,
        icon=icon,
        label=text,
        tone=tone,
        why=lines[0] if lines else "",
        run=run,
        seconds=each.seconds,
        share=1.0 if each.cause == "finished" else None,
        steps=each.steps,
        ram_bytes=each.peak_bytes,
        growth_bytes=each.growth_bytes,
        vram_bytes=each.vram_bytes,
        device=each.device,
        resumed=each.resumed,
        noun=each.noun,
    )


def _attempt_state(fold: int, attempt: int, state: FoldState) -> AttemptState:
    icon, label, tone = _STATE_STYLES[state]
    return AttemptState(fold, attempt, state, icon, tr(label), tone)
