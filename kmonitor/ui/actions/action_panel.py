"""Panel of actions on the selected run: buttons, shortcuts, and questions before an action.

Each action has one or more variants; a key requests a variant whether or not it has a button.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from kmonitor.ui.events.event_text import COMMAND_TITLES
from kmonitor.ui.limits.limit_actions import LimitActionsState, limit_actions_state
from kmonitor.ui.limits.limit_store import LimitStore
from kmonitor.ui.runs.run_states import has_ended, run_state_label
from kmonitor.ui.runs.sent_commands import CommandStore, SentCommand
from kmonitor.ui.shortcuts import shortcut_keys
from kmonitor.ui.text.formats import bytes_text, count_text, duration_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.commands import (
    Arguments,
    CommandName,
    PlainArguments,
    ReloadArguments,
    SaveArguments,
)
from kmonitor_agent.wire.messages.unions import RunSummary

ButtonKind = Literal["plain", "primary", "danger"]
_WHERE_OFFERED: Final[tuple[CommandName, ...]] = ("collect", "auto", "restart", "diagnose")
"""Actions that only some processes support: shown only where they are possible."""

ACTION_KEYS: Final[dict[str, tuple[CommandName, str]]] = {
    "save": ("save", ""),
    "save_export": ("save", "export"),
    "reload": ("reload", ""),
    "reload_recreate": ("reload", "recreate"),
    "collect": ("collect", ""),
    "auto": ("auto", ""),
    "restart": ("restart", ""),
    "diagnose": ("diagnose", ""),
    "pause": ("pause", ""),
    "stop": ("stop", ""),
}
"""Command and variant that each key requests, by the key's name; `pause` also resumes."""


@dataclass(frozen=True, slots=True)
class ActionVariant:
    """A variant of an action.

    Attributes:
        key: Name within the action. Empty: the usual variant, which the button itself requests.
        title: Text in the menu.
        shortcut: Key sequence in Qt's notation.
        tooltip: Effect of the variant, and when it is possible.
        args: Arguments of the command.
    """

    key: str
    title: str
    shortcut: str
    tooltip: str
    args: Arguments


@dataclass(frozen=True, slots=True)
class ButtonState:
    """One button.

    Attributes:
        command: Command that the button sends.
        icon: Name of an icon.
        title: Text on the button.
        shortcut: Key sequence in Qt's notation; empty: none.
        kind: Style of the button.
        is_enabled: True if the action is possible now.
        tooltip: Effect of the action, or the reason why it is not possible now.
        is_half: True if two of these buttons share a line.
        variants: Variants of the action, the usual one first; empty: there is no choice.
        more: Label of the menu button; empty without a menu.
    """

    command: CommandName
    icon: str
    title: str
    shortcut: str
    kind: ButtonKind
    is_enabled: bool
    tooltip: str
    is_half: bool = False
    variants: tuple[ActionVariant, ...] = ()
    more: str = ""


@dataclass(frozen=True, slots=True)
class ShortcutState:
    """Effect of an action's key now.

    Attributes:
        command: Command that the key sends.
        variant: Variant of the command; empty: the usual one.
        refusal: Message in place of the command if it is not possible now; else empty.
    """

    command: CommandName
    variant: str
    refusal: str


@dataclass(frozen=True, slots=True)
class ActionPanelState:
    """The whole panel.

    Attributes:
        buttons: Actions from top to bottom.
        waiting: Requests that are not done yet, or that the run is paused; may be empty.
        checkpoint: Line on the last checkpoint.
        at_limit: Actions at limits.
        keys: Effect of each key, as in `ACTION_KEYS`, including actions without a button here.
        why_not: Reason why the run accepts no requests, if the window shows it nowhere else.
    """

    buttons: tuple[ButtonState, ...]
    waiting: str
    checkpoint: str
    at_limit: LimitActionsState
    keys: Mapping[str, ShortcutState]
    why_not: str = ""


def action_panel_state(
    run: RunSummary,
    *,
    commands: CommandStore,
    limits: LimitStore,
    now_wall_s: float,
    is_connected: bool,
    no_right: str = "",
) -> ActionPanelState:
    """Return the panel for this run.

    Args:
        commands: Commands that this window has sent.
        limits: Limits in force and requested.
        is_connected: True if the run's hub is connected.
        no_right: Reason why this window may not send requests to the run; empty: it may.
    """
    why_not = _why_not(run, is_connected=is_connected) or no_right
    toggle: CommandName = "resume" if run.state == "paused" else "pause"
    more: list[CommandName] = [name for name in _WHERE_OFFERED if name in run.actions]
    names: tuple[CommandName, ...] = ("save", "reload", *more, toggle, "stop")
    open_commands = commands.open_for(run.run)
    open_actions = {command.message.name for command in open_commands}
    buttons = [_button(name, _refusal(run, name, why_not, open_actions)) for name in names]
    halves = [at for at, button in enumerate(buttons) if button.is_half]
    if len(halves) % 2:
        # The last has no neighbour: it is as wide as the others, and says its shortcut too.
        buttons[halves[-1]] = replace(buttons[halves[-1]], is_half=False)
    return ActionPanelState(
        buttons=tuple(buttons),
        waiting=_waiting(open_commands, run),
        checkpoint=_checkpoint(run, now_wall_s),
        at_limit=limit_actions_state(run, limits, why_not),
        keys={
            key: _key(toggle if name == "pause" else name, variant, run, why_not, open_actions)
            for key, (name, variant) in ACTION_KEYS.items()
        },
        # The state says that it has ended, and the banner that the hub is not reached.
        why_not="" if has_ended(run) or not is_connected else why_not,
    )


def _why_not(run: RunSummary, *, is_connected: bool) -> str:
    if has_ended(run):
        state_text = run_state_label(run, now_wall_s=0.0).label.lower()
        return tr("The run has ended ({state}); no further actions are possible.").format(
            state=state_text
        )
    if not is_connected:
        return tr("Not connected to the hub; actions cannot be sent.")
    if run.is_shipped:
        return tr("This run was read from a folder: actions cannot be sent to its process.")
    if run.is_elsewhere:
        return tr(
            "This run belongs to another of the team's hubs: connect to its host to send actions."
        )
    if not run.actions:
        return tr("This run does not accept actions: it was started with commands=False.")
    return ""


def _refusal(
    run: RunSummary, name: CommandName, why_not: str, open_actions: Collection[str]
) -> str:
    if why_not:
        return why_not
    if name not in run.actions:
        return tr("Not possible in this process.")
    return tr("Already requested; waiting for a safe point.") if name in open_actions else ""


def _key(
    name: CommandName, variant: str, run: RunSummary, why_not: str, open_actions: Collection[str]
) -> ShortcutState:
    refusal = _refusal(run, name, why_not, open_actions)
    if refusal:
        # There may be no button near that says which action it was.
        refusal = tr("{title}: {why}").format(title=_title(name), why=refusal)
    return ShortcutState(name, variant, refusal)


def _title(name: CommandName) -> str:
    return tr("Restart") if name == "restart" else tr(COMMAND_TITLES[name])


BUTTONS: Final[dict[str, tuple[str, str, ButtonKind, str]]] = {
    "save": ("save", "save", "plain", later("Save a checkpoint at the end of this epoch")),
    "reload": (
        "reload",
        "reload",
        "primary",
        later(
            "Save, clear the session and reload at the end of this epoch; does not change the"
            " training result"
        ),
    ),
    "collect": (
        "broom",
        "collect",
        "plain",
        later(
            "Collect garbage and release the traces of models that no longer exist; the current"
            " model is kept"
        ),
    ),
    "auto": (
        "layers",
        "auto",
        "plain",
        later("Collect, then reload if that is not enough; never restart"),
    ),
    "restart": (
        "restart",
        "restart",
        "plain",
        later("Start the script again in a new process at the end of this epoch, and resume"),
    ),
    "diagnose": (
        "diagnose",
        "diagnose",
        "plain",
        later("At the next safe point, find out what is growing and what keeps it in memory"),
    ),
    "pause": ("pause", "pause", "plain", later("Pause training after the current batch")),
    "resume": ("play", "pause", "plain", later("Resume training")),
    "stop": ("stop", "stop", "danger", later("Stop training after this epoch")),
}
"""Icon, name of the shortcut, kind and tooltip by command."""


def _button(name: CommandName, why_not: str) -> ButtonState:
    icon, key, kind, tooltip = BUTTONS[name]
    shortcut = shortcut_keys(key)
    is_half = name in _WHERE_OFFERED
    title = _title(name)
    variants = action_variants(name)
    return ButtonState(
        name,
        icon,
        title,
        shortcut,
        kind,
        not why_not,
        "\n".join(part for part in (why_not, f"{tr(tooltip)} ({shortcut})") if part),
        is_half,
        variants,
        tr("More options: {title}").format(title=title) if variants else "",
    )


def _checkpoint(run: RunSummary, now_wall_s: float) -> str:
    if run.checkpoint_epoch is None:
        return tr("No checkpoint was saved") if has_ended(run) else tr("No checkpoint yet")
    parts = [tr("Last checkpoint: epoch {n}").format(n=run.checkpoint_epoch + 1)]
    if run.checkpoint_wall_s is not None:
        ago = duration_text(now_wall_s - run.checkpoint_wall_s)
        parts.append(tr("{time} ago").format(time=ago))
    if run.checkpoint_bytes is not None:
        size = bytes_text(run.checkpoint_bytes)
        parts.append(tr("state {size}").format(size=size))
    return " \u00b7 ".join(parts)


def command_status_text(run: RunSummary, commands: CommandStore, name: CommandName) -> str:
    """State of the newest command of this name, or why it failed; empty when it is done."""
    command = commands.newest(run.run, name)
    if command is None or command.state == "done":
        return ""
    if command.is_open:
        return _waiting([command], run)
    why = translated_text(command.why) or tr("no reason was given")
    return tr("{title} was not performed: {why}").format(title=tr(COMMAND_TITLES[name]), why=why)


def _waiting(commands: list[SentCommand], run: RunSummary) -> str:
    shown = [c for c in commands if c.message.name != "set_limits"]
    if run.state == "paused":
        # The pause has happened; the command itself ends only when the run goes on.
        shown = [c for c in shown if c.message.name != "pause"]
    if not shown:
        return _paused_text(run) if run.state == "paused" else ""
    newest = shown[-1]
    title = tr(COMMAND_TITLES[newest.message.name])
    match newest.state:
        case "queued":
            return tr("{title}: requested").format(title=title)
        case "started":
            return tr("{title}: running").format(title=title)
        case _:
            if newest.message.name in ("pause", "resume") or run.epoch is None:
                return tr("{title}: waiting for the end of the batch").format(title=title)
            return tr("{title}: waiting for the end of epoch {n}").format(
                title=title, n=run.epoch + 1
            )


def _paused_text(run: RunSummary) -> str:
    if run.epoch is None:
        return tr("Paused; press Resume to continue")
    if not run.step:
        return tr("Paused in epoch {n}; press Resume to continue").format(n=run.epoch + 1)
    return tr("Paused after step {step} of epoch {n}; press Resume to continue").format(
        step=count_text(run.step), n=run.epoch + 1
    )


def action_variants(name: CommandName) -> tuple[ActionVariant, ...]:
    """Return the variants of an action, the usual one first; empty if there is no choice."""
    match name:
        case "save":
            return _save_variants()
        case "reload":
            return _reload_variants()
        case _:
            return ()


def variant_arguments(name: CommandName, key: str) -> Arguments:
    """Return the arguments of the variant with this key; none if the key is unknown."""
    return next(
        (variant.args for variant in action_variants(name) if variant.key == key), PlainArguments()
    )


def _save_variants() -> tuple[ActionVariant, ...]:
    usual = tr("Writes the exact state; kmonitor restore can turn it into a .keras file later.")
    export = tr(
        "Also writes a .keras file beside the checkpoint, for other programs. This needs a copy"
        " of all weights in memory; if it fails, the checkpoint is still valid."
    )
    return (
        ActionVariant("", tr("Save a checkpoint"), shortcut_keys("save"), usual, PlainArguments()),
        ActionVariant(
            "export",
            tr("Save a checkpoint and a .keras file"),
            shortcut_keys("save_export"),
            export,
            SaveArguments(export=True),
        ),
    )


def _reload_variants() -> tuple[ActionVariant, ...]:
    usual = tr("Assigns the saved values to the existing variables. Always safe.")
    recreate = tr(
        "Also releases the variables and recreates them from the file, so that the allocator can "
        "defragment its memory. This is done only where it is safe: with one optimizer, no "
        "tf.function in your code that uses the variables, and no distribution strategy. "
        "Otherwise, the variables are kept, and the record says why. The training result is the "
        "same."
    )
    return (
        ActionVariant(
            "",
            tr("Keep the variables (assign)"),
            shortcut_keys("reload"),
            usual,
            PlainArguments(),
        ),
        ActionVariant(
            "recreate",
            tr("Recreate the variables (recreate)"),
            shortcut_keys("reload_recreate"),
            recreate,
            ReloadArguments(mode="recreate"),
        ),
    )


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question before something that cannot be undone."""

    title: str
    text: str
    yes: str
    no: str


def confirm_stop(run: RunSummary) -> Confirmation:
    """Return the question to ask before a training is stopped."""
    text = tr(
        "A checkpoint is saved if possible, and training ends after the current epoch; fit "
        "returns as if all epochs had been completed. Training cannot be restarted from here."
    )
    title = tr("Stop \u201c{name}\u201d?").format(name=run.name)
    return Confirmation(title, text, tr("Stop training"), tr("Keep running"))


def confirmation_before(run: RunSummary, name: CommandName) -> Callable[[], Confirmation] | None:
    """Return a function that builds the question before a command that ends the process.

    The question is in the language in force when it is asked. None for commands without a
    question.
    """
    match name:
        case "stop":
            return partial(confirm_stop, run)
        case "restart":
            return partial(_confirm_restart, run)
        case _:
            return None


def _confirm_restart(run: RunSummary) -> Confirmation:
    text = tr(
        "The process ends after the current epoch, and kmonitor run starts the script again; the "
        "script resumes from that point. Weights, optimizer, history and random state are kept; "
        "code before fit runs again."
    )
    title = tr("Restart the process of \u201c{name}\u201d?").format(name=run.name)
    return Confirmation(title, text, tr("Restart process"), tr("Keep running"))
