"""`kmonitor purge`: lists every file, socket and hub of kmonitor, and removes them on request.

`find_own_files` identifies kmonitor's files by folder, kind and exact name; all others stay.
"""

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from kmonitor.cli.common.desktop_entry import installed_files, is_entry_of_home
from kmonitor.cli.common.hub_access import folder_faults_named
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    is_confirmed,
    pluralized,
    print_stderr,
    print_text,
    size_text,
    terminal_safe,
)
from kmonitor.cli.completion import SHELLS, script_path
from kmonitor.cli.hub.service_unit import is_unit_of, unit_path
from kmonitor.connect.local_hub import request_local_hub, stop_hub
from kmonitor_agent.wire.local.folders import Folders, find_folders, studies_folder
from kmonitor_agent.wire.local.host_identity import keys_folder
from kmonitor_agent.wire.local.supervision import supervisions_folder
from kmonitor_agent.wire.messages.unions import HubReply

_OTHERS_SHOWN: Final = 20
"""Most files and folders of others that are named."""


def purge(*, yes: Annotated[bool, Parameter(name=("--yes", "-y"), negative="")] = False) -> int:
    """List everything kmonitor keeps for this user on this machine; remove it after confirmation.

    Example: `kmonitor purge`

    This includes the hub's database with every run, what training runs wrote for it, checkpoints,
    logs, settings, sockets, and the hub itself. Anything that kmonitor did not write stays, even
    in these folders. So do the installed program and any checkpoints in a folder that you named
    with `checkpoint_dir`. Close the window first; otherwise, it will start the hub again.

    Args:
        yes: Do not ask for confirmation.
    """
    folders = find_folders()
    with folder_faults_named(folders):
        hub = request_local_hub(folders)
        found = find_own_files(folders)
        if hub is None and not found.ours:
            print_text("Nothing to remove.")
            return DONE
        _print_summary(hub, found.ours)
        _print_others(found.others)
        remedy = "To remove all this: kmonitor purge --yes"
        if not (yes or is_confirmed("Remove all of it?", remedy)):
            print_text("Nothing was removed.")
            return FAILED
        if hub is not None:
            stop_hub(folders)
        return _remove(folders)


def _print_summary(hub: HubReply | None, found: list[Path]) -> None:
    if hub is not None:
        print_text(f"hub      process {hub.pid}, will be stopped")
        if hub.agents:
            print_text(
                f"         {pluralized(hub.agents, 'training run')} connected, will continue"
                " unmonitored"
            )
    total = 0
    for path in found:
        size = path.lstat().st_size
        total += size
        kind = "socket" if path.is_socket() else "file"
        print_text(f"{kind:<8} {terminal_safe(str(path))}  {size_text(size)}")
    number = pluralized(len(found), "file or socket", "files and sockets")
    print_text(f"{number}, {size_text(total)} in total")


def _print_others(others: list[Path]) -> None:
    for path in others[:_OTHERS_SHOWN]:
        is_folder = path.is_dir() and not path.is_symlink()
        print_text(
            f"kept, not created by kmonitor: {terminal_safe(str(path))}"
            f"{os.sep if is_folder else ''}"
        )
    if len(others) > _OTHERS_SHOWN:
        print_text(f"kept, not created by kmonitor: {len(others) - _OTHERS_SHOWN} more")


def _remove(folders: Folders) -> int:
    # Listed once more: a hub that ends takes its sockets with it, and writes its log.
    ours = find_own_files(folders).ours
    faults = [fault for path in ours if (fault := _removed(path))]
    remove_emptied(ours, folders)
    if not os.environ.get("KMONITOR_HOME"):
        # A folder that the user named may have been there before kmonitor.
        remove_if_empty(folders.state)
    for fault in faults:
        print_stderr(f"kmonitor: could not be removed: {fault}")
    print_text("The rest was removed." if faults else "Removed.")
    return FAILED if faults else DONE


def _removed(path: Path) -> str:
    """Remove a file; return the reason for a failure, or empty."""
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        return f"{terminal_safe(str(path))}: {exc.strerror}"
    return ""


@dataclass(slots=True)
class OwnFiles:
    """Contents of kmonitor's folders.

    Attributes:
        ours: Files and sockets of kmonitor.
        others: All other files; a folder includes everything below it.
    """

    ours: list[Path] = field(default_factory=list[Path])
    others: list[Path] = field(default_factory=list[Path])


_STATE: Final = re.compile(r"launcher-[0-9A-Za-z_.-]{1,64}\.json(\.new)?|host-salt(\.\d+\.new)?")


def find_own_files(folders: Folders) -> OwnFiles:
    """Sort the contents of kmonitor's folders; links are not followed.

    Raises:
        OSError: A folder cannot be listed.
    """
    found = OwnFiles()
    _sort_files(found, folders.database, _DATABASE)
    _sort_runs(found, folders.spool, _SPOOLED)
    _sort_runs(found, folders.checkpoints, _CHECKPOINT)
    _sort_supervisions(found, supervisions_folder(folders))
    _sort_studies(found, studies_folder(folders))
    _sort_files(found, keys_folder(folders), _KEYS)
    _sort_files(found, folders.logs, _LOG)
    _sort_files(found, folders.settings, _SETTINGS)
    _sort_files(found, folders.runtime, _RUNTIME)
    # The rest of the state folder is not listed: it may be a whole project.
    found.ours += [path for path in _entries(folders.state) if _is_ours(path, _STATE)]
    unit = unit_path()
    if unit.is_file() and not unit.is_symlink() and is_unit_of(unit, folders):
        found.ours.append(unit)
    if is_entry_of_home():
        files = (path for path in installed_files() if path.is_file() and not path.is_symlink())
        found.ours += files
    if not os.environ.get("KMONITOR_HOME"):  # they are of the user, not of one home
        scripts = (script_path(shell) for shell in SHELLS)
        found.ours += [path for path in scripts if path.is_file() and not path.is_symlink()]
    return found


_RUN: Final = re.compile(r"[0-9a-f]{32}")


def _is_run(path: Path) -> bool:
    return bool(_RUN.fullmatch(path.name)) and path.is_dir() and not path.is_symlink()


_DATABASE: Final = re.compile(
    r"hub\.lock|(team-hub-id|clock|alerts\.(held|sent))(\.new)?|hub\.sqlite3(\.damaged-\d+|\.new(-patched)?)?(-wal|-shm|-journal)?"
)
_SPOOLED: Final = re.compile(r"\d{20}\.(events|thin|aside)|(acked|commands)(\.new)?|lock|reserve")
_CHECKPOINT: Final = re.compile(
    r"\d{6,}-fit\d+-epoch-?\d+-step\d+(\.h5(\.\d+\.tmp)?|(\.\d+\.tmp)?\.keras)"
)
_KEYS: Final = re.compile(
    r"(hub|desktop|agent)\.key(\.[0-9a-f]{16}\.new)?|authorized\.json(\.new)?"
)
_LOG: Final = re.compile(
    r"(agent|hub|app)\.log(\.\d+)?|app-crash\.log|crash-[\d-]+\.txt|window-[\d-]+\.trail|hub\.err|demo-[a-z]+\.log"
)
_SETTINGS: Final = re.compile(
    r"(window|hub|store|alerts)\.(json(\.new)?|new)|hosts(-damaged-\d{8}-\d{6})?\.json|hosts\.(\d+\.new|lock)|no-hub"
)
_RUNTIME: Final = re.compile(r"agents\.sock|view\.sock|hub\.lock|s[0-9a-f]{10}")


def _sort_runs(found: OwnFiles, folder: Path, pattern: re.Pattern[str]) -> None:
    for path in _entries(folder):
        if _is_run(path):
            _sort_files(found, path, pattern)
        else:
            found.others.append(path)


_SUPERVISED: Final = re.compile(r"(terms|runs)\.json(\.new)?|leaving(\.new)?|lock")


def _sort_supervisions(found: OwnFiles, folder: Path) -> None:
    for each in _entries(folder):
        if not _is_run(each):
            found.others.append(each)
            continue
        for path in _entries(each):
            if _is_run(path):
                _sort_fits(found, path)
            else:
                _sort_file(found, path, _SUPERVISED)


_STUDY: Final = re.compile(r"study\.json(\.new)?|attempts\.(jsonl|txt)|lock")
_OF_STUDY: Final = {
    "values": re.compile(r"\d+\.value(\.\d+\.new)?"),
    "output": re.compile(r"\d+\.txt"),
    "carried": re.compile(r"\d+\.npy"),
    "splits": re.compile(r"\d+-(train|test)\.npy(\.new)?"),
}


def _sort_studies(found: OwnFiles, folder: Path) -> None:
    for each in _entries(folder):
        if not _is_run(each):
            found.others.append(each)
            continue
        for path in _entries(each):
            pattern = _OF_STUDY.get(path.name)
            if path.name == "resume":
                _sort_resumed(found, path)
            elif pattern is not None:
                _sort_files(found, path, pattern)
            elif not path.is_dir() or any(path.iterdir()):
                _sort_file(found, path, _STUDY)


def _sort_resumed(found: OwnFiles, folder: Path) -> None:
    for fold in _entries(folder):
        for path in _entries(fold):
            if _is_run(path):
                _sort_fits(found, path)
            else:
                _sort_file(found, path, _SUPERVISED)


_FIT: Final = re.compile(r"\d+\.json(\.new)?")
_FIT_FOLDER: Final = re.compile(r"fit-\d+")


def _sort_fits(found: OwnFiles, run: Path) -> None:
    for path in _entries(run):
        is_folder = path.is_dir() and not path.is_symlink()
        if is_folder and _FIT_FOLDER.fullmatch(path.name):
            _sort_files(found, path, _CHECKPOINT)
        else:
            _sort_file(found, path, _FIT)


def _sort_files(found: OwnFiles, folder: Path, pattern: re.Pattern[str]) -> None:
    for path in _entries(folder):
        _sort_file(found, path, pattern)


def _sort_file(found: OwnFiles, path: Path, pattern: re.Pattern[str]) -> None:
    (found.ours if _is_ours(path, pattern) else found.others).append(path)


def _entries(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(folder.iterdir())


def _is_ours(path: Path, pattern: re.Pattern[str]) -> bool:
    if not pattern.fullmatch(path.name):
        return False
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def remove_emptied(removed: list[Path], folders: Folders) -> None:
    """Remove the folders that became empty by the removal of kmonitor's files.

    Args:
        removed: Removed files, from `find_own_files`.
        folders: Folders of these files; the state folder itself stays.
    """
    emptied = {folder for path in removed for folder in path.parents}
    own_paths = _own_folders(folders)
    for folder in sorted(emptied, key=lambda path: len(path.parts), reverse=True):
        if folder in own_paths or folder.parent in own_paths:
            remove_if_empty(folder)
    # A script that ended well under `kmonitor run` left nothing in there.
    if supervisions_folder(folders).is_dir() and not supervisions_folder(folders).is_symlink():
        remove_if_empty(supervisions_folder(folders))
    for study in _entries(studies_folder(folders)):
        # A fold that wrote nothing left its folder behind.
        resumed = sorted((study / "resume").rglob("*"), reverse=True)
        for folder in [*resumed, *_entries(study), study, study.parent]:
            if folder.is_dir() and not folder.is_symlink():
                remove_if_empty(folder)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder unless it is not empty or cannot be removed."""
    try:
        folder.rmdir()
    except OSError:
        return


def _own_folders(folders: Folders) -> set[Path]:
    kept = {folders.database, folders.spool, folders.checkpoints, folders.logs}
    restarts = supervisions_folder(folders)
    runs = {run for each in _entries(restarts) for run in (each, *_entries(each))}
    return kept | {folders.settings, folders.runtime, keys_folder(folders), restarts} | runs
