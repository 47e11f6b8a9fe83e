"""Every place where kmonitor opens its own files or folders, and what it does there."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor.alerts.rules import AlertSettings, load_alert_settings, save_alert_settings
from kmonitor.alerts.sent_log import SentAlert, SentAlertLog
from kmonitor.base.errors import UserError
from kmonitor.cli.purge import find_own_files
from kmonitor.connect.local_hub import lock_holder
from kmonitor.connect.remembered_hosts import FILE_NAME as HOSTS_NAME
from kmonitor.connect.remembered_hosts import LOCK_NAME as HOSTS_LOCK
from kmonitor.connect.remembered_hosts import HostFile
from kmonitor.connect.shipping import newest_facts
from kmonitor.hub.access.keys import FILE_NAME as KEYS_NAME
from kmonitor.hub.access.keys import read_key_list
from kmonitor.hub.lock import HubLock
from kmonitor.hub.log import LOG, close_log, open_log
from kmonitor.hub.options import Keep, load_keep_or_default, save_keep
from kmonitor.hub.store.database import DATABASE_NAME, SqliteDatabase
from kmonitor.hub.store.store_choice import stored_store, write_store
from kmonitor.ui.settings.window_settings import WindowSettings, load_settings, save_settings
from kmonitor.ui.shell.crash_reports import find_crash_reports
from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.delivery import SeenCommands
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag, VariableToStore
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.restart.fit_state import FitStateStore
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import keys_folder, make_salt, own_keys, read_salt
from kmonitor_agent.wire.local.hub_address import hub_lock_path
from kmonitor_agent.wire.local.interpreter_record import (
    InterpreterRecord,
    interpreter_record_path,
    read_interpreter_record,
    write_interpreter_record,
)
from kmonitor_agent.wire.local.private_files import make_private_folder
from kmonitor_agent.wire.local.supervision import Supervision, SupervisorSettings
from kmonitor_agent.wire.spool.folder import RunSpool, spooled_runs, trim_root
from kmonitor_agent.wire.spool.format import (
    SpoolRecord,
    encode_record,
    segment_head,
    segment_name,
    unsafe_in,
)
from kmonitor_agent.wire.spool.reader import SpoolReader, spools_below
from kmonitor_agent.wire.spool.writer import DiskReserve, SpoolWriter
from tests.support.links import FACTS, body

HOST: Final = "host"
SMALL_BYTES: Final = 3 * 2**20
"""Most that a use of a small file reads: a few times its bound."""

LARGE_BYTES: Final = 16 * 2**20
"""The same of files that may be larger than garbage is, which is 4 MiB."""

SPOOL_BYTES: Final = 48 * 2**20
"""Most that all readers of one run's spool read together, of which garbage is 4 MiB."""

_STUDY: Final = StudyFacts("study", "f", 2)


@dataclass(frozen=True, slots=True)
class Place:
    """A place.

    Attributes:
        name: Description of what lies there.
        path: Returns its path.
        uses: Uses of the place, one after the other, whatever the one before raised.
        limit_bytes: Most that all of it may read.
        is_folder: It is one of the state folder's, which the user may have put elsewhere.
    """

    name: str
    path: Callable[[Folders], Path]
    uses: tuple[Callable[[Folders], object], ...]
    limit_bytes: int = SMALL_BYTES
    is_folder: bool = False


def write_segment(folder: Path, first: int, last: int) -> None:
    """A good segment of a run with the events of these numbers."""
    records = b"".join(encode_record(seq, body(seq)) for seq in range(first, last + 1))
    path = folder / segment_name(first)
    path.write_bytes(segment_head(FACTS) + records)
    path.chmod(0o600)


def run_folder(folders: Folders) -> Path:
    """The folder of the run of `FACTS`."""
    return folders.spool / FACTS.run


def _tail(folders: Folders) -> None:
    tail = SpoolReader(run_folder(folders))
    newest_facts(tail)
    while tail.read().events:
        pass


def _list(folders: Folders) -> None:
    spooled_runs(folders.spool)
    spools_below(folders.spool)
    unsafe_in(run_folder(folders))


def _own(folders: Folders) -> None:
    spool = RunSpool.acquire(run_folder(folders))
    assert spool is not None
    with spool:
        list(spool.events())
        spool.mark_acked(3)
        spool.expire(0.0)
        spool.remove_if_empty()


def _write(folders: Folders) -> None:
    writer = SpoolWriter(folders.spool, FACTS, SystemClock(), state=folders.state)
    try:
        spool = writer.open()
        writer.write([SpoolRecord(max(100, spool.last_seq + 1), body(100))])
    finally:
        writer.close()


def _commands(folders: Folders) -> None:
    seen = SeenCommands(run_folder(folders))
    seen.add("command1")
    assert "command1" in SeenCommands(run_folder(folders))


def _reserve(folders: Folders) -> None:
    reserve = DiskReserve(FACTS)
    reserve.hold(run_folder(folders))
    with contextlib.suppress(OSError):
        reserve.save([SpoolRecord(1000, body(1000))])
    reserve.release()


def _trim(folders: Folders) -> None:
    trim_root(folders.spool, limit_bytes=1)


def _fault_log(folders: Folders) -> None:
    faults = FaultLog(folders.logs / "agent.log")
    faults.record("test", ValueError("a fault"))
    faults.write_out()


def _launcher(folders: Folders) -> None:
    read_interpreter_record(folders, HOST)
    write_interpreter_record(folders, InterpreterRecord("/bin/sh", "1", HOST, wall_s=1.0))


def _salt(folders: Folders) -> None:
    read_salt(folders.state)
    assert len(make_salt(folders.state)) == 32


def _checkpoints(folders: Folders) -> None:
    store = CheckpointStore(folders.checkpoints / FACTS.run)
    store.checkpoints()
    store.latest()


def _save(folders: Folders) -> None:
    import numpy as np  # noqa: PLC0415 - only here

    store = CheckpointStore(folders.checkpoints / FACTS.run)
    array = np.zeros(3)
    store.save(
        [VariableToStore("v", array.nbytes, array)], lambda v: v, tag=CheckpointTag("run1", 1, 0)
    )


def _supervision(folders: Folders) -> None:
    supervision = Supervision(folders.state / "restarts" / "one")
    supervision.settings()
    supervision.runs()
    supervision.request()
    supervision.has_state()
    supervision.set_settings(SupervisorSettings(1))
    supervision.run_id("a run")
    supervision.begin_next()


def _fit_state(folders: Folders) -> None:
    states = FitStateStore(folders.state / "restarts" / "one" / FACTS.run)
    states.mark_as_resumed(1, "crc32:1")
    states.read(1)


def _hub_log(folders: Folders) -> None:
    handler = open_log(folders.logs)
    LOG.info("a line")
    close_log(handler)


def _lock_hub(folders: Folders) -> None:
    HubLock(hub_lock_path(folders)).release()


def _database(folders: Folders) -> None:
    SqliteDatabase(folders.database / DATABASE_NAME).close()


def _hosts(folders: Folders) -> None:
    file = HostFile(folders.settings)
    file.stamp()
    with file.locked():
        file.read()


def _settings(folders: Folders) -> None:
    load_settings(folders.settings)
    save_settings(folders.settings, WindowSettings())


def _alerts(folders: Folders) -> None:
    load_alert_settings(folders.settings)
    save_alert_settings(folders.settings, AlertSettings())


def _sent_alerts(folders: Folders) -> None:
    log = SentAlertLog(folders.database)
    log.newest(1)
    log.add(SentAlert(1.0, "command", {}))


def _study(folders: Folders) -> None:
    study = StudyFolder(folders.state / "study")
    try:
        study.begin(_STUDY)
        study.finished()
        study.note(Attempt(1, 1, "finished"))
        study.write_table()
    finally:
        study.close()


def _of_spool(name: str) -> Place:
    uses = (_list, _tail, _own, _commands, _reserve, _trim, _write, _purge)
    return Place(f"spool's {name}", lambda f: run_folder(f) / name, uses, SPOOL_BYTES)


def _purge(folders: Folders) -> None:
    find_own_files(folders)


def _logs(name: str, use: Callable[[Folders], object]) -> Place:
    return Place(name, lambda f: f.logs / name, (use, _purge))


def _in_settings(name: str, *uses: Callable[[Folders], object]) -> Place:
    return Place(name, lambda f: f.settings / name, (*uses, _purge))


def _in_study(name: str) -> Place:
    path = Path("study", name)
    return Place(f"study's {name}", lambda f: f.state / path, (_study,), LARGE_BYTES)


def _in_restarts(name: str, use: Callable[[Folders], object]) -> Place:
    path = Path("restarts", "one", name)
    return Place(name, lambda f: f.state / path, (use,), LARGE_BYTES)


_IN_SETTINGS: Final = (_settings, _alerts, load_keep_or_default, _hosts)
_CHECKPOINTS: Final = (_checkpoints, _save)

PLACES: Final = (
    Place("spool root", lambda f: f.spool, (_list, _trim, _write), SPOOL_BYTES),
    Place("run's folder", run_folder, (_list, _tail, _own, _trim, _write), SPOOL_BYTES),
    *(
        _of_spool(name)
        for name in ("acked", "acked.new", "commands", "commands.new", "lock", "reserve")
    ),
    *(_of_spool(segment_name(first)) for first in (1, 6, 20)),
    Place("launcher", lambda f: interpreter_record_path(f, HOST), (_launcher, _purge)),
    Place("salt", lambda f: f.state / "host-salt", (_salt, _purge)),
    _logs("agent.log", _fault_log),
    _logs("hub.log", _hub_log),
    _logs("window-20260101-000000-1.trail", lambda f: find_crash_reports(f.logs)),
    _logs("crash-20260101-000000-1.txt", lambda f: find_crash_reports(f.logs)),
    Place("logs", lambda f: f.logs, (_fault_log, _hub_log), is_folder=True),
    _in_settings("window.json", _settings),
    _in_settings("alerts.json", _alerts),
    _in_settings("hub.json", load_keep_or_default, lambda f: save_keep(f, Keep())),
    _in_settings("store.json", stored_store, lambda f: write_store(f, "")),
    _in_settings(HOSTS_NAME, _hosts),
    _in_settings(HOSTS_LOCK, _hosts),
    Place(
        "settings",
        lambda f: f.settings,
        (_settings, _alerts, load_keep_or_default, _hosts),
        is_folder=True,
    ),
    Place("hub.key", lambda f: keys_folder(f) / "hub.key", (lambda f: own_keys(f, "hub"),)),
    Place("keys", keys_folder, (lambda f: own_keys(f, "agent"),)),
    Place(
        "list of keys",
        lambda f: keys_folder(f) / KEYS_NAME,
        (lambda f: read_key_list(keys_folder(f) / KEYS_NAME),),
    ),
    Place("alerts.sent", lambda f: f.database / "alerts.sent", (_sent_alerts,)),
    Place("hub.lock", hub_lock_path, (lock_holder, _lock_hub)),
    *(
        Place(name, lambda f, name=name: f.database / name, (_database,))
        for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-journal")
    ),
    Place(
        "checkpoint",
        lambda f: f.checkpoints / FACTS.run / "000007-fit1-epoch0-step0.h5",
        (_checkpoints, _save, _purge),
        LARGE_BYTES,
    ),
    Place(
        "checkpoints", lambda f: f.checkpoints, (_checkpoints, _save), LARGE_BYTES, is_folder=True
    ),
    *(_in_restarts(name, _supervision) for name in ("terms.json", "runs.json", "leaving")),
    *(_in_restarts(f"{FACTS.run}/{name}", _fit_state) for name in ("1.json", "1.taken")),
    *(_in_study(name) for name in ("study.json", "attempts.jsonl", "attempts.txt", "lock")),
    *(_in_study(name) for name in ("values", "values/0.value", "values/1.value")),
)
"""All places."""

RAISED: Final = (OSError, UserError)
"""Errors that callers of the uses handle, besides those in `RAISED_BESIDES`."""


def furnish(folders: Folders) -> None:
    """A home in which each place's neighbours are as they should be."""
    make_private_folder(folders.state)
    for folder in (
        folders.spool,
        run_folder(folders),
        folders.runtime,
        folders.logs,
        folders.settings,
        folders.database,
        keys_folder(folders),
        folders.checkpoints / FACTS.run,
        folders.state / "restarts" / "one" / FACTS.run,
    ):
        make_private_folder(folder)
    for first in (1, 11):
        write_segment(run_folder(folders), first, first + 4)
    study = StudyFolder(folders.state / "study")
    study.begin(_STUDY)
    study.note(Attempt(0, 1, "finished"))
    study.close()
