"""Sockets lie in a folder that is this user's alone, or nowhere."""

import os
from pathlib import Path

import pytest

from kmonitor_agent.local.folders import Folders
from kmonitor_agent.local.private_folders import (
    NotPrivate,
    check_private_folder,
    make_private_folder,
)
from kmonitor_agent.local.sockets import hub_lock, ingest_socket, ipc, view_socket


def test_all_sockets_and_the_lock_lie_in_the_runtime_folder(folders: Folders):
    places = {ingest_socket(folders), view_socket(folders), hub_lock(folders)}

    assert {p.parent for p in places} == {folders.runtime}
    assert len(places) == 3
    assert ipc(Path("/a/b.sock")) == "ipc:///a/b.sock"


def test_a_private_folder_is_made_with_its_parents_and_accepted_again(tmp_path: Path):
    path = tmp_path / "a" / "b"
    make_private_folder(path)
    make_private_folder(path)

    assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_folder_that_others_may_enter_is_refused_with_what_to_do(tmp_path: Path, mode: int):
    path = tmp_path / "open"
    path.mkdir()
    path.chmod(mode)

    with pytest.raises(NotPrivate, match="chmod 700"):
        make_private_folder(path)


def test_a_link_and_a_file_are_refused(tmp_path: Path):
    real = tmp_path / "real"
    make_private_folder(real)
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "file").touch()

    with pytest.raises(NotPrivate, match="symbolic link"):
        check_private_folder(tmp_path / "link")
    with pytest.raises(NotPrivate, match="not a folder"):
        check_private_folder(tmp_path / "file")


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "theirs"
    make_private_folder(path)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)

    with pytest.raises(NotPrivate, match="KMONITOR_HOME") as refused:
        check_private_folder(path)

    assert refused.value.path == path


def test_without_user_ids_only_the_kind_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(os, "getuid")

    check_private_folder(tmp_path)


def test_a_missing_folder_is_an_os_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        check_private_folder(tmp_path / "gone")
