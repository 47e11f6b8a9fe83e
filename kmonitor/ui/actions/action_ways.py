"""The ways in which one action can be done: the usual one, and the others in its button's menu."""

from dataclasses import dataclass

from kmonitor.ui.shortcuts import key_of
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.commands import (
    Arguments,
    CommandName,
    NoArguments,
    ReloadArguments,
    SaveArguments,
)


@dataclass(frozen=True, slots=True)
class ActionWay:
    """One way to do an action.

    Attributes:
        key: Which, within its action; empty: the usual one, which the button itself asks for.
        title: In the menu.
        shortcut: As Qt writes it.
        tooltip: What it does, and when it can.
        args: What goes with the command.
    """

    key: str
    title: str
    shortcut: str
    tooltip: str
    args: Arguments


def ways_of(name: CommandName) -> tuple[ActionWay, ...]:
    """The ways to do an action, the usual one first; empty where there is no choice.

    Args:
        name: Which action.
    """
    match name:
        case "save":
            return _ways_to_save()
        case "reload":
            return _ways_to_reload()
        case _:
            return ()


def arguments_of(name: CommandName, key: str) -> Arguments:
    """What goes with a command that is asked for in this way; no arguments for a way unknown.

    Args:
        name: Which action.
        key: An `ActionWay.key`.
    """
    return next((way.args for way in ways_of(name) if way.key == key), NoArguments())


def _ways_to_save() -> tuple[ActionWay, ...]:
    usual = tr("Writes the exact state; kmonitor restore makes a .keras file of it later.")
    export = tr(
        "Also writes a .keras file beside the checkpoint, for other programs. That needs a copy "
        "of all weights in memory while it is written; if it fails, the checkpoint stands."
    )
    return (
        ActionWay("", tr("Save a checkpoint"), key_of("save"), usual, NoArguments()),
        ActionWay(
            "export",
            tr("Save a checkpoint and a .keras file"),
            key_of("save_export"),
            export,
            SaveArguments(export=True),
        ),
    )


def _ways_to_reload() -> tuple[ActionWay, ...]:
    usual = tr("Puts the saved values into the variables that there are. Always safe.")
    recreate = tr(
        "Also lets the variables go and makes them anew from the file, so that the allocator can "
        "join what they leave. Safe, and only done, with one optimizer, no tf.function of yours "
        "that uses the variables, and no distribution strategy; else they are kept and the "
        "record says why. The result of the training is the same."
    )
    return (
        ActionWay(
            "",
            tr("Keep the variables (assign)"),
            key_of("reload"),
            usual,
            NoArguments(),
        ),
        ActionWay(
            "recreate",
            tr("Make the variables anew (recreate)"),
            key_of("reload_recreate"),
            recreate,
            ReloadArguments(mode="recreate"),
        ),
    )
