"""`kmonitor doctor`: checks of this machine, one function each; no check leaves files behind."""

import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import pynvml  # pyright: ignore[reportMissingTypeStubs]
from cyclopts import Parameter

import kmonitor
from kmonitor.base.errors import UserError
from kmonitor.base.installation import DISTRIBUTION, how_to_add
from kmonitor.cli.common.display import Display, find_display, install_line, missing_libraries
from kmonitor.cli.common.hub_access import HostOption
from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    UsageError,
    pluralized,
    print_json,
    print_text,
    size_text,
    terminal_lines,
    terminal_safe,
)
from kmonitor.cli.doctor.host_checks import Finding, FindingLevel, examine_hosts, examine_ssh
from kmonitor.cli.window import trouble_of, version_of, window_packages
from kmonitor.connect.host_access import known_host
from kmonitor.connect.local_hub import request_local_hub, silent_hub_error
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor.hub.access.keys import FILE_NAME, KeyListUntrusted, read_key_list
from kmonitor.hub.metrics.exporters import is_loopback
from kmonitor.hub.store.connection import READ_ERRORS, StoreConnection
from kmonitor.hub.store.database import DATABASE_NAME
from kmonitor.hub.store.row_checks import SUMMED, is_sound
from kmonitor.hub.store.store_choice import open_stored, shown_store, stored_store, try_store
from kmonitor.ui.text.formats import count_text
from kmonitor.ui.text.language import PACKAGE, has_chinese_font
from kmonitor_agent.wire.local.file_system import NETWORK_FILE_SYSTEMS, file_system_of
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import keys_folder
from kmonitor_agent.wire.local.private_files import (
    NotPrivate,
    UnsafePath,
    check_own_folder,
    check_private_folder,
    is_plain,
)
from kmonitor_agent.wire.messages.unions import HubReply
from kmonitor_agent.wire.spool.folder import ROOT_LIMIT_BYTES

_ROWS_AT_ONCE: Final = 10_000
_REMEDY: Final = (
    "The hub repairs what it can when idle, and marks the rest as lost. To check, run: "
    "kmonitor hub status"
)


def examine_store(folders: Folders) -> Iterator[Finding]:
    """Check a team's database, if one is set; no finding for local history."""
    try:
        store = stored_store(folders)
        if not store:
            return
        try_store(store)
        found = Finding("history", "ok", f"in {shown_store(store)}, which is reachable")
    except UserError as exc:
        found = Finding("history", "bad", exc.what, exc.remedy)
    yield found


def verify_store(folders: Folders) -> Finding:
    """Compare each stored event with its checksum; reads all events."""
    try:
        store = stored_store(folders)
        if not store and not (folders.database / DATABASE_NAME).exists():
            return Finding("stored events", "ok", "none yet")
        with closing(open_stored(folders, store)) as connection:
            n_sound, n_damaged = _verified(connection)
            broken = "" if store else _broken(connection)
    except UserError as exc:
        return Finding("stored events", "bad", exc.what, exc.remedy)
    except (OSError, *READ_ERRORS) as exc:
        return Finding("stored events", "bad", f"not all of them can be read: {exc}", _REMEDY)
    sound = f"{count_text(n_sound)} are intact"
    if n_damaged or broken:
        found = f"{count_text(n_damaged)} are damaged{broken}; {sound}"
        return Finding("stored events", "bad", found, _REMEDY)
    return Finding("stored events", "ok", sound)


def _verified(connection: StoreConnection) -> tuple[int, int]:
    """Numbers of sound and of damaged events."""
    n_sound = n_damaged = 0
    last = 0
    while True:
        found = connection.execute(
            f"SELECT {SUMMED} FROM events WHERE row > ? ORDER BY row LIMIT ?",  # noqa: S608 - constant
            (last, _ROWS_AT_ONCE),
        ).fetchall()
        if not found:
            return n_sound, n_damaged
        sound = sum(map(is_sound, found))
        n_sound += sound
        n_damaged += len(found) - sound
        last = found[-1][0]


def _broken(connection: StoreConnection) -> str:
    """Damage that SQLite finds in its file, as text; empty if none."""
    (outcome,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    return "" if outcome == "ok" else f", and so is the database ({outcome})"


_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


def doctor(
    *,
    json: JsonOption = False,
    verify: Annotated[bool, Parameter(name="--verify", negative="")] = False,
    host: HostOption = None,
) -> int:
    """Check this machine: libraries, display, driver, framework, hub, folders, ssh and hosts.

    Example: `kmonitor doctor`

    Nothing is started, installed or kept here; a small test file is written and removed. All
    remembered hosts are contacted in parallel, for at most 15 s, and a hub is started if none is
    running there. Exit status: 1 if something is bad: kmonitor cannot work here, or the host given
    with `--host` cannot be reached. A note means that something optional is missing.

    Args:
        json: One JSON list of objects with `subject`, `state` (ok, note or bad), `found` and
            `remedy`.
        verify: Verify the checksum of every stored event and nothing else; takes about 2 s per
            million events.
        host: Check only ssh and this host: an ssh destination, or a name from `kmonitor hosts`.
    """
    folders = find_folders()
    if verify:
        if host is not None:
            raise UsageError(
                "--verify checks events stored here, so it cannot be combined with --host."
            )
        findings = [verify_store(folders)]
    elif host is None:
        findings = list(examine(folders))
    else:
        known = known_host(folders, host)
        findings = [*examine_ssh([known]), *examine_hosts(folders, host)]
    if json:
        print_json(findings)
    else:
        for finding in findings:
            _print_finding(finding)
    return FAILED if any(finding.state == "bad" for finding in findings) else DONE


def _print_finding(finding: Finding) -> None:
    head = f"{_MARKS[finding.state]} {finding.subject:<18} "
    print_text(f"{head}{terminal_lines(finding.found, indent=len(head))}")
    for line in finding.remedy.splitlines():
        print_text(f"     {'':<18} -> {terminal_safe(line)}")


def examine(folders: Folders) -> Iterator[Finding]:
    """All findings, the most general first."""
    yield _program()
    yield _python()
    yield _other_package_finding()
    yield _window_packages()
    yield _libraries()
    yield from _fonts()
    yield _display()
    yield _driver()
    yield from _frameworks()
    yield from _hub(folders)
    yield from examine_store(folders)
    yield from _keys(folders)
    yield _state_folder(folders)
    yield from _disk_space_findings(folders)
    yield _runtime_folder(folders)
    yield from _file_systems(folders)
    yield _spool(folders)
    yield from examine_ssh(HostStore(folders).hosts())
    yield from examine_hosts(folders)


def _program() -> Finding:
    where = Path(kmonitor.__file__).parent
    return Finding("kmonitor", "ok", f"{kmonitor.__version__} in {where}")


def _python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()}, {sys.executable}")


def _other_package_finding() -> Finding:
    """Check that the imported `kmonitor` belongs to this distribution alone."""
    owners = importlib.metadata.packages_distributions().get("kmonitor", [])
    # An editable install is no owner: it puts a folder on the path, not files.
    impostor = ["kmonitor"] if version_of("kmonitor") else []
    others = sorted({*owners, *impostor} - {DISTRIBUTION})
    if others:
        return Finding(
            "package names",
            "bad",
            f"another package called kmonitor is provided by {', '.join(others)}",
            f"python -m pip uninstall {' '.join(others)}\nthen install {DISTRIBUTION} again",
        )
    if not version_of(DISTRIBUTION):
        found = "running from a source folder, not installed"
        return Finding("package names", "note", found, "python -m pip install .")
    return Finding("package names", "ok", f"the imported kmonitor is {DISTRIBUTION}")


def _window_packages() -> Finding:
    found = window_packages()
    versions = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    if not all(found.values()):
        lacking = " and ".join(name for name, version in found.items() if not version)
        absent = f"{lacking} not installed; needed only for the window"
        return Finding("window packages", "note", absent, how_to_add("desktop"))
    trouble = trouble_of(*found.values())
    if trouble:
        return Finding("window packages", "bad", trouble, how_to_add("desktop"))
    return Finding("window packages", "ok", versions)


def _libraries() -> Finding:
    missing = missing_libraries(for_screen=find_display().display is Display.SCREEN)
    if missing:
        found = f"missing for the window: {', '.join(missing)}"
        return Finding("system libraries", "note", found, install_line(missing))
    return Finding("system libraries", "ok", "complete")


def _fonts() -> Iterator[Finding]:
    has_one = has_chinese_font()
    if has_one is None:
        return
    if has_one:
        yield Finding("fonts", "ok", "including one with Chinese characters")
        return
    found = "no font has Chinese characters: run names in Chinese appear as boxes in the window"
    remedy = install_line({"a font": PACKAGE}) + "\n(or fonts-noto-cjk, which has all weights)"
    yield Finding("fonts", "note", found, remedy)


def _display() -> Finding:
    found = find_display()
    if found.display in (Display.NONE, Display.SILENT):
        remedy = "run the window on your desktop; here: kmonitor --screenshot window.png"
        return Finding("screen", "note", found.description, remedy)
    return Finding("screen", "ok", found.description)


def _driver() -> Finding:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        found = (
            "no NVIDIA driver on this host; VRAM use is read from the framework's own"
            " allocator instead"
        )
        return Finding("NVIDIA driver", "note", found)
    try:
        version = pynvml.nvmlSystemGetDriverVersion()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as exc:
        return Finding("NVIDIA driver", "note", f"it returned an error: {exc}")
    finally:
        pynvml.nvmlShutdown()
    return Finding("NVIDIA driver", "ok", f"{version}, {pluralized(count, 'device')}")


_BACKENDS = {
    "TensorFlow": ("tensorflow", "tensorflow-cpu", "tf-nightly"),
    "JAX": ("jax",),
    "PyTorch": ("torch",),
}
"""Backend to the distributions that contain it."""


def _frameworks() -> Iterator[Finding]:
    """Report versions only: importing a framework takes seconds and hundreds of megabytes."""
    keras = version_of("keras")
    backends = {name: _first_version(*packages) for name, packages in _BACKENDS.items()}
    location = f"in {sys.prefix}"
    if keras:
        yield Finding("Keras", "ok", f"{keras} {location}")
    else:
        absent = f"not installed {location}; training scripts may use another environment"
        yield Finding("Keras", "note", absent, f"for the demo: {how_to_add('demo')}")
    found = [f"{name} {version}" for name, version in backends.items() if version]
    if found:
        yield Finding("Keras backends", "ok", ", ".join(found))


def _first_version(*distributions: str) -> str:
    versions = [version_of(distribution) for distribution in distributions]
    return next((version for version in versions if version), "")


def _hub(folders: Folders) -> Iterator[Finding]:
    try:
        reply = request_local_hub(folders)
    except (UserError, NotPrivate, OSError) as exc:
        yield Finding("hub", "bad", str(exc), "see the folders below")
        return
    if reply is None and (silent := silent_hub_error(folders)) is not None:
        yield Finding("hub", "bad", silent.what, silent.remedy)
        return
    if reply is None:
        found = "not running; start one with kmonitor, kmonitor runs or kmonitor hub"
        yield Finding("hub", "note", found)
        return
    yield _hub_finding(reply, folders)
    for trouble in reply.troubles:
        yield Finding("hub problem", "note", trouble)
    yield from metrics_findings(reply)


def _hub_finding(reply: HubReply, folders: Folders) -> Finding:
    trainings = pluralized(reply.agents, "training run")
    found = f"version {reply.version} is running, process {reply.pid}, {trainings}"
    if reply.version != kmonitor.__version__:
        remedy = "kmonitor hub stop (the next command starts this version's hub)"
        return Finding("hub", "note", f"{found}; this program is {kmonitor.__version__}", remedy)
    if reply.faults:
        faults = ", ".join(f"{part} {count}" for part, count in sorted(reply.faults.items()))
        return Finding("hub", "note", f"{found}; faults: {faults}", f"see {folders.logs}")
    return Finding("hub", "ok", found)


def metrics_findings(reply: HubReply) -> Iterator[Finding]:
    """Report the users that can read the hub's metrics."""
    if reply.prometheus:
        is_local = is_loopback(reply.prometheus)
        who = "every user of this host" if is_local else "anyone who can reach that port"
        found = f"{reply.prometheus} has no authentication: {who} can read run names and metrics"
        remedy = "" if is_local else "to serve them only to this host: --prometheus 127.0.0.1:9188"
        yield Finding("metrics", "ok" if is_local else "note", found, remedy)
    if reply.otlp:
        yield Finding("metrics", "ok", f"sent to {reply.otlp}")


def _keys(folders: Folders) -> Iterator[Finding]:
    path = keys_folder(folders) / FILE_NAME
    try:
        keys = read_key_list(path)
    except KeyListUntrusted as exc:
        found, _, remedy = str(exc).partition("; ")
        yield Finding("list of keys", "bad", found, remedy)
        return
    if keys:
        yield Finding("list of keys", "ok", f"{pluralized(len(keys), 'key')} in {path}")


_ELSEWHERE = "set KMONITOR_HOME to a folder that you can write to"


def _state_folder(folders: Folders) -> Finding:
    existing = nearest_existing(folders.state)
    if existing.exists() and not existing.is_dir():
        found = f"{folders.state} cannot be used: {existing} is a file"
        return Finding("state folder", "bad", found, _ELSEWHERE)
    for folder in (folders.state, folders.database, folders.spool, folders.logs):
        fault = write_fault(folder)
        if fault:
            found = f"{folder} is not writable: {fault}"
            return Finding("state folder", "bad", found, f"{_ELSEWHERE}, or free some space")
    return _owned(folders, "" if existing == folders.state else " (not created yet)")


def _owned(folders: Folders, created_text: str) -> Finding:
    """Check that only this user can write to the state folder."""
    warnings: list[str] = []
    try:
        warnings = check_own_folder(folders.state)
    except FileNotFoundError:
        pass  # what is above it was checked
    except UnsafePath as exc:
        why, _, remedy = exc.why.partition("; ")
        return Finding("state folder", "bad", f"{exc.path} {why}", remedy)
    except OSError as exc:
        return Finding("state folder", "bad", f"{folders.state}: {exc.strerror}", _ELSEWHERE)
    if warnings:
        return Finding("state folder", "note", "; ".join(warnings), _ELSEWHERE)
    return Finding("state folder", "ok", f"{folders.state}{created_text}, writable")


_TRIED_BYTES: Final = 64 * 1024
"""Bytes of the test file: more than a file system stores within a folder's own blocks."""


def write_fault(path: Path) -> str:
    """Reason why no file can be written in a folder, which may be missing; empty if one can.

    A file is written in a new folder, and both are removed again.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".kmonitor-", dir=nearest_existing(path)) as folder,
            tempfile.TemporaryFile(dir=folder) as tried,
        ):
            tried.write(bytes(_TRIED_BYTES))
            tried.flush()
            os.fsync(tried.fileno())
    except OSError as exc:
        return exc.strerror or str(exc)
    return ""


def nearest_existing(path: Path) -> Path:
    """The path, or the closest existing folder above it."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


NO_ROOM_BYTES = 64 * 1024**2
LITTLE_ROOM_BYTES = ROOT_LIMIT_BYTES
"""Free space below these bytes is bad, or a note; all spools may grow to the latter."""


def _disk_space_findings(folders: Folders) -> Iterator[Finding]:
    """Check disk space: events of trainings wait on the disk, and the hub stores them there."""
    free = free_bytes(folders.state)
    if free is None:
        return
    found = f"{size_text(free)} free for {folders.state}"
    if free < LITTLE_ROOM_BYTES:
        state: FindingLevel = "bad" if free < NO_ROOM_BYTES else "note"
        remedy = f"free some space, or {_ELSEWHERE} on another disk"
        yield Finding("free space", state, f"only {found}", remedy)
    else:
        yield Finding("free space", "ok", found)


def free_bytes(path: Path) -> int | None:
    """Free bytes on the disk of a path, existing or not; None where that is unknown."""
    try:
        found = shutil.disk_usage(nearest_existing(path))
    except OSError:
        return None
    return found.free if found.total else None


def _runtime_folder(folders: Folders) -> Finding:
    try:
        check_private_folder(folders.runtime)
    except FileNotFoundError:
        fault = write_fault(folders.runtime)
        if fault:
            found = f"{folders.runtime} cannot be created: {fault}"
            return Finding("socket folder", "bad", found, _ELSEWHERE)
        return Finding("socket folder", "ok", f"{folders.runtime} (not created yet)")
    except NotPrivate as exc:
        return Finding("socket folder", "bad", f"{exc.path} {exc.why}")
    except OSError as exc:
        found = f"{folders.runtime}: {exc.strerror}"
        return Finding("socket folder", "bad", found, _ELSEWHERE)
    return Finding("socket folder", "ok", f"{folders.runtime}, accessible only to you")


def _file_systems(folders: Folders) -> Iterator[Finding]:
    for subject, path in (("database", folders.database), ("socket", folders.runtime)):
        kind = file_system_of(path)
        if kind in NETWORK_FILE_SYSTEMS:
            remedy = "set KMONITOR_HOME to a folder on a local disk; KMONITOR_SPOOL can stay there"
            found = f"{path} is on a network file system ({kind})"
            yield Finding(f"{subject} disk", "bad", found, remedy)
        elif kind:
            yield Finding(f"{subject} disk", "ok", f"{kind}, local")
    kind = file_system_of(folders.state)
    if kind in NETWORK_FILE_SYSTEMS:
        found = (
            f"{folders.state} is on a network file system ({kind}): this host's database and"
            f" sockets are in {folders.database.parent} and {folders.runtime}"
        )
        yield Finding("network home", "note", found)
    kind = file_system_of(folders.spool)
    if kind in NETWORK_FILE_SYSTEMS:
        found = f"{folders.spool} is on a network file system ({kind}), used only by this host"
        yield Finding("spool disk", "ok", found)


def _spool(folders: Folders) -> Finding:
    files = [path for path in folders.spool.glob("*/*") if is_plain(path)]
    size = sum(path.lstat().st_size for path in files)
    runs = len({path.parent for path in files})
    found = f"{size_text(size)} of {pluralized(runs, 'run')} in {folders.spool}"
    return Finding("spool", "ok", f"{found} (at most 1 GiB)")
