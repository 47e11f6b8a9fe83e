"""Record of the interpreter that has kmonitor on a host, so that a hub can be started there.

A shell that logs in without a terminal activates no virtual environment, so each agent's start
records the interpreter that has kmonitor installed.
"""

import os
import re
from pathlib import Path
from typing import Final

import msgspec

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.private_files import (
    check_own_folder,
    make_own_folder,
    read_own,
    write_private,
)
from kmonitor_agent.wire.messages.fields import Name, Text
from kmonitor_agent.wire.messages.unions import Wall

LAUNCHER_BYTES: Final = 16 * 1024
"""Maximum size of a record. The script that a window sends to a host reads no more either."""


class InterpreterRecord(msgspec.Struct, frozen=True):
    """An interpreter that has kmonitor, as an agent last found it.

    Attributes:
        python: Absolute path of the interpreter.
        version: kmonitor's version there.
        host: Host name.
        wall_s: Time of the record, UTC epoch seconds.
    """

    python: Text
    version: Name
    host: Name
    wall_s: Wall


def interpreter_record_path(folders: Folders, host: str) -> Path:
    """Path of the record; one per host, since a home folder may be shared by many."""
    return folders.state / f"launcher-{re.sub(r'[^0-9A-Za-z_.-]', '_', host)[:64]}.json"


def write_interpreter_record(folders: Folders, record: InterpreterRecord) -> None:
    """Write the record unless it is unchanged. Raises: OSError."""
    last = read_interpreter_record(folders, record.host)
    if last is not None and (last.python, last.version) == (record.python, record.version):
        return
    make_own_folder(folders.state)
    write_private(interpreter_record_path(folders, record.host), msgspec.json.encode(record))


def read_interpreter_record(folders: Folders, host: str) -> InterpreterRecord | None:
    """The record of a host; None if there is none.

    Also None if another user could have written it, or if its interpreter no longer runs.
    """
    try:
        check_own_folder(folders.state)
        data = read_own(interpreter_record_path(folders, host), LAUNCHER_BYTES)
        record = msgspec.json.decode(data, type=InterpreterRecord)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return record if os.access(record.python, os.X_OK) else None
