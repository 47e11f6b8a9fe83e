"""When a shipped spool may be removed: its process has ended, and a hub has all of it."""

import contextlib
import shutil
import socket
from pathlib import Path

from kmonitor.connect.shipping import Shipped, ends
from kmonitor_agent.wire.local.file_system import is_shared
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.local.spool_folder import RunSpool
from kmonitor_agent.wire.local.spool_format import parse_segment, read_segment, segments_in
from kmonitor_agent.wire.local.spool_reader import SpoolTail


def why_kept(path: Path, tail: SpoolTail, done: Shipped) -> str:
    """Why a spool that was shipped has to stay; empty when it may go.

    A lock is only asked for where it tells something: on a disk of this machine, of a process of
    this machine.

    Args:
        path: The run's folder.
        tail: As far as it was read.
        done: What was shipped of it.

    Raises:
        OSError: It cannot be read.
    """
    if done.refused:
        return done.refused
    if done.waits or tail.read(1).events:
        return "more of it has come meanwhile"
    records = parse_segment(read_segment(segments_in(path)[-1])).records
    if records and ends(records[-1].body):
        return ""
    is_ours = tail.facts is not None and tail.facts.host == socket.gethostname()
    if not is_ours or is_shared(path):
        return f"its process on {done.host} may still write"
    return _why_taken(path)


def _why_taken(path: Path) -> str:
    try:
        spool = RunSpool.take(path)
    except UnsafePath as exc:
        return str(exc)
    if spool is None:
        return "its process lives"
    spool.close()
    return ""


def delete_shipped(path: Path) -> bool:
    """Remove a run's folder with everything in it. Raises: OSError."""
    if not segments_in(path):
        return False
    shutil.rmtree(path)
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # that host's, job's and rank's, if nothing else is left
    return True
