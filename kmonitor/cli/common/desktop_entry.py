"""The desktop's menu: an entry and icons that open this installation, and their removal.

Source: freedesktop.org's Desktop Entry, Icon Theme and Base Directory specifications.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kmonitor.base.errors import UserError
from kmonitor.base.installation import resource_path
from kmonitor_agent.wire.local.folders import FOLDER_VARIABLES, expand_user

NAME: Final = "kmonitor"
"""Name of entry, icons and window, by which desktops match them."""

_HOME: Final = "KMONITOR_HOME"


def installed_files(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Paths of the entry and its icons for this user, existing or not."""
    return [target for target, _ in _icons(environ)] + [entry_path(environ)]


def entry_path(environ: Mapping[str, str] | None = None) -> Path:
    """Path of the entry for this user, existing or not."""
    return _data_home(environ) / "applications" / f"{NAME}.desktop"


def install_entry(environ: Mapping[str, str] | None = None) -> Path:
    """Write entry and icons to the folders of this user's desktop, replacing existing ones.

    Args:
        environ: Environment to use; None: that of the process.

    Returns:
        Path of the entry.

    Raises:
        UserError: A file cannot be written, or the call was root's on another's behalf.
    """
    environ = os.environ if environ is None else environ
    _require_own_desktop(environ)
    path = entry_path(environ)
    text = entry_text(window_command(), environ)
    try:
        for target, source in _icons(environ):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        path.parent.mkdir(parents=True, exist_ok=True)
        # The entry last, and whole: a desktop reads it the moment it is there.
        whole = path.with_suffix(".new")
        whole.write_text(text, encoding="utf-8")
        whole.replace(path)
    except OSError as exc:
        raise UserError(
            f"{exc.filename or path} cannot be written: {exc.strerror or exc}."
        ) from exc
    return path


def remove_entry(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Remove the files of `install_entry`; missing files are ignored.

    Returns:
        Paths of the removed files.

    Raises:
        UserError: A file cannot be removed, or the call was root's on another's behalf.
    """
    environ = os.environ if environ is None else environ
    _require_own_desktop(environ)
    existing = [path for path in installed_files(environ) if path.is_file() or path.is_symlink()]
    for path in existing:
        try:
            path.unlink()
        except OSError as exc:
            raise UserError(f"{path} cannot be removed: {exc.strerror or exc}.") from exc
    return existing


def is_entry_of_home(environ: Mapping[str, str] | None = None) -> bool:
    """True if the existing entry opens the window on this `KMONITOR_HOME`, not on another."""
    environ = os.environ if environ is None else environ
    path = entry_path(environ)
    if path.is_symlink() or not path.is_file():
        return False
    text = path.read_text("utf-8", "replace")
    home = environ.get(_HOME, "")
    return _quoted(f"{_HOME}={home}") in text if home else f"{_HOME}=" not in text


def window_command() -> list[str]:
    """Command that opens the window of this installation."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    return [sys.executable, "-m", "kmonitor"]


def entry_text(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the text of the entry.

    Args:
        command: Program and arguments that open the window.
        environ: Environment whose `KMONITOR_HOME` and `KMONITOR_SPOOL` are passed on if set.
    """
    named = [f"{name}={environ[name]}" for name in FOLDER_VARIABLES if environ.get(name)]
    arguments = ["/usr/bin/env", *named, *command] if named else command
    text = resource_path("desktop", f"{NAME}.desktop").read_text(encoding="utf-8")
    lines = {"Exec": " ".join(map(_quoted, arguments)), "TryExec": _escaped(command[0])}
    for key, value in lines.items():
        text = re.sub(rf"(?m)^{key}=.*$", lambda _, line=f"{key}={value}": line, text)
    return text


def _quoted(argument: str) -> str:
    r"""A word of `Exec`: quoted if necessary, then escaped like every string of the file.

    Source: Desktop Entry Specification, "The Exec key": a backslash is written as four.
    """
    plain = argument.replace("%", "%%")
    if not re.fullmatch(r"[\w./=:+,@%-]+", plain, re.ASCII):
        plain = '"' + re.sub(r'(["`$\\])', r"\\\1", plain) + '"'
    return _escaped(plain)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _icons(environ: Mapping[str, str] | None) -> list[tuple[Path, Path]]:
    """Target and source path of each icon."""
    theme = _data_home(environ) / "icons" / "hicolor"
    drawn = resource_path("icons", f"{NAME}.svg")
    found = [(theme / "scalable" / "apps" / drawn.name, drawn)]
    for icon in sorted(resource_path("icons", "program").glob("*.png")):
        size = f"{icon.stem}x{icon.stem}"
        found.append((theme / size / "apps" / f"{NAME}.png", icon))
    return found


def _data_home(environ: Mapping[str, str] | None) -> Path:
    named = (os.environ if environ is None else environ).get("XDG_DATA_HOME", "")
    # Relative paths are to be ignored, says the specification.
    return Path(named) if Path(named).is_absolute() else expand_user("~/.local/share")


def _require_own_desktop(environ: Mapping[str, str]) -> None:
    if not sys.platform.startswith(("linux", "freebsd")):
        raise UserError("Desktop entries exist only on Linux.")
    user = environ.get("SUDO_USER", "")
    if os.geteuid() == 0 and user not in ("", "root"):
        raise UserError(
            f"This would change root's menu, not {user}'s.",
            "Run it without sudo.",
        )
