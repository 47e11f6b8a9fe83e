"""The hub as a program: from its lock to its last commit."""

import argparse
import faulthandler
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path

import zmq

from kmonitor.base.errors import UserError
from kmonitor.base.standard_streams import fill_standard_streams
from kmonitor.base.wakeup import WakeupPipe
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.lock import AnotherHub, HubLock
from kmonitor.hub.log import LOG, close_log, open_log
from kmonitor.hub.loop import HubLoop
from kmonitor.hub.options import HubOptions
from kmonitor.hub.store.connection import OUT_OF_SYNC_ERRORS, StoreUnavailable
from kmonitor.hub.store.database import DATABASE_NAME
from kmonitor.hub.store.salvage import DAMAGE, is_of_tables, salvage
from kmonitor.hub.store.store_choice import store_named, stored_store
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.free_resources import MIB, RequiredResources, missing_resources
from kmonitor_agent.wire.local.hub_address import hub_lock_path
from kmonitor_agent.wire.local.private_files import (
    UnsafePath,
    check_own_folder,
    make_own_folder,
    make_private_folder,
)
from kmonitor_agent.wire.messages.fields import MAX_DURATION_S
from kmonitor_agent.wire.release import VERSION

EXIT_ANOTHER = 3
"""Exit status when another hub runs here already."""

EXIT_REFUSED = 4
"""Exit status when the hub cannot run here, for example because a folder is not private."""

EXIT_INTERRUPTED = 130
"""Exit status after SIGINT."""

_MIN_FILES = 4096
_NEEDS = RequiredResources(descriptors=64, threads=4, n_bytes=64 * MIB)
"""Resources without which libzmq would end the process by a signal."""

_DIFFERS_AGAIN_S = 60.0
"""Time within which a store that is out of sync again after all was read stays so, seconds."""


class Ending(Enum):
    """Why the hub's loop ended."""

    STOPPED = "stopped"
    MOVED = "moved"
    DIFFERS = "the database does not match the data in memory"


class HubCannotStart(UserError):
    """The hub refuses to run here; says why and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m kmonitor.hub`: run until SIGTERM, SIGINT or a desktop's request.

    Returns:
        Exit status: 0 when asked to end, 130 by SIGINT, else `EXIT_ANOTHER` or `EXIT_REFUSED`.
    """
    fill_standard_streams()
    options = _parser().parse_args(argv)
    try:
        run(
            find_folders(),
            HubOptions(
                idle_s=options.idle_s,
                folder=options.folder,
                bind=options.bind,
                store=None if options.store is None else store_named(options.store),
                prometheus=options.prometheus,
                otlp=options.otlp,
            ),
        )
    except UserError as exc:
        sys.stderr.write(f"kmonitor hub: {exc}\n")
        return EXIT_ANOTHER if isinstance(exc, AnotherHub) else EXIT_REFUSED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kmonitor.hub",
        description=(
            "Receive the data of this user's training runs, store it, and serve it to kmonitor"
            " windows."
        ),
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("--folder", type=Path, help="show only the spools in this folder")
    parser.add_argument(
        "--idle-s",
        type=_seconds,
        help="exit after this many seconds without a live run or a window; default: never",
    )
    parser.add_argument(
        "--bind",
        default="",
        metavar="ADDRESS:PORT",
        help=(
            "also listen on this address, encrypted, and accept only keys authorized with"
            " `kmonitor authorize`"
        ),
    )
    parser.add_argument(
        "--store",
        metavar="URL",
        help=(
            "store the history in this team database (postgresql://USER@HOST/DATABASE), or"
            " `here` to store it on this machine"
        ),
    )
    parser.add_argument(
        "--prometheus",
        default="",
        metavar="ADDRESS:PORT",
        help="serve metrics for Prometheus at this address, without authentication",
    )
    parser.add_argument(
        "--otlp", default="", metavar="URL", help="send metrics to this OpenTelemetry collector"
    )
    return parser


def _seconds(written: str) -> float:
    value = float(written)
    if not 0 <= value <= MAX_DURATION_S:
        raise ValueError(written)
    return value


def run(folders: Folders, options: HubOptions | None = None) -> None:
    """Run the hub in this process's main thread until a signal or a request ends it.

    Args:
        options: Options; None: as this user's hub, without an end.

    Raises:
        NetworkRefused: It cannot listen there, or not safely.
        ExporterRefused: A requested exporter cannot be opened.
        AnotherHub: One is running already.
        HubCannotStart: The runtime folder is not private, or a folder cannot be made.
        OtherDatabase: Another version wrote the database.
        UserError: The team's database cannot be used.
    """
    options = options or HubOptions()
    os.umask(0o077)
    _raise_file_limit()
    if why := missing_resources(_NEEDS):
        raise HubCannotStart(f"The hub cannot start: {why}. See `ulimit -a`.")
    if options.folder is not None and not options.folder.is_dir():
        raise HubCannotStart(f"{options.folder} is not a folder.")
    handler = _open_log(folders)
    # To standard error: a stopped process has no business with the rotated file.
    if not faulthandler.is_enabled():
        faulthandler.enable(sys.stderr)
    try:
        options = replace(options, store=_store(folders, options))
        _run_until_stopped(folders, options)
    except UserError as exc:
        LOG.error("the hub cannot start: %s", exc)
        raise
    except Exception:
        LOG.exception("the hub stopped because of an internal error")
        raise
    finally:
        close_log(handler)


def _run_until_stopped(folders: Folders, options: HubOptions) -> None:
    # If the hub's files vanish (a cleaned temporary folder, a deleted database), start again: a
    # restart loses nothing.
    differed_s = float("-inf")
    while (ending := _run_once(folders, options)) is not Ending.STOPPED:
        if not folders.state.is_dir():
            # Everything of ours was removed on purpose; a hub must not bring it back.
            LOG.warning("%s is gone: the hub is shutting down", folders.state)
            return
        if ending is Ending.DIFFERS:
            now_s = time.monotonic()
            options = replace(options, is_lenient=now_s - differed_s < _DIFFERS_AGAIN_S)
            differed_s = now_s
            continue
        LOG.warning("folder, lock or database was moved: restarting")


def _open_log(folders: Folders) -> logging.Handler:
    """The log, once its folder has been checked to be this user's."""
    try:
        make_own_folder(folders.state)
        warnings = check_own_folder(folders.state)
        handler = open_log(folders.logs)
    except UnsafePath as exc:
        raise HubCannotStart(f"{exc.path} {exc.why}.") from exc
    except OSError as exc:
        raise HubCannotStart(f"{folders.logs} cannot be written to: {exc.strerror}.") from exc
    for warning in warnings:
        LOG.warning("%s", warning)
    return handler


def _store(folders: Folders, options: HubOptions) -> str:
    if options.folder is not None:
        return ""  # a folder that is only shown has no store
    return stored_store(folders) if options.store is None else options.store


def _run_once(folders: Folders, options: HubOptions) -> Ending:
    try:
        make_private_folder(folders.runtime)
        if folders.database.parent != folders.state:
            make_private_folder(folders.database.parent)  # in a folder that all users share
        make_own_folder(folders.database)
    except UnsafePath as exc:
        raise HubCannotStart(f"{exc.path} {exc.why}.") from exc
    except OSError as exc:
        raise HubCannotStart(f"{exc.filename} cannot be created: {exc.strerror}.") from exc
    lock = _lock(hub_lock_path(folders))
    try:
        # The runtime folder may be cleaned away under a living hub; the database's own lock
        # keeps a second one from writing meanwhile.
        database_lock = _lock(folders.database / "hub.lock")
        try:
            return _loop(folders, (lock, database_lock), options)
        finally:
            database_lock.release()
    finally:
        lock.release()


def _lock(path: Path) -> HubLock:
    try:
        return HubLock(path)
    except UnsafePath as exc:
        raise HubCannotStart(f"{path} {exc.why}.") from exc
    except OSError as exc:
        what = f"{path} cannot be written to or locked: {exc.strerror}."
        raise HubCannotStart(what, "Set KMONITOR_HOME to a folder on a local disk.") from exc


def _loop(folders: Folders, locks: tuple[HubLock, HubLock], options: HubOptions) -> Ending:
    try:
        return _serve(folders, locks, options)
    except UnsafePath as exc:
        raise HubCannotStart(f"{exc.path} {exc.why}.") from exc
    except sqlite3.OperationalError as exc:
        if not is_of_tables(exc):
            what = f"The database in {folders.database} cannot be used: {exc}."
            raise HubCannotStart(what) from exc
        salvage(folders.database / DATABASE_NAME, exc)
    except StoreUnavailable as exc:
        raise HubCannotStart(f"The team's database cannot be used: {exc}.") from exc
    except OUT_OF_SYNC_ERRORS:
        # Rows that this hub does not know of: what it knows is read again, agents resend.
        LOG.exception("the database does not match the data in memory")
        return Ending.DIFFERS
    except DAMAGE as exc:
        salvage(folders.database / DATABASE_NAME, exc)
    return Ending.MOVED


def _serve(folders: Folders, locks: tuple[HubLock, HubLock], options: HubOptions) -> Ending:
    with ExitStack() as opening, _named(folders):
        pipe = WakeupPipe()
        opening.callback(pipe.close)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        opening.callback(context.destroy, linger=0)
        loop = HubLoop(folders, context, pipe, HubFaults(LOG), SystemClock(), options)
        opened = opening.pop_all()
    with opened:
        try:
            if options.bind:
                loop.listen(options.bind)
            if options.prometheus or options.otlp:
                loop.start_exporters()
            with pipe.on_signals(loop.stop):
                LOG.info("hub %s, version %s, in %s", loop.hub, VERSION, folders.runtime)
                moved = loop.run(lambda: all(lock.is_in_place() for lock in locks))
                LOG.info("hub ended (%s)", "moved" if moved else "stopped")
                return Ending.MOVED if moved else Ending.STOPPED
        finally:
            loop.close()


@contextmanager
def _named(folders: Folders) -> Generator[None]:
    """Name the missing resource in errors while the hub is created."""
    try:
        yield
    except UnsafePath:
        raise
    except zmq.ZMQError as exc:
        what = f"The sockets in {folders.runtime} cannot be bound: {exc}."
        raise HubCannotStart(what) from exc
    except OSError as exc:
        where = exc.filename or folders.state
        raise HubCannotStart(f"{where} cannot be used: {exc.strerror}.") from exc


def _raise_file_limit() -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MIN_FILES if hard == resource.RLIM_INFINITY else min(_MIN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
