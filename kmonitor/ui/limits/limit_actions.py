"""Actions at the selected run's limits: those in force, and the choices."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.limits.limit_store import (
    CHART_METRICS,
    RECLAIM_ACTIONS,
    LimitStore,
    metric_reading,
    strongest_limit,
)
from kmonitor.ui.limits.limit_text import limit_action_text, round_amount, threshold_value
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import is_on_host, metric_name_in_sentence
from kmonitor_agent.wire.messages.commands import LimitAction, LimitMetric
from kmonitor_agent.wire.messages.unions import RunSummary

_AT_ONE_LIMIT: Final[tuple[LimitAction, ...]] = ("notify", "save", *RECLAIM_ACTIONS, "stop")


@dataclass(frozen=True, slots=True)
class LimitActionChoice:
    """One possible action of limits.

    Attributes:
        title: Text of the choice.
        is_chosen: True if this is the current action.
    """

    action: LimitAction
    title: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class LimitActionsState:
    """The part on limits.

    Attributes:
        title: Text of the switch: "Reload automatically".
        is_on: True if limits carry out the action.
        is_enabled: True if the user can change the switch.
        tooltip: Reason why the user cannot change the switch.
        outcome_text: Action that will be carried out at a limit.
        choices: Possible actions of limits; fewer than two: there is no choice.
    """

    title: str
    is_on: bool
    is_enabled: bool
    tooltip: str
    outcome_text: str
    choices: tuple[LimitActionChoice, ...] = ()


def limit_actions_state(run: RunSummary, limits: LimitStore, why_not: str) -> LimitActionsState:
    """Return the actions at this run's limits.

    Args:
        limits: Limits of the run, and the action of new ones.
        why_not: Reason why the run accepts no requests; empty if it does.
    """
    held: list[LimitMetric] = [m for m in CHART_METRICS if strongest_limit(run, m)]
    answering = [limit.action in RECLAIM_ACTIONS for limit in run.limits]
    is_on = any(answering) if answering else limits.reloads
    can: list[LimitAction] = [action for action in RECLAIM_ACTIONS if action in run.actions]
    if not why_not and not can:
        why_not = tr("A reload is not possible in this process.")
        is_on = False
    if limits.has_pending(run.run):
        is_on = limits.reloads
    shown = limits.shown_answer(run)
    return LimitActionsState(
        _switch_title(shown),
        is_on,
        not why_not,
        why_not,
        _outcome_text(run, held, shown if is_on else "notify", can_set=not why_not),
        tuple(LimitActionChoice(each, limit_action_text(each), each == shown) for each in can),
    )


def limit_action_choices(run: RunSummary, metric: LimitMetric) -> tuple[LimitActionChoice, ...]:
    """Return the choices for the limit on one metric; empty if there is no limit."""
    limit = strongest_limit(run, metric)
    if limit is None:
        return ()
    return tuple(
        LimitActionChoice(each, limit_action_text(each), each == limit.action)
        for each in _AT_ONE_LIMIT
        if each == "notify" or each in run.actions or each == limit.action
    )


def _switch_title(action: LimitAction) -> str:
    match action:
        case "collect":
            return tr("Collect automatically")
        case "restart":
            return tr("Restart automatically")
        case "auto":
            return tr("Reclaim automatically")
        case _:
            return tr("Reload automatically")


def _outcome_text(
    run: RunSummary, held: list[LimitMetric], shown: LimitAction, *, can_set: bool
) -> str:
    if has_ended(run):
        return tr("The run has ended; its limits are no longer monitored.")
    if not held and not can_set:
        return tr("No limit is set.")
    if not held:
        lead = tr("No limit is set. Drag the dotted line in a chart:")
        outcome = _action_text(shown, [tr("it is exceeded")], lead=True)
        return f"{lead} {outcome}"
    by_action: dict[LimitAction, list[str]] = {}
    for metric in held:
        limit = strongest_limit(run, metric)
        value = threshold_value(limit, metric_reading(run, metric).of) if limit else None
        if limit is not None and value is not None:
            name = metric_name_in_sentence(metric, on_host=is_on_host(run, metric))
            outcome = tr("{metric} exceeds {value}").format(
                metric=name, value=round_amount(metric, value)
            )
            by_action.setdefault(limit.action, []).append(outcome)
    can_restart = "restart" in run.actions
    return " ".join(
        _action_text(action, outcome, can_restart=can_restart)
        for action, outcome in by_action.items()
    )


def _action_text(
    action: LimitAction, crossings: list[str], *, lead: bool = False, can_restart: bool = False
) -> str:
    text = _crossing_template(action, can_restart=can_restart).format(
        when=tr(" or ").join(crossings)
    )
    return text[:1].lower() + text[1:] if lead else text


def _crossing_template(action: LimitAction, *, can_restart: bool) -> str:
    by_needs = (
        tr("When {when}, kmonitor collects, then reloads, then restarts, as needed.")
        if can_restart
        else tr("When {when}, kmonitor collects, then reloads, as needed.")
    )
    texts: dict[LimitAction, str] = {
        "reload": tr(
            "When {when}, kmonitor saves, clears and reloads the model after the current epoch."
        ),
        "notify": tr("When {when}, kmonitor notifies you here."),
        "stop": tr("When {when}, training stops after the current epoch."),
        "save": tr("When {when}, a checkpoint is saved after the current epoch."),
        "collect": tr("When {when}, kmonitor collects after the current epoch."),
        "restart": tr("When {when}, training restarts in a new process and continues."),
        "auto": by_needs,
    }
    return texts[action]
