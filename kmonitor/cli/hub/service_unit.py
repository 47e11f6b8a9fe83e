"""The hub's systemd user unit: its text and its path."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.folders import FOLDER_VARIABLES, Folders, expand_user, find_folders

_HOME: Final = "KMONITOR_HOME="

UNIT_NAME: Final = "kmonitor-hub.service"

_UNIT: Final = """\
[Unit]
Description=kmonitor hub: records what this user's Keras training runs report
Documentation=man:systemd.unit(5)
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
{environment}# Python would look for modules in the folder that it is started in.
WorkingDirectory=/
# It commits what it has received; training runs keep the rest on disk in the meantime.
KillSignal=SIGTERM
TimeoutStopSec=20
# Also needed if a window has already started a hub: this unit retries, and takes over when that
# hub stops.
Restart=on-failure
RestartSec=10
UMask=0077
LimitNOFILE=4096
MemoryMax=2G
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def unit_text(command: str, environ: Mapping[str, str]) -> str:
    """Return the text of the unit.

    Args:
        command: Command that starts the hub, in the form of `ExecStart`.
        environ: Environment whose `KMONITOR_HOME` and `KMONITOR_SPOOL` are passed on if set.
    """
    named = [f"{name}={environ[name]}" for name in FOLDER_VARIABLES if environ.get(name)]
    lines = "".join(f"Environment={_assigned(each)}\n" for each in named)
    return _UNIT.format(command=command, environment=lines)


def hub_command(options: Mapping[str, str] | None = None) -> str:
    """Return the command that starts a hub of this installation, in the form of `ExecStart`.

    Args:
        options: Options of the hub with their values; options without a value are left out.
    """
    quoted_options = [(name, quoted(value)) for name, value in (options or {}).items() if value]
    arguments = (argument for each in quoted_options for argument in each)
    return " ".join((quoted(sys.executable), "-m", "kmonitor.hub", *arguments))


def quoted(argument: str) -> str:
    """A word of a command line in a unit file, with systemd's variables and specifiers escaped.

    Source: systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers".
    """
    return _assigned(argument.replace("$", "$$"))


def _assigned(argument: str) -> str:
    # In `Environment=` the dollar sign has no special meaning: systemd.exec(5).
    plain = argument.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return plain if re.fullmatch(r"[0-9A-Za-z_./=@:+,%-]+", plain) else f'"{plain}"'


def unit_path(environ: Mapping[str, str] | None = None) -> Path:
    """Path of the unit for the user's systemd. Source: systemd.unit(5)."""
    environ = os.environ if environ is None else environ
    config = environ.get("XDG_CONFIG_HOME", "")
    folder = Path(config) if config else expand_user("~/.config")
    return folder / "systemd" / "user" / UNIT_NAME


def is_unit_of(path: Path, folders: Folders) -> bool:
    """True if a unit runs the hub of these folders, not one with another `KMONITOR_HOME`.

    Args:
        folders: Folders of the user in the current environment.

    Raises:
        OSError: The unit cannot be read.
    """
    lines = path.read_text("utf-8", "replace").splitlines()
    named = [line for line in lines if line.startswith("Environment=") and _HOME in line]
    if not named:
        environ = {name: text for name, text in os.environ.items() if f"{name}=" != _HOME}
        return find_folders(environ).state == folders.state
    homes = {str(folders.state), os.environ.get(_HOME.rstrip("="), "")}
    ours = {f"Environment={_assigned(_HOME + home)}" for home in homes}
    return any(line in ours for line in named)
