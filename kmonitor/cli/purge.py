"""`kmonitor purge`: list every file, socket and hub of ours, ask, then remove them."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.base.errors import Expected
from kmonitor.cli.common.hub_access import folder_faults_named
from kmonitor.cli.common.statuses import DONE, FAILED
from kmonitor.cli.common.terminal import complain, counted, plain, say
from kmonitor.cli.own_files import belongings, remove_emptied, remove_if_empty
from kmonitor.connect.local_hub import hub_answers, stop_hub
from kmonitor.ui.text.formats import bytes_text, plain_text
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.messages.unions import HubTold

_OTHERS_SHOWN: Final = 20
"""How many files and folders that are not ours are named."""


def purge(*, yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="")] = False) -> int:
    """List everything that kmonitor keeps for this user on this machine, ask, and remove it.

    That is the hub's database with every run, what trainings wrote for it, checkpoints, logs,
    settings, sockets, and the hub itself. What kmonitor did not write stays, also in these
    folders, and so do checkpoints in a folder that you named with `checkpoint_dir` and the
    installed program. Close the window first: it would start a hub again.

    Args:
        yes: Do not ask.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        hub = hub_answers(folders)
        found = belongings(folders)
        if hub is None and not found.ours:
            say("There is nothing of kmonitor's to remove.")
            return DONE
        _say_what(hub, found.ours)
        _say_others(found.others)
        if not (yes or _agreed()):
            say("Nothing was removed.")
            return FAILED
        if hub is not None:
            stop_hub(folders)
        return _remove(folders)


def _say_what(hub: HubTold | None, found: list[Path]) -> None:
    if hub is not None:
        say(f"hub      process {hub.pid}, to be stopped")
        if hub.agents:
            say(f"         {counted(hub.agents, 'training')} connected, to go on unwatched")
    total = 0
    for path in found:
        size = path.lstat().st_size
        total += size
        kind = "socket" if path.is_socket() else "file"
        say(f"{kind:<8} {plain(str(path))}  {plain_text(bytes_text(size))}")
    number = counted(len(found), "file or socket", "files and sockets")
    say(f"{number}, {plain_text(bytes_text(total))} together")


def _say_others(others: list[Path]) -> None:
    for path in others[:_OTHERS_SHOWN]:
        is_folder = path.is_dir() and not path.is_symlink()
        say(f"left alone, not kmonitor's: {plain(str(path))}{os.sep if is_folder else ''}")
    if len(others) > _OTHERS_SHOWN:
        say(f"left alone, not kmonitor's: {len(others) - _OTHERS_SHOWN} more")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise Expected("Nobody is there to be asked.", "To remove all this: kmonitor purge --yes")
    print("Remove all of it? Type yes: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("yes", "y")


def _remove(folders: Folders) -> int:
    # Looked for once more: a hub that ends takes its sockets with it, and writes its log.
    ours = belongings(folders).ours
    faults = [fault for path in ours if (fault := _removed(path))]
    remove_emptied(ours, folders)
    if not os.environ.get("KMONITOR_HOME"):
        # A folder that the user named may have been there before kmonitor.
        remove_if_empty(folders.state)
    for fault in faults:
        complain(f"kmonitor: could not be removed: {fault}")
    say("The rest was removed." if faults else "Removed.")
    return FAILED if faults else DONE


def _removed(path: Path) -> str:
    """Why a file could not be removed; empty when it is gone."""
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        return f"{plain(str(path))}: {exc.strerror}"
    return ""
