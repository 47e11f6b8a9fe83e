"""The places of the hub's sockets, in a folder that is this user's alone."""

from pathlib import Path

from kmonitor_agent.wire.local.folders import Folders

INGEST_NAME = "agents.sock"
"""File name of the socket that agents connect to, in the hub's runtime folder."""


def ingest_socket(folders: Folders) -> Path:
    """Path of the socket that agents connect to."""
    return folders.runtime / INGEST_NAME


def view_socket(folders: Folders) -> Path:
    """Path of the socket that desktops and the command line connect to."""
    return folders.runtime / "view.sock"


def hub_lock(folders: Folders) -> Path:
    """Path of the lock that the hub holds while it is bound."""
    return folders.runtime / "hub.lock"


def ipc(path: Path) -> str:
    """A socket's path as a ZeroMQ address."""
    return f"ipc://{path}"
