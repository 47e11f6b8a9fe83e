"""Remembered hosts, kept in a file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor.base.errors import UserError
from kmonitor.connect import remembered_hosts
from kmonitor.connect.remembered_hosts import (
    HostNameTaken,
    HostsNotSaved,
    HostStore,
    RememberedHost,
)
from kmonitor_agent.wire.local.folder_lock import FolderLock
from kmonitor_agent.wire.local.folders import Folders
from tests.support.waiting import DEADLINE_S


@pytest.fixture
def book(folders: Folders) -> HostStore:
    return HostStore(folders)


def file_of(folders: Folders) -> Path:
    return folders.settings / "hosts.json"


def test_hosts_are_added_renamed_noted_and_removed(book: HostStore, folders: Folders):
    assert book.hosts() == []
    book.add("gpu-01")
    book.add("me@gpu-02", name="big one", command="/opt/bin/kmonitor")
    book.rename("gpu-01", " first\x07 ")
    book.note("gpu-01", socket="/run/view.sock")
    book.note("me@gpu-02", error="it is off")
    book.note("never-added", error="x")

    first, second = HostStore(folders).hosts()

    assert (first.called, first.socket, first.error) == ("first", "/run/view.sock", "")
    assert (second.called, second.command, second.error) == (
        "big one",
        "/opt/bin/kmonitor",
        "it is off",
    )
    assert book.find("first") == first
    assert book.find("me@gpu-02") == second
    assert book.find("none") is None
    assert book.remove("gpu-01")
    assert not book.remove("gpu-01")
    assert [host.address for host in book.hosts()] == ["me@gpu-02"]


def test_adding_a_known_host_changes_only_what_is_given(book: HostStore):
    book.add("gpu-01", name="one", command="/a/kmonitor")

    assert book.add("gpu-01").command == "/a/kmonitor"
    assert book.add("gpu-01", command="").command == ""
    assert [host.name for host in book.hosts()] == ["one"]


def test_an_empty_word_is_no_host_that_has_no_name(book: HostStore):
    book.add("gpu-01")

    assert book.find("") is None


def test_a_name_or_address_of_another_host_is_no_name(book: HostStore):
    book.add("gpu-01", name="box")
    book.add("gpu-02")

    for taken in ("box", "gpu-01"):
        with pytest.raises(HostNameTaken, match="already the name of another host: gpu-01"):
            book.rename("gpu-02", taken)
        with pytest.raises(HostNameTaken):
            book.add("gpu-02", name=taken)
    with pytest.raises(HostNameTaken):
        book.add("box")
    book.rename("gpu-01", "box")
    book.rename("gpu-02", "gpu-02")

    assert [(host.address, host.name) for host in book.hosts()] == [
        ("gpu-01", "box"),
        ("gpu-02", "gpu-02"),
    ]


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", b'{"hosts":7}', b'{"hosts":[{"address":"-oProxyCommand=x"}]}', b"[" * 5000],
)
def test_a_damaged_file_is_put_aside_and_said_so(book: HostStore, folders: Folders, body: bytes):
    folders.settings.mkdir(parents=True)
    file_of(folders).write_bytes(body)

    assert book.hosts() == []
    assert "damaged" in book.trouble
    assert "renamed" in book.trouble
    (aside,) = folders.settings.glob("hosts-damaged-*.json")
    assert aside.read_bytes() == body
    book.add("gpu-01")
    assert len(book.hosts()) == 1


def test_a_bad_address_or_a_folder_that_cannot_be_written_is_said(
    book: HostStore, folders: Folders
):
    with pytest.raises(UserError, match="not a host name"):
        book.add("-x")
    folders.state.mkdir(parents=True)
    folders.settings.write_text("in the way")

    with pytest.raises(HostsNotSaved, match="cannot be written"):
        book.add("gpu-01")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_what_is_remembered_is_for_its_user_alone_also_what_was_open_before(
    book: HostStore, folders: Folders
):
    book.add("gpu-01")
    path = folders.settings / "hosts.json"
    assert path.stat().st_mode & 0o777 == 0o600

    path.chmod(0o644)
    assert len(book.hosts()) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_of_a_file_with_a_bad_address_the_other_hosts_are_kept(book: HostStore, folders: Folders):
    book.add("gpu-01", name="one")
    body = file_of(folders).read_text()
    bad = body.replace("}", '}, {"address": "x\\ny"}', 1)
    file_of(folders).write_text(bad)

    assert [host.called for host in book.hosts()] == ["one"]
    assert "the other hosts in it are remembered" in book.trouble
    (aside,) = folders.settings.glob("hosts-damaged-*.json")
    assert aside.read_text() == bad
    assert [host.called for host in HostStore(folders).hosts()] == ["one"]
    assert book.hosts()
    assert book.trouble == ""


def test_a_socket_and_a_name_written_by_hand_reach_neither_ssh_nor_the_screen(
    book: HostStore, folders: Folders
):
    folders.settings.mkdir(parents=True)
    file_of(folders).write_text(
        '{"hosts": [{"address": "gpu-01", "socket": "-R:22:x", "name": "a\\u001b[31mb"}]}'
    )

    assert book.hosts() == [RememberedHost("gpu-01", name="a[31mb")]


_WRITER = """
import sys
from kmonitor.connect.remembered_hosts import HostStore as HostStore
from kmonitor_agent.wire.local.folders import find_folders
book = HostStore(find_folders())
sys.stdin.readline()
for number in range(8):
    address = f"host-{sys.argv[1]}-{number}"
    book.add(address)
    book.note(address, error="off")
    book.rename(address, f"called {number} of {sys.argv[1]}")
book.remove(f"host-{sys.argv[1]}-0")
"""


def test_processes_that_write_at_once_lose_no_entry(book: HostStore, folders: Folders):
    environ = {**os.environ, "KMONITOR_HOME": str(folders.state)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(n)], stdin=subprocess.PIPE, env=environ
        )
        for n in range(4)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.close()
    assert [writer.wait(DEADLINE_S) for writer in writers] == [0, 0, 0, 0]

    found = {(host.address, host.name, host.error) for host in book.hosts()}
    assert found == {
        (f"host-{n}-{number}", f"called {number} of {n}", "off")
        for n in range(4)
        for number in range(1, 8)
    }


def test_who_cannot_get_the_lock_says_so_and_what_cannot_be_read_is_not_written_over(
    book: HostStore, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    book.add("gpu-01")
    monkeypatch.setattr(remembered_hosts, "_LOCK_S", 0.02)
    lock = FolderLock.acquire(folders.settings, "hosts.lock")
    assert lock is not None
    with pytest.raises(HostsNotSaved, match="being changed by another process"):
        book.add("gpu-02")
    lock.release()

    def refuse(_self: object) -> list[RememberedHost]:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(remembered_hosts.HostFile, "read", refuse)
        with pytest.raises(HostsNotSaved, match="cannot be read: Permission denied"):
            book.add("gpu-02")
    assert [host.address for host in book.hosts()] == ["gpu-01"]
