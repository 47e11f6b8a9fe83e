"""One sentence for each event of interest to a reader."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Final, Literal

from kmonitor.ui.events.action_records import action_icon, record_summary
from kmonitor.ui.events.diagnosis import diagnosis_summary, is_follow_up
from kmonitor.ui.limits.limit_text import limit_action_name, limit_summary, round_amount
from kmonitor.ui.runs.run_states import error_sentence
from kmonitor.ui.studies.folds import describe_fold_end
from kmonitor.ui.text.formats import bytes_text, count_text, epochs_text, steps_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor.ui.text.metrics import metric_amount, metric_name
from kmonitor.ui.verdicts.verdict_text import is_taken_by_others, verdict_log_text
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.commands import CommandName

Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class EventLine:
    """A line of the event log.

    Attributes:
        icon: Name of an icon in `resources/icons`, without ".svg".
        text: One sentence.
        is_action: True if the line is about an action or a request for one.
    """

    icon: str
    level: Level
    text: str
    is_action: bool = False


COMMAND_TITLES: dict[CommandName, str] = {
    "save": later("Save checkpoint"),
    "collect": later("Collect"),
    "reload": later("Save + Clear + Reload"),
    "restart": later("Restart process"),
    "auto": later("Auto"),
    "pause": later("Pause"),
    "resume": later("Resume"),
    "stop": later("Stop training"),
    "diagnose": later("Diagnose"),
    "set_limits": later("Set limits"),
}
"""Titles of the commands, English source."""

_OF_STEPS: Final = frozenset({"no_steps", "steps_again"})
"""Notices that share their text with a run's state."""


@singledispatch
def describe_event(event: events.Event, name: str) -> EventLine | None:
    """Line of one event, or None if the event has no line of its own.

    Args:
        event: Any event; samples, epochs and counts have no line.
        name: Name of the run; empty where the name is shown beside the text.
    """
    del event, name


@describe_event.register
def _session_started(event: events.SessionStarted, name: str) -> EventLine:
    stack = " · ".join(
        f"{package} {event.versions[package]}"
        for package in ("keras", "tensorflow", "jax", "torch")
        if package in event.versions
    )
    if name:
        text = tr("{name} started on {host}, process {pid}")
    else:
        text = tr("Process {pid} started on {host}")
    text = text.format(name=name, host=event.host, pid=event.pid)
    return EventLine("play", "info", f"{text} · {stack}" if stack else text)


@describe_event.register
def _session_ended(event: events.SessionEnded, name: str) -> EventLine:
    match event.why:
        case "finished":
            return EventLine("check", "info", tr("Process finished"))
        case "stopped":
            return EventLine("stop", "info", tr("Process stopped as requested"))
        case "restart":
            return EventLine("restart", "info", tr("Process exited for a restart"))
        case "interrupted":
            return EventLine("stop", "warning", tr("Process was interrupted"))
        case "failed":
            text = tr("{name} failed: {error}") if name else tr("Process failed: {error}")
            text = text.format(name=name, error=_error(event))
            return EventLine("error", "error", text)


@describe_event.register
def _session_died(event: events.SessionDied, name: str) -> EventLine:
    del name
    text = _death_text(event)
    if event.supervisor:
        text += "; " + tr("a new process will start")
    level: Level = "warning" if event.is_requested else "error"
    return EventLine("bolt" if event.is_requested else "error", level, text)


def _death_text(event: events.SessionDied) -> str:
    if event.why and event.is_requested:
        return tr("Process was terminated by {why}").format(why=translated_text(event.why))
    if event.why and event.how != "status":
        return tr("Process died: {why}").format(why=translated_text(event.why))
    match event.how:
        case "memory":
            return tr("Process was killed: out of memory")
        case "signal":
            return tr("Process was terminated by {signal}").format(
                signal=event.signal or tr("a signal")
            )
        case "status":
            return tr("Process ended with exit status {status}").format(status=event.status)


@describe_event.register
def _study(event: events.StudyStarted, name: str) -> EventLine:
    del name
    goes_on = event.tally.over > 0
    if not event.folds:  # a search: nobody knows how many trials it will have
        text = tr("Search: {function}")
        if goes_on:
            text = tr("Search resumed: {function}, {over} already finished")
    elif event.folds == 1:
        text = tr("Study of 1 fold: {function}")
        if goes_on:
            text = tr("Study of 1 fold resumed: {function}, {over} already finished")
    else:
        text = tr("Study of {folds} folds: {function}")
        if goes_on:
            text = tr("Study of {folds} folds resumed: {function}, {over} already finished")
    text = text.format(
        folds=count_text(event.folds), function=event.function, over=count_text(event.tally.over)
    )
    return EventLine("layers", "info", text)


@describe_event.register
def _fold_ended(event: events.FoldEnded, name: str) -> EventLine:
    del name
    icon, is_bad, text = describe_fold_end(event)
    return EventLine(icon, "warning" if is_bad else "info", text)


@describe_event.register
def _model(event: events.ModelFacts, name: str) -> EventLine | None:
    del name
    if event.part != 1:
        return None
    text = tr("Model {model}: {layers} layers, {parameters} parameters ({size})")
    if event.n_layers == 1:
        text = tr("Model {model}: 1 layer, {parameters} parameters ({size})")
    text = text.format(
        model=event.name,
        layers=count_text(event.n_layers),
        parameters=count_text(event.parameters),
        size=bytes_text(event.parameter_bytes),
    )
    if event.slot_bytes:
        text += tr(", {optimizer} state {size}").format(
            optimizer=event.optimizer, size=bytes_text(event.slot_bytes)
        )
    return EventLine("layers", "info", text)


@describe_event.register
def _fit(event: events.FitStarted, name: str) -> EventLine:
    del name
    text = tr("Fit {fit} started: {model}").format(fit=event.fit, model=event.model)
    if event.epochs and event.epochs <= event.initial_epoch:
        return EventLine("play", "info", text + tr(", no epochs left"))
    text += fit_plan_text(event)
    if event.initial_epoch:
        text += tr(", from epoch {epoch}").format(epoch=count_text(event.initial_epoch + 1))
    return EventLine("play", "info", text)


def fit_plan_text(event: events.FitStarted) -> str:
    """Plan of a fit with epochs left, after its name: ", 7 epochs of 100 steps, batch size 64"."""
    text = f", {epochs_text(event.epochs - event.initial_epoch)}" if event.epochs else ""
    if event.steps:
        text += tr(" of {steps}").format(steps=steps_text(event.steps))
    if event.batch_size:
        text += tr(", batch size {size}").format(size=event.batch_size)
    return text


@describe_event.register
def _fit_ended(event: events.FitEnded, name: str) -> EventLine:
    del name
    progress = tr("after {epochs}").format(
        epochs=epochs_text(event.epochs_before + event.epochs_done)
    )
    if event.epochs_before:
        n = count_text(event.epochs_done) if event.epochs_done else tr("none")
        progress += tr(", {n} of them in this process").format(n=n)
    match event.how:
        case "finished":
            text = tr("Fit {fit} finished {done}").format(fit=event.fit, done=progress)
            return EventLine("check", "info", text)
        case "stopped":
            text = tr("Fit {fit} stopped {done}").format(fit=event.fit, done=progress)
            return EventLine("stop", "info", text)
        case "interrupted":
            text = tr("Fit {fit} was interrupted {done}").format(fit=event.fit, done=progress)
            return EventLine("stop", "warning", text)
        case "left":
            text = tr("Fit {fit} ended early {done}: {why}").format(
                fit=event.fit,
                done=progress,
                why=error_sentence(event.message) or tr("its exception was caught"),
            )
            return EventLine("stop", "warning", text)
        case "failed":
            text = tr("Fit {fit} failed {done}: {error}").format(
                fit=event.fit, done=progress, error=_error(event)
            )
            return EventLine("error", "error", text)


@describe_event.register
def _action(event: events.ActionRecord, name: str) -> EventLine:
    del name
    if not event.ok:
        return EventLine("warning", "warning", record_summary(event), is_action=True)
    return EventLine(action_icon(event.action), "info", record_summary(event), is_action=True)


@describe_event.register
def _command(event: events.CommandProgress, name: str) -> EventLine | None:
    del name
    title = tr(COMMAND_TITLES[event.name])
    match event.state:
        case "started" if event.name != "set_limits":
            text = tr("{title} started").format(title=title)
            return EventLine("clock", "info", text, is_action=True)
        case "failed" | "refused" | "expired":
            templates = {
                "failed": tr("{title} failed"),
                "refused": tr("{title} was refused"),
                "expired": tr("{title} arrived too late and was dropped"),
            }
            text = templates[event.state].format(title=title)
            text = f"{text}: {translated_text(event.why)}" if event.why else text
            return EventLine("warning", "warning", text, is_action=True)
        case _:
            # "received" says nothing new; the action's own record reports "done".
            return None


@describe_event.register
def _limits(event: events.LimitsInForce, name: str) -> EventLine:
    del name
    if not event.limits:
        return EventLine("limit", "info", tr("No active limits"), is_action=True)
    limits = ", ".join(limit_summary(limit) for limit in event.limits)
    text = tr("Active limits: {limits}").format(limits=limits)
    return EventLine("limit", "info", text, is_action=True)


@describe_event.register
def _crossing(event: events.LimitCrossed, name: str) -> EventLine:
    del name
    fields = {
        "metric": metric_name(event.metric),
        "value": metric_amount(event.metric, event.value),
        "limit": round_amount(event.metric, event.threshold),
    }
    if not event.crossed:
        text = tr("{metric} is back below its limit of {limit}").format(**fields)
        return EventLine("check", "info", text)
    text = tr("{metric} exceeded its limit of {limit}: {value}").format(**fields)
    if not event.answered:
        text += tr("; no action, because the last one was too recent")
    elif event.action != "notify":
        text += "; " + tr("{action} is next").format(action=limit_action_name(event.action))
    return EventLine("warning", "warning", text)


@describe_event.register
def _paused(event: events.Paused, name: str) -> EventLine:
    del name
    if event.paused:
        return EventLine("pause", "info", tr("Training is paused"), is_action=True)
    return EventLine("play", "info", tr("Training resumed"), is_action=True)


@describe_event.register
def _fault(event: events.Fault, name: str) -> EventLine:
    del name
    text = tr("Internal kmonitor error in {where}, {count} so far: {text}. Training continues")
    filled = text.format(where=event.where, count=event.count, text=event.text)
    return EventLine("warning", "warning", filled)


@describe_event.register
def _diagnosis(event: events.Diagnosis, name: str) -> EventLine:
    del name
    text = tr("Diagnosis after epoch {epoch}: {found}")
    if is_follow_up(event):
        text = tr("Diagnosis up to the end of epoch {epoch}: {found}")
    text = text.format(epoch=event.epoch + 1, found=diagnosis_summary(event))
    return EventLine("diagnose", "info", text, is_action=True)


@describe_event.register
def _notice(event: events.Notice, name: str) -> EventLine:
    del name
    icons = {"info": "info", "warning": "warning", "error": "error"}
    text = translated_text(event.text)
    if event.code in _OF_STEPS:
        text = text[:1].upper() + text[1:]
    return EventLine(icons[event.level], event.level, text)


@describe_event.register
def _events_lost(event: events.LostEvents, name: str) -> EventLine:
    del name
    text = tr("Events {first} to {last} are missing: {why}").format(
        first=event.first, last=event.last, why=translated_text(event.why)
    )
    return EventLine("warning", "warning", text)


@describe_event.register
def _verdict(event: events.Verdict, name: str) -> EventLine | None:
    del name
    # A steady run is no news, and the card has newer figures.
    is_quiet = event.state in {"measuring", "rising", "steady"}
    if not event.turned or (is_quiet and not is_taken_by_others(event)):
        return None
    is_better = event.state in {"cleared", "slowing"}
    level: Level = "info" if is_better else "warning"
    icon = "check" if is_better else "warning"
    return EventLine(icon, level, verdict_log_text(event))


def _error(event: events.SessionEnded | events.FitEnded) -> str:
    kind = event.error_type or tr("unknown error")
    message = error_sentence(event.message)
    return f"{kind}: {message}" if message else kind
