"""Limits of the selected run: in force, requested, or possible."""

import math
from dataclasses import dataclass

from kmonitor.ui.limits.limit_text import limit_action_name, round_amount, threshold_value
from kmonitor.ui.runs.sent_commands import CommandStore, SentCommand
from kmonitor.ui.text.formats import byte_unit, unit_bytes
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS
from kmonitor_agent.wire.messages.commands import (
    LimitAction,
    LimitMetric,
    LimitSpec,
    SetLimits,
)
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary

CHART_METRICS: tuple[LimitMetric, ...] = ("vram", "ram", "graph", "step_time")
RECLAIM_ACTIONS: tuple[LimitAction, ...] = ("collect", "reload", "auto", "restart")
"""Actions at a limit that reclaim memory, lightest first."""

_STRENGTH: dict[LimitAction, int] = {
    "notify": 0,
    "save": 1,
    "collect": 2,
    "reload": 3,
    "auto": 4,
    "restart": 5,
    "stop": 6,
}


@dataclass(frozen=True, slots=True)
class LimitLine:
    """The limit that a chart draws.

    Attributes:
        value: Threshold in the metric's unit.
        text: "limit 72 GiB, reload".
        is_pending: True if the limit was requested but not yet acknowledged by the process.
    """

    value: float
    text: str
    is_pending: bool
    action: LimitAction


@dataclass(frozen=True, slots=True)
class _Pending:
    limit: LimitSpec | None
    command: str


class LimitStore:
    """Requests limits and shows them as pending until the process confirms; main thread only.

    Attributes:
        reloads: True if a new limit acts; else it only notifies.
        answer: Action of a new limit: one of `RECLAIM_ACTIONS`.
    """

    def __init__(self, commands: CommandStore, *, user: str) -> None:
        self._commands = commands
        self._user = user[:200] or "window"
        self._pending: dict[tuple[str, LimitMetric], _Pending] = {}
        self.reloads = True
        self.answer: LimitAction = "reload"

    def line(self, run: RunSummary, metric: LimitMetric) -> LimitLine | None:
        """Return the limit to draw on a metric's chart; None: there is none."""
        pending = self._pending.get((run.run, metric))
        limit = pending.limit if pending else strongest_limit(run, metric)
        value = threshold_value(limit, metric_reading(run, metric).of) if limit else None
        if limit is None or value is None:
            return None
        text = tr("limit {value}, {action}").format(
            value=round_amount(metric, value), action=limit_action_name(limit.action)
        )
        if pending:
            text = tr("{limit} \u00b7 requested").format(limit=text)
        return LimitLine(value, text, pending is not None, limit.action)

    def request_value(self, run: RunSummary, metric: LimitMetric, value: float) -> None:
        """Request this value for the metric's limit; the other limits on the metric stay."""
        old = strongest_limit(run, metric)
        action: LimitAction = old.action if old and old.action != "notify" else self._action(run)
        limit = LimitSpec(
            metric=metric,
            value=round_threshold(metric, value),
            action=action,
            hold_s=old.hold_s if old else 0.0,
            cooldown_s=old.cooldown_s if old else 60.0,
            set_by=self._user,
        )
        self._replace(run, metric, old, limit)

    def remove(self, run: RunSummary, metric: LimitMetric) -> None:
        """Request the removal of the metric's limit; the other limits on the metric stay."""
        self._replace(run, metric, strongest_limit(run, metric), None)

    def reload_at_limits(self, run: RunSummary | None, *, on: bool) -> None:
        """Let limits act from now on, or only notify. Limits in force are changed as well."""
        shown = self.shown_answer(run)
        self.reloads = on
        if run is not None:
            self._change(run, ("notify", shown), shown if on else "notify")

    def answer_with(self, run: RunSummary | None, action: LimitAction) -> None:
        """Set the action of limits. Limits in force that had the same action are changed too."""
        shown = self.shown_answer(run)
        self.reloads = True
        self.answer = action
        if run is not None:
            self._change(run, ("notify", shown), action)

    def shown_answer(self, run: RunSummary | None) -> LimitAction:
        """Action of the strongest limit in force, else of a new limit."""
        held = _strongest(
            [each for each in run.limits if each.action in RECLAIM_ACTIONS] if run else []
        )
        if held is not None:
            return held.action
        return self._possible(run) if run is not None else self.answer

    def change_action(self, run: RunSummary, metric: LimitMetric, action: LimitAction) -> None:
        """Request this action for the metric's limit; its threshold and the other limits stay."""
        old = strongest_limit(run, metric)
        if old is not None and old.action != action:
            self._replace(run, metric, old, _with_action(old, action))

    def drop_confirmed(self, run: RunSummary) -> None:
        """Drop requests that the process has confirmed."""
        for key in [k for k in self._pending if k[0] == run.run]:
            if _is_same_limit(self._pending[key].limit, strongest_limit(run, key[1])):
                del self._pending[key]

    def ended(self, command: SentCommand) -> None:
        """Process the end of a command: if it failed, its pending limit is removed."""
        if command.state == "done" or command.is_open:
            return
        for key in [k for k, p in self._pending.items() if p.command == command.message.id]:
            del self._pending[key]

    def has_pending(self, run: str) -> bool:
        """True if a request is not confirmed by the process."""
        return any(key[0] == run for key in self._pending)

    def _action(self, run: RunSummary) -> LimitAction:
        return self._possible(run) if self.reloads else "notify"

    def _possible(self, run: RunSummary) -> LimitAction:
        """Action of a new limit of this run: the chosen one, else reload, else notify."""
        can: list[LimitAction] = [each for each in (self.answer, "reload") if each in run.actions]
        return can[0] if can else "notify"

    def _change(
        self, run: RunSummary, of: tuple[LimitAction, LimitAction], to: LimitAction
    ) -> None:
        """Request the action `to` for limits in force whose action is one of `of`."""
        if "set_limits" not in run.actions:
            return
        limits = [_with_action(each, to) if each.action in of else each for each in run.limits]
        if limits == run.limits:
            return
        metrics = _metrics_of(limits)
        command = self._commands.send(run, "set_limits", SetLimits(metrics, limits))
        for metric in metrics:
            changed = [limit for limit in limits if limit.metric == metric]
            self._pending[run.run, metric] = _Pending(_strongest(changed), command)

    def _replace(
        self,
        run: RunSummary,
        metric: LimitMetric,
        old: LimitSpec | None,
        new: LimitSpec | None,
    ) -> None:
        others = [lim for lim in run.limits if lim.metric == metric and lim is not old]
        limits = [*others, new] if new else others
        command = self._commands.send(run, "set_limits", SetLimits([metric], limits))
        self._pending[run.run, metric] = _Pending(_strongest(limits), command)


def metric_reading(run: RunSummary, metric: LimitMetric) -> MetricReading:
    match metric:
        case "ram":
            return run.ram
        case "vram":
            return run.vram
        case "graph":
            return run.graph
        case "step_time":
            return run.step_time
        case _:  # no chart of the four: the summary has none
            return MetricReading()


def strongest_limit(run: RunSummary, metric: LimitMetric) -> LimitSpec | None:
    """Return the limit on a metric with the strongest action, which its chart draws."""
    return _strongest([limit for limit in run.limits if limit.metric == metric])


def round_threshold(metric: LimitMetric, value: float) -> float:
    """Round a dragged value as shown: three digits in its unit, whole operations."""
    if value <= 0:
        return 0.0
    if METRIC_UNITS[metric] != "bytes":
        digits = 2 - math.floor(math.log10(value))
        rounded = round(value, digits)
        return rounded if METRIC_UNITS[metric] == "seconds" else float(round(rounded))
    unit = unit_bytes(byte_unit(value))
    size = value / unit
    return round(size, max(0, 2 - math.floor(math.log10(size)))) * unit


def _strongest(limits: list[LimitSpec]) -> LimitSpec | None:
    return max(limits, key=lambda limit: _STRENGTH[limit.action], default=None)


def _with_action(limit: LimitSpec, action: LimitAction) -> LimitSpec:
    return LimitSpec(
        metric=limit.metric,
        value=limit.value,
        fraction=limit.fraction,
        action=action,
        hold_s=limit.hold_s,
        cooldown_s=limit.cooldown_s,
        set_by=limit.set_by,
    )


def _metrics_of(limits: list[LimitSpec]) -> list[LimitMetric]:
    metrics: list[LimitMetric] = []
    for limit in limits:
        if limit.metric not in metrics:
            metrics.append(limit.metric)
    return metrics


def _is_same_limit(requested: LimitSpec | None, held: LimitSpec | None) -> bool:
    if requested is None or held is None:
        return requested is held
    return (requested.value, requested.fraction, requested.action) == (
        held.value,
        held.fraction,
        held.action,
    )
