"""File systems that other machines see too."""

import sys
from pathlib import Path

import psutil
import pytest

from kmonitor_agent.wire.local import file_system
from kmonitor_agent.wire.local.file_system import (
    file_system_of,
    is_on_network_file_system,
    mounted,
    parse_mount,
)


def test_a_line_of_mountinfo_is_read():
    line = r"36 35 98:0 /a /home/ad\040a rw,noatime shared:1 - nfs4 srv:/home rw,vers=4.2"

    assert parse_mount(line) == ("/home/ad a", "nfs4")
    assert parse_mount("nonsense") is None
    assert parse_mount("") is None


def test_the_deepest_and_then_the_newest_mount_counts(tmp_path: Path):
    mounts = [
        ("/", "ext4"),
        (str(tmp_path), "nfs"),
        (str(tmp_path), "lustre"),
        (f"{tmp_path}x", "x"),
    ]

    assert file_system_of(tmp_path / "not" / "made", mounts) == "lustre"
    assert file_system_of(Path("/"), mounts) == "ext4"


def test_a_link_counts_where_it_leads(tmp_path: Path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far")

    assert (
        file_system_of(tmp_path / "link" / "a", [("/", "ext4"), (f"{tmp_path}/far", "nfs4")])
        == "nfs4"
    )


def test_this_machine_tells_its_root():
    assert file_system_of(Path("/"))


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "fuse.sshfs", "gpfs", "cifs"])
def test_network_file_systems_are_shared(kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_system, "mounted", lambda: [("/", kind)])

    assert is_on_network_file_system(Path("/home/ada"))


def test_elsewhere_psutil_is_asked(monkeypatch: pytest.MonkeyPatch):
    class Disk:
        def __init__(self, mountpoint: str, fstype: str, opts: str) -> None:
            self.mountpoint, self.fstype, self.opts = mountpoint, fstype, opts

    disks = [Disk("C:\\", "NTFS", "rw,fixed"), Disk("Z:\\", "NTFS", "rw,remote")]
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: disks)

    assert mounted() == [("C:\\", "NTFS"), ("Z:\\", "network drive")]
