"""Actions against growth in a run, and the measured amount that each gave back."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kmonitor.hub.judge.causes import Cause, Remedy
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    Event,
    Footprint,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import TriedAction, VerdictMetric, VerdictState

_RECLAIMS: Final = ("collect", "reload", "restart")
"""Actions that give memory back, the mildest first."""

_QUIET: Final[frozenset[VerdictState]] = frozenset({"measuring", "steady", "cleared"})

_LEAST_BYTES: Final = 2.0**20
"""Smaller amounts come and go at any moment."""


_COLLECT_IN_SCRIPT: Final = frozenset(
    each.name.lower() for each in (Remedy.COLLECT_EACH, Remedy.COLLECT_EACH_FIT)
)
_FOLLOWED: Final = 3
"""Number of collections that the script made, from which it follows that advice."""


@dataclass(slots=True)
class _Tried:
    times: int
    risen_bytes: float
    given_back_bytes: float


class TriedActions:
    """Actions tried in one run, by the metric and cause that grew; owned by the judging thread.

    Memory of the process is compared with the least that it held at an epoch's end since it began
    or last gave something back.
    """

    def __init__(self) -> None:
        self._tried: dict[tuple[VerdictMetric, str, str], _Tried] = {}
        self._collects_of_script = 0
        self._least_bytes = math.nan
        self._before_restart: tuple[str, float] | None = None
        self._is_new_process = False

    def read(self, event: Event, verdicts: Iterable[Verdict]) -> None:
        """Take the next event of the run.

        Args:
            event: Any event.
            verdicts: The newest of each metric; a metric that does not grow needs no help.
        """
        match event:
            case ActionRecord() if event.ok and event.action in _RECLAIMS:
                is_by_script = event.action == "collect" and event.requested_by == "script"
                self._collects_of_script += is_by_script
                self._add(event, verdicts)
            case EpochEnded():
                self._epoch_ended(event.ram_process_bytes)
            case SessionStarted():
                self._is_new_process = True
            case _:
                pass

    def _epoch_ended(self, held: float | None) -> None:
        if held is None:
            return
        if self._before_restart is not None:
            # The memory of a new process is known once it has trained.
            (cause, before), self._before_restart = self._before_restart, None
            self._note("ram", cause, "restart", before, before - held)
        is_new, self._is_new_process = self._is_new_process, False
        self._least_bytes = held if is_new else min(held, self._least_bytes)

    def _add(self, record: ActionRecord, verdicts: Iterable[Verdict]) -> None:
        after_it = record.after or Footprint()
        for verdict in verdicts:
            metric = verdict.metric
            cause = verdict.cause
            before = _held(record.before, metric)
            after = _held(after_it, metric)
            if before is None or after is None or verdict.state in _QUIET:
                continue
            if record.action != "restart":
                given = 0.0 if record.unchanged else before - after
                self._note(metric, cause, record.action, before, given)
            elif metric == "ram":
                self._before_restart = (cause, before)

    def beside(self, verdict: Verdict) -> Verdict:
        """A verdict on growth with the tried actions; its advice leaves out those in vain."""
        if verdict.state in _QUIET:
            return verdict
        tried = self._against(verdict.metric, verdict.cause)
        in_vain = {each.action for each in tried if not each.did_help}
        if "collect" in in_vain or self._collects_of_script >= _FOLLOWED:
            in_vain |= _COLLECT_IN_SCRIPT
        advice = [each for each in verdict.advice if each not in in_vain]
        return replace(verdict, tried=tried, advice=advice)

    def was_in_vain(self, action: str, metric: VerdictMetric, cause: Cause) -> bool:
        """True if the action gave nothing back when this cause, or none, had been named."""
        tried = self._against(metric, cause.name.lower())
        return any(each.action == action and not each.did_help for each in tried)

    def _against(self, metric: VerdictMetric, cause: str) -> list[TriedAction]:
        found: list[TriedAction] = []
        for action in _RECLAIMS:
            before_it_was_named = self._tried.get((metric, "", action))
            each = self._tried.get((metric, cause, action), before_it_was_named)
            if each is not None:
                risen = each.risen_bytes if math.isfinite(each.risen_bytes) else None
                found.append(TriedAction(action, each.times, each.given_back_bytes, risen))
        return found

    def _note(
        self, metric: VerdictMetric, cause: str, action: str, before: float, given: float
    ) -> None:
        given = given if given >= _LEAST_BYTES else 0.0
        risen = before - self._least_bytes if metric == "ram" else math.nan
        tried = self._tried.setdefault((metric, cause, action), _Tried(0, 0.0, 0.0))
        tried.times += 1
        tried.risen_bytes = max(risen, given)
        tried.given_back_bytes = given
        if given and metric == "ram":
            self._least_bytes = before - given


def _held(footprint: Footprint, metric: VerdictMetric) -> float | None:
    if metric == "ram":
        return footprint.ram_process_bytes
    return footprint.allocator_in_use_bytes if metric == "vram" else None
