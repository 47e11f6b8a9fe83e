"""The arguments of `MonitorCallback`, checked when it is constructed and never later."""

import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.local.file_system import DISK
from kmonitor_agent.wire.local.folders import FOLDER_VARIABLES, expand_user, invalid_home_text
from kmonitor_agent.wire.messages.commands import LimitSpec

LONGEST_NAME: Final = 200
"""Maximum length of a run name, characters; longer ones are elided in the middle."""

_SHORTEST_INTERVAL_S: Final = 0.05
_LONGEST_INTERVAL_S: Final = 3600.0
_MOST_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class Settings:
    """Arguments of one `MonitorCallback`.

    Attributes:
        run_name: Name of the run; None: the script's or notebook's name.
        limits: Limits set by the script.
        checkpoint_dir: Folder of checkpoints; None: `<state>/checkpoints/<run>`.
        commands: True to accept commands from window and command line.
        sample_interval_s: Time between samples, seconds.
        hub: None, "off", a socket's path or tcp://HOST:PORT?key=KEY; read by `link.hub_choice`.
        private: True to hash names, and to leave out command line, paths and exception texts.
        keep_checkpoints: Number of newest checkpoints to keep.
        logs: True to put our values into Keras' logs at each epoch's end.
    """

    run_name: str | None = None
    limits: tuple[LimitSpec, ...] = ()
    checkpoint_dir: Path | None = None
    commands: bool = True
    sample_interval_s: float = 1.0
    hub: str | None = None
    private: bool = False
    keep_checkpoints: int = 2
    logs: bool = False


def refuse_unknown_arguments(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown arguments.

    Args:
        known: Names of valid arguments.

    Raises:
        TypeError: There is an unknown argument; the message names the likely one, or all.
    """
    names = tuple(known)
    for argument in unknown:
        near = [name for name in names if argument in name] or get_close_matches(argument, names)
        meant = f"did you mean {near[0]}=?" if near else f"use one of {', '.join(names)}."
        raise TypeError(f"MonitorCallback: unknown argument {argument}=; {meant}")


def check_home(environ: Mapping[str, str]) -> None:
    """Refuse a `KMONITOR_HOME` with which hub, app and training would not find each other.

    Raises:
        ValueError: `KMONITOR_HOME` or `KMONITOR_SPOOL` is a file, or relative: another working
            directory would give another folder.
    """
    if why := invalid_home_text(environ):
        raise ValueError(why)
    for variable in FOLDER_VARIABLES:
        written = environ.get(variable, "")
        if written and DISK.sees(expand_user(written), Path.is_file):
            raise ValueError(f"{variable}={written!r} is a file; use the path of a folder.")


def checked_name(run_name: object) -> str | None:
    """Name of a run in its final form: one line that can be sent and shown.

    Raises:
        TypeError: The argument is not a string.
        ValueError: The argument is empty.
    """
    if run_name is None:
        return None
    if not isinstance(run_name, str):
        raise TypeError(
            f"MonitorCallback: run_name={run_name!r} is not a string; use a string, such as "
            "run_name='x'."
        )
    name = plain_name(run_name)
    if not name:
        raise ValueError("MonitorCallback: run_name is empty; use a name or leave run_name out.")
    return elide_name(name)


def sendable_text(text: str) -> str:
    """A text that can be sent: bytes that are not UTF-8 (in a file's name) are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def plain_name(name: str) -> str:
    """A name on one line: white space becomes one blank, other control characters are replaced."""
    characters = (
        c if unicodedata.category(c) != "Cc" else "\N{REPLACEMENT CHARACTER}"
        for c in " ".join(name.split())
    )
    return sendable_text("".join(characters))


def elide_name(name: str) -> str:
    """A name of at most 200 characters; a longer one is cut in its middle."""
    if len(name) <= LONGEST_NAME:
        return name
    half = (LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def checked_limits(limits: object) -> tuple[LimitSpec, ...]:
    """Limits in the form in which they are sent.

    Raises:
        TypeError: An item is not a `Limit`.
    """
    listed = (limits,) if isinstance(limits, Limit) else limits
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise TypeError(_limits_remedy(limits))
    specs: list[LimitSpec] = []
    for limit in cast("Iterable[object]", listed):
        if not isinstance(limit, Limit):
            raise TypeError(_limits_remedy(limit))
        specs.append(limit.spec)
    return tuple(specs)


def checked_folder(checkpoint_dir: object) -> Path | None:
    """Checkpoint folder as an absolute path; the first save shows if it is writable.

    Raises:
        TypeError: The argument is not a path.
        ValueError: The argument is empty, is a file, or cannot be a path.
    """
    if checkpoint_dir is None:
        return None
    if checkpoint_dir in ("", b""):
        raise ValueError(
            "MonitorCallback: checkpoint_dir is empty; use the path of a folder or leave "
            "checkpoint_dir out."
        )
    if not isinstance(checkpoint_dir, str | os.PathLike):
        raise TypeError(
            f"MonitorCallback: checkpoint_dir={checkpoint_dir!r} is not a path; use"
            ' checkpoint_dir="checkpoints" or leave it out.'
        )
    written = os.fsdecode(cast("os.PathLike[Any]", checkpoint_dir))
    if "\0" in written:
        raise ValueError(
            f"MonitorCallback: checkpoint_dir={written!r} contains a NUL character; use a path"
            " without it."
        )
    folder = expand_user(written).absolute()
    if folder.exists() and not folder.is_dir():
        raise ValueError(
            f"MonitorCallback: checkpoint_dir={written!r} is not a folder; use the path of a"
            f" folder, such as {str(folder.with_suffix('')) + '-checkpoints'!r}."
        )
    return folder


def checked_count(argument: str, value: object) -> int:
    """Check a count.

    Raises:
        TypeError: The value is not a whole number.
        ValueError: The value is below 1 or above 1000.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"MonitorCallback: {argument}={value!r} is not a whole number; use {argument}=2, for"
            " example."
        )
    if not 1 <= value <= _MOST_KEPT:
        raise ValueError(
            f"MonitorCallback: {argument}={value} is not between 1 and {_MOST_KEPT}; use"
            f" {argument}=2, for example."
        )
    return value


def checked_interval_s(sample_interval_s: object) -> float:
    """Time between samples, seconds.

    Raises:
        TypeError: The argument is not a number.
        ValueError: The argument is below 0.05 s or above an hour.
    """
    if isinstance(sample_interval_s, bool) or not isinstance(sample_interval_s, int | float):
        raise TypeError(
            f"MonitorCallback: sample_interval_s={sample_interval_s!r} is not a number; use a"
            " number of seconds, such as sample_interval_s=1.0."
        )
    if not _SHORTEST_INTERVAL_S <= sample_interval_s <= _LONGEST_INTERVAL_S:  # NaN is not, too
        raise ValueError(
            f"MonitorCallback: sample_interval_s={str(sample_interval_s)[:40]} is not between 0.05"
            " and 3600 seconds; use sample_interval_s=1.0, for example."
        )
    return float(sample_interval_s)


def checked_hub(hub: object) -> str | None:
    """Hub in the form that `link.hub_choice` reads.

    Raises:
        TypeError: The argument is not a string.
        ValueError: The argument is empty.
    """
    if hub is None:
        return None
    text = os.fspath(cast("os.PathLike[Any]", hub)) if isinstance(hub, os.PathLike) else hub
    if not isinstance(text, str):
        raise TypeError(
            f'MonitorCallback: hub={hub!r} is not a string; use hub="off", the path of a hub\'s'
            " socket or its address (tcp://HOST:PORT?key=KEY), or leave it out."
        )
    if not text.strip():
        raise ValueError(
            'MonitorCallback: hub is empty; use hub="off" for no hub, or leave it out.'
        )
    return text


def checked_switch(argument: str, value: object) -> bool:
    """Check a boolean.

    Raises:
        TypeError: The value is neither True nor False.
    """
    if not isinstance(value, bool):
        raise TypeError(
            f"MonitorCallback: {argument}={value!r} is not valid; use {argument}=True or"
            f" {argument}=False."
        )
    return value


def _limits_remedy(value: object) -> str:
    return (
        f"MonitorCallback: limits={value!r} is not a list of Limit objects; use"
        ' limits=[Limit("ram", "80%", action="reload")].'
    )
