"""What can be asked of the selected run, and what will happen at its limits."""

from dataclasses import dataclass
from typing import Literal

from kmonitor.presenters.command_desk import AskedCommand, CommandDesk
from kmonitor.presenters.event_sentences import COMMAND_TITLES
from kmonitor.presenters.formats import bytes_text, count_text, duration_text
from kmonitor.presenters.language import tr
from kmonitor.presenters.limit_desk import CHART_METRICS, LimitDesk, metric_now, strongest_limit
from kmonitor.presenters.limit_words import (
    metric_in_sentence,
    round_amount,
    threshold_value,
)
from kmonitor.presenters.run_states import has_ended, state_picture
from kmonitor_agent.protocol.commands import CommandName, LimitAction, LimitMetric
from kmonitor_agent.protocol.messages import RunSummary

ButtonKind = Literal["plain", "primary", "danger"]


@dataclass(frozen=True, slots=True)
class ButtonPicture:
    """One action.

    Attributes:
        command: What it asks.
        icon: Name of an icon.
        title: On the button.
        shortcut: As Qt writes it; empty: none.
        kind: How it looks.
        is_enabled: Whether it is possible now.
        tooltip: What it does, or why it is not possible now.
    """

    command: CommandName
    icon: str
    title: str
    shortcut: str
    kind: ButtonKind
    is_enabled: bool
    tooltip: str


@dataclass(frozen=True, slots=True)
class AtLimitPicture:
    """The part on limits.

    Attributes:
        is_on: Whether limits reload.
        is_enabled: Whether the switch can be moved.
        tooltip: Why it cannot.
        sentence: What will happen.
    """

    is_on: bool
    is_enabled: bool
    tooltip: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ActionsPicture:
    """The whole panel.

    Attributes:
        buttons: Actions from top to bottom.
        waiting: What was asked and is not done yet, or that the run is paused; may be empty.
        checkpoint: Line on the last checkpoint.
        at_limit: What happens at a limit.
    """

    buttons: tuple[ButtonPicture, ...]
    waiting: str
    checkpoint: str
    at_limit: AtLimitPicture


@dataclass(frozen=True, slots=True)
class ConfirmPicture:
    """A question before something that cannot be undone."""

    title: str
    text: str
    yes: str
    no: str


def actions_picture(
    run: RunSummary,
    *,
    commands: CommandDesk,
    limits: LimitDesk,
    now_wall_s: float,
    is_connected: bool,
) -> ActionsPicture:
    """The panel for this run."""
    why_not = _why_not(run, is_connected=is_connected)
    toggle: CommandName = "resume" if run.state == "paused" else "pause"
    names: tuple[CommandName, ...] = ("save", "reload", toggle, "stop")
    open_commands = commands.open_for(run.run)
    asked = {command.message.name for command in open_commands}
    return ActionsPicture(
        buttons=tuple(_button(run, name, why_not, is_asked=name in asked) for name in names),
        waiting=_waiting(open_commands, run),
        checkpoint=_checkpoint(run, now_wall_s),
        at_limit=_at_limit(run, limits, why_not),
    )


def confirm_stop(run: RunSummary) -> ConfirmPicture:
    """What is asked before a training is stopped."""
    text = tr(
        "The training saves a checkpoint if it can, ends after the current epoch, and fit "
        "returns as if all epochs were done. It cannot be started again from here."
    )
    title = tr("Stop \u201c{name}\u201d?").format(name=run.name)
    return ConfirmPicture(title, text, tr("Stop training"), tr("Keep it running"))


def _why_not(run: RunSummary, *, is_connected: bool) -> str:
    if has_ended(run):
        word = state_picture(run, now_wall_s=0.0).word.lower()
        return tr("The run has ended ({state}); nothing can be asked of it.").format(state=word)
    if not is_connected:
        return tr("The hub is not reached; what is asked now would not arrive.")
    if not run.actions:
        return tr("This run takes no commands: it was started with commands=False.")
    return ""


def _button(run: RunSummary, name: CommandName, why_not: str, *, is_asked: bool) -> ButtonPicture:
    icons: dict[str, tuple[str, str, ButtonKind, str]] = {
        "save": ("save", "Ctrl+S", "plain", tr("Save a checkpoint at the end of this epoch")),
        "reload": (
            "reload",
            "Ctrl+R",
            "primary",
            tr("Save, clear the session and reload at the end of this epoch; same result"),
        ),
        "pause": ("pause", "Ctrl+P", "plain", tr("Hold the training after the running batch")),
        "resume": ("play", "Ctrl+P", "plain", tr("Let the training go on")),
        "stop": ("stop", "Ctrl+.", "danger", tr("End the training after this epoch")),
    }
    icon, shortcut, kind, tooltip = icons[name]
    if not why_not and name not in run.actions:
        why_not = tr("Not possible in this process.")
    if not why_not and is_asked:
        why_not = tr("Already asked; it waits for its safe point.")
    return ButtonPicture(
        name,
        icon,
        tr(COMMAND_TITLES[name]),
        shortcut,
        kind,
        not why_not,
        why_not or f"{tooltip} ({shortcut})",
    )


def _waiting(commands: list[AskedCommand], run: RunSummary) -> str:
    shown = [c for c in commands if c.message.name != "set_limits"]
    if run.state == "paused":
        # The pause has happened; the command's own end is told only when the run goes on.
        shown = [c for c in shown if c.message.name != "pause"]
    if not shown:
        return _paused_text(run) if run.state == "paused" else ""
    newest = shown[-1]
    title = tr(COMMAND_TITLES[newest.message.name])
    match newest.state:
        case "queued":
            return tr("{title}: asked").format(title=title)
        case "started":
            return tr("{title}: running now").format(title=title)
        case _:
            if newest.message.name in ("pause", "resume") or run.epoch is None:
                return tr("{title}: waits for the end of the batch").format(title=title)
            return tr("{title}: waits for the end of epoch {n}").format(
                title=title, n=run.epoch + 1
            )


def _paused_text(run: RunSummary) -> str:
    if run.epoch is None:
        return tr("Paused; Resume lets it go on")
    if not run.step:
        return tr("Paused in epoch {n}; Resume lets it go on").format(n=run.epoch + 1)
    return tr("Paused after step {step} of epoch {n}; Resume lets it go on").format(
        step=count_text(run.step), n=run.epoch + 1
    )


def _checkpoint(run: RunSummary, now_wall_s: float) -> str:
    if run.checkpoint_epoch is None:
        return tr("No checkpoint yet")
    parts = [tr("Last checkpoint epoch {n}").format(n=run.checkpoint_epoch + 1)]
    if run.checkpoint_wall_s is not None:
        ago = duration_text(now_wall_s - run.checkpoint_wall_s)
        parts.append(tr("{time} ago").format(time=ago))
    if run.checkpoint_bytes is not None:
        parts.append(bytes_text(run.checkpoint_bytes))
    return " \u00b7 ".join(parts)


def _at_limit(run: RunSummary, limits: LimitDesk, why_not: str) -> AtLimitPicture:
    held: list[LimitMetric] = [m for m in CHART_METRICS if strongest_limit(run, m)]
    reloading = [limit.action == "reload" for limit in run.limits]
    is_on = any(reloading) if reloading else limits.reloads
    if not why_not and "reload" not in run.actions:
        why_not = tr("A reload is not possible in this process.")
        is_on = False
    if limits.has_pending(run.run):
        is_on = limits.reloads
    return AtLimitPicture(is_on, not why_not, why_not, _sentence(run, held, is_on=is_on))


def _sentence(run: RunSummary, held: list[LimitMetric], *, is_on: bool) -> str:
    if has_ended(run):
        return tr("The run has ended; its limits are no longer watched.")
    if not held:
        if is_on:
            return tr(
                "No limit is set. Drag the dotted line of a chart: when it is passed, "
                "kmonitor saves, clears and reloads after the current epoch."
            )
        return tr(
            "No limit is set. Drag the dotted line of a chart: when it is passed, "
            "kmonitor tells you here."
        )
    by_action: dict[LimitAction, list[str]] = {}
    for metric in held:
        limit = strongest_limit(run, metric)
        value = threshold_value(limit, metric_now(run, metric).of) if limit else None
        if limit is not None and value is not None:
            words = tr("{metric} passes {value}").format(
                metric=metric_in_sentence(metric), value=round_amount(metric, value)
            )
            by_action.setdefault(limit.action, []).append(words)
    return " ".join(_one_sentence(action, words) for action, words in by_action.items())


def _one_sentence(action: LimitAction, crossings: list[str]) -> str:
    when = tr(" or ").join(crossings)
    match action:
        case "reload":
            text = tr("When {when}, kmonitor saves, clears and reloads after the current epoch.")
        case "notify":
            text = tr("When {when}, kmonitor tells you here.")
        case "stop":
            text = tr("When {when}, the training stops after the current epoch.")
        case "save":
            text = tr("When {when}, a checkpoint is saved after the current epoch.")
        case "collect":
            text = tr("When {when}, kmonitor drops what is retained after the current epoch.")
        case "restart":
            text = tr("When {when}, the training starts again in a new process and resumes.")
        case "auto":
            text = tr("When {when}, kmonitor collects, then reloads, then restarts, as needed.")
    return text.format(when=when)
