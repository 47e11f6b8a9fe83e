"""Sockets lie in a folder that is this user's alone, or nowhere."""

from pathlib import Path

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import hub_lock, ingest_socket, ipc, view_socket


def test_all_sockets_and_the_lock_lie_in_the_runtime_folder(folders: Folders):
    places = {ingest_socket(folders), view_socket(folders), hub_lock(folders)}

    assert {p.parent for p in places} == {folders.runtime}
    assert len(places) == 3
    assert ipc(Path("/a/b.sock")) == "ipc:///a/b.sock"
