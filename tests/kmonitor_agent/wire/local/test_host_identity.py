"""A private process's host is recognised by this user's own programs, and by no one else."""

import socket
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.host_identity import SALT_NAME, host_pseudonym, make_salt, read_salt


def test_a_salt_is_made_once_and_only_this_user_can_read_it(tmp_path: Path):
    salt = make_salt(tmp_path / "state")

    assert make_salt(tmp_path / "state") == salt == read_salt(tmp_path / "state")
    assert (tmp_path / "state" / SALT_NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "state").iterdir()] == [SALT_NAME]


def test_marks_of_one_host_have_nothing_in_common_without_the_salt(tmp_path: Path):
    salt = make_salt(tmp_path)

    marks = {
        host_pseudonym(salt, "session1"),
        host_pseudonym(salt, "session2"),
        host_pseudonym(bytes(32), "session1"),
    }

    assert len(marks) == 3
    assert {len(mark) for mark in marks} == {12}


def test_another_host_with_the_same_salt_has_another_mark(monkeypatch: pytest.MonkeyPatch):
    here = host_pseudonym(bytes(32), "session1")
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")

    assert host_pseudonym(bytes(32), "session1") != here


def test_a_salt_that_others_can_read_or_that_is_a_link_or_cut_is_not_used(tmp_path: Path):
    make_salt(tmp_path)
    path = tmp_path / SALT_NAME
    path.chmod(0o644)
    assert read_salt(tmp_path) is None

    path.chmod(0o600)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert read_salt(tmp_path) is None

    path.unlink()
    path.write_bytes(b"short")
    path.chmod(0o600)
    assert read_salt(tmp_path) is None


def test_a_disk_that_refuses_leaves_a_salt_for_this_process(tmp_path: Path):
    (tmp_path / "file").touch()

    salts = {make_salt(tmp_path / "file"), make_salt(tmp_path / "file")}

    assert len(salts) == 2
