"""`auto` at a safe point: level by level for a limit, at most a reload for other requests."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kmonitor_agent.limit_watch import (
    JUDGED_AT_ONCE,
    RELEASE_PART,
    EscalationLevel,
    GrowthCause,
    LimitWatch,
)
from kmonitor_agent.recording.action_requests import ActionRequest
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.wire.messages.commands import CommandState
from kmonitor_agent.wire.messages.events import ActionRecord, Footprint
from kmonitor_agent.wire.messages.fields import MAX_TEXT

PART_OF: Final = "auto"

Act = Callable[[Fit, ActionRequest, int], ActionRecord | None]
"""Carries out one level and keeps its record; None when it will be done after the safe point, and
the end of the request is reported from there."""


class AutoExecutor:
    """Carries out `auto`; on the training thread, one request at a time."""

    def __init__(
        self,
        *,
        limits: LimitEnforcer,
        act: Act,
        report_progress: Callable[[ActionRequest, CommandState, str], None],
    ) -> None:
        """Nothing is carried out yet.

        Args:
            limits: Holds the escalation of each limit.
            act: Carries out a level.
            report_progress: Reports a command's state.
        """
        self._limits = limits
        self._act = act
        self._report_progress = report_progress

    def perform(self, fit: Fit, request: ActionRequest, step: int) -> None:
        """Do what is due.

        Args:
            fit: At whose safe point this runs.
            request: For `auto`.
            step: Steps done in the running epoch; 0 at its end.
        """
        if request.watch is not None:
            self._escalate(fit, request, request.watch, step)
        else:
            self._collect_then_reload(fit, request, step)

    def _escalate(self, fit: Fit, request: ActionRequest, watch: LimitWatch, step: int) -> None:
        """Level after level until one may have helped; the readings that follow judge it."""
        escalation = watch.escalation
        cause: GrowthCause = "traces" if _leaves_traces(fit) else "other"
        futile = [] if escalation is None else escalation.futile(cause)
        why_not = dict.fromkeys(futile, _FUTILE) | _why_not(fit)
        while (level := self._limits.next_step(watch, why_not)) not in ("wait", "nothing"):
            record = self._act(fit, replace(request, action=level, part_of=PART_OF), step)
            if record is None:
                return
            if escalation is not None and record.ok:
                escalation.note_outcome(level, cause, gave_back=not record.unchanged)
            if record.ok and _may_have_helped(record, watch):
                self._limits.reset_base(watch)
                return
        if level == "nothing":
            self._limits.report_exhausted(watch)

    def _collect_then_reload(self, fit: Fit, request: ActionRequest, step: int) -> None:
        # Nothing was measured that would call for a new process: never a restart.
        why_not = _why_not(fit)
        record: ActionRecord | None = None
        levels: tuple[EscalationLevel, ...] = ("collect", "reload")
        for level in levels:
            if level in why_not:
                continue
            record = self._act(fit, replace(request, action=level, part_of=PART_OF), step)
            if record is None:
                return
            if record.ok and _is_enough(fit, record):
                break
        if record is None:
            self._report_progress(request, "failed", "; ".join(dict.fromkeys(why_not.values())))
        else:
            why = "; ".join(filter(None, (record.unchanged, record.why)))[:MAX_TEXT]
            self._report_progress(request, "done" if record.ok else "failed", why)


_FUTILE: Final = "it freed nothing before"


def _leaves_traces(fit: Fit) -> bool:
    """Whether there are traces of models that are gone, which a collect or reload releases."""
    return bool(fit.framework.graph(fit.model()).retained)


def _why_not(fit: Fit) -> dict[EscalationLevel, str]:
    unavailable = fit.framework.info().unavailable
    why_not: dict[EscalationLevel, str] = {"restart": fit.why_not_restart}
    why_not["collect"] = unavailable.get("collect", "")
    if fit.fit_in_parts is None:  # else another model object takes over, which needs nothing
        why_not["reload"] = unavailable.get("reload", "")
    return {level: why for level, why in why_not.items() if why}


def _may_have_helped(record: ActionRecord, watch: LimitWatch) -> bool:
    """Whether the readings after an action are worth waiting for."""
    if watch.spec.metric in JUDGED_AT_ONCE or record.action != "collect":
        return True
    return record.released_traces > 0 or _fell(record, watch.spec.metric)


def _fell(record: ActionRecord, metric: str) -> bool:
    if record.after is None:
        return False
    before = _memory(record.before, metric)
    after = _memory(record.after, metric)
    return before is not None and after is not None and after <= RELEASE_PART * before


def _memory(footprint: Footprint, metric: str) -> float | None:
    return footprint.ram_process_bytes if metric == "ram" else footprint.allocator_in_use_bytes


def _is_enough(fit: Fit, record: ActionRecord) -> bool:
    """Whether a collect was all there is to do: it gave something back and left no debt."""
    return record.action == "reload" or (record.released_traces > 0 and not _leaves_traces(fit))
