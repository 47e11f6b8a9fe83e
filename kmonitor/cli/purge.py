"""`kmonitor purge`: list every file, socket and hub of ours, ask, then remove them."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kmonitor.cli.hub_access import folder_faults_named
from kmonitor.cli.statuses import DONE, FAILED
from kmonitor.cli.terminal import complain, plain, say
from kmonitor.connect.local_hub import hub_answers, stop_hub
from kmonitor.errors import Expected
from kmonitor.presenters.formats import bytes_text, plain_text
from kmonitor_agent.local.folders import Folders, find_folders
from kmonitor_agent.protocol.messages import HubTold


def purge(*, yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="")] = False) -> int:
    """List everything that kmonitor keeps for this user on this machine, ask, and remove it.

    That is the hub's database with every run, what trainings wrote for it, checkpoints, logs,
    settings, sockets, and the hub itself. Checkpoints in a folder that you named with
    `checkpoint_dir` stay, and so does the installed program. Close the window first: it would
    start a hub again.

    Args:
        yes: Do not ask.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        hub = hub_answers(folders)
        found = [path for root in _roots(folders) for path in _below(root)]
        if hub is None and not found:
            say("There is nothing of kmonitor's to remove.")
            return DONE
        _say_what(hub, found)
        if not (yes or _agreed()):
            say("Nothing was removed.")
            return FAILED
        if hub is not None:
            stop_hub(folders)
        return _remove(folders)


def _roots(folders: Folders) -> list[Path]:
    """Only folders that are ours by name: KMONITOR_HOME itself may hold other files."""
    return [
        folders.database,
        folders.spool,
        folders.checkpoints,
        folders.logs,
        folders.settings,
        folders.runtime,
        *sorted(folders.state.glob("launcher-*.json")),
    ]


def _below(root: Path) -> Iterator[Path]:
    if root.is_symlink() or root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*")) if root.is_dir() else []:
        if path.is_symlink() or not path.is_dir():
            yield path


def _say_what(hub: HubTold | None, found: list[Path]) -> None:
    if hub is not None:
        say(f"hub      process {hub.pid}, to be stopped")
        if hub.agents:
            say(f"         {hub.agents} trainings are connected; they go on, unwatched")
    total = 0
    for path in found:
        size = path.lstat().st_size
        total += size
        kind = "socket" if path.is_socket() else "file"
        say(f"{kind:<8} {plain(str(path))}  {plain_text(bytes_text(size))}")
    say(f"{len(found)} files and sockets, {plain_text(bytes_text(total))} together")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise Expected("Nobody is there to be asked.", "To remove all this: kmonitor purge --yes")
    print("Remove all of it? Type yes: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("yes", "y")


def _remove(folders: Folders) -> int:
    left: list[str] = []
    for root in _roots(folders):
        if root.is_symlink() or root.is_file():
            root.unlink()
        elif root.is_dir():
            shutil.rmtree(root, ignore_errors=True)
        left += [str(path) for path in _below(root)]
    _remove_if_empty(folders.state)
    for path in left:
        complain(f"kmonitor: could not be removed: {plain(path)}")
    say("Removed." if not left else "The rest was removed.")
    return FAILED if left else DONE


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
