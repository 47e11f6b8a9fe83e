"""The hosts that were connected to, kept in a file."""

import os
from pathlib import Path

import pytest

from kmonitor.connect.host_book import BookNotWritten, HostBook
from kmonitor.errors import Expected
from kmonitor_agent.local.folders import Folders


@pytest.fixture
def book(folders: Folders) -> HostBook:
    return HostBook(folders)


def file_of(folders: Folders) -> Path:
    return folders.settings / "hosts.json"


def test_hosts_are_added_renamed_noted_and_removed(book: HostBook, folders: Folders):
    assert book.hosts() == []
    book.add("gpu-01")
    book.add("me@gpu-02", name="big one", command="/opt/bin/kmonitor")
    book.rename("gpu-01", " first\x07 ")
    book.note("gpu-01", socket="/run/view.sock")
    book.note("me@gpu-02", error="it is off")
    book.note("never-added", error="x")

    first, second = HostBook(folders).hosts()

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


def test_adding_a_known_host_changes_only_what_is_given(book: HostBook):
    book.add("gpu-01", name="one", command="/a/kmonitor")

    assert book.add("gpu-01").command == "/a/kmonitor"
    assert book.add("gpu-01", command="").command == ""
    assert [host.name for host in book.hosts()] == ["one"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", b'{"hosts":7}', b'{"hosts":[{"address":"-oProxyCommand=x"}]}', b"[" * 5000],
)
def test_a_damaged_file_is_put_aside_and_said_so(book: HostBook, folders: Folders, body: bytes):
    folders.settings.mkdir(parents=True)
    file_of(folders).write_bytes(body)

    assert book.hosts() == []
    assert "damaged" in book.trouble
    assert "put aside" in book.trouble
    (aside,) = folders.settings.glob("hosts-damaged-*.json")
    assert aside.read_bytes() == body
    book.add("gpu-01")
    assert len(book.hosts()) == 1


def test_a_bad_address_or_a_folder_that_cannot_be_written_is_said(
    book: HostBook, folders: Folders
):
    with pytest.raises(Expected, match="no host name"):
        book.add("-x")
    folders.state.mkdir(parents=True)
    folders.settings.write_text("in the way")

    with pytest.raises(BookNotWritten, match="cannot be written"):
        book.add("gpu-01")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_what_is_remembered_is_for_its_user_alone_also_what_was_open_before(
    book: HostBook, folders: Folders
):
    book.add("gpu-01")
    path = folders.settings / "hosts.json"
    assert path.stat().st_mode & 0o777 == 0o600

    path.chmod(0o644)
    assert len(book.hosts()) == 1
    assert path.stat().st_mode & 0o777 == 0o600
