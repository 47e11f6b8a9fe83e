"""Sockets lie in a folder that is this user's alone, or nowhere."""

from pathlib import Path

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import (
    hub_lock_path,
    ingest_socket_path,
    ipc_endpoint,
    view_socket_path,
)


def test_all_sockets_and_the_lock_lie_in_the_runtime_folder(folders: Folders):
    places = {ingest_socket_path(folders), view_socket_path(folders), hub_lock_path(folders)}

    assert {p.parent for p in places} == {folders.runtime}
    assert len(places) == 3
    assert ipc_endpoint(Path("/a/b.sock")) == "ipc:///a/b.sock"
