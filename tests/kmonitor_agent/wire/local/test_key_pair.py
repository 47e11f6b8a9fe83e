"""This device's secrets: made once, private, and refused when they are not."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zmq

from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.host_identity import key_hex, key_z85, keys_folder, own_keys
from kmonitor_agent.wire.local.private_files import NotPrivate, write_private


@pytest.fixture
def home(folders: Folders) -> Folders:
    folders.state.mkdir(parents=True)
    return folders


def secret_of(folders: Folders) -> Path:
    return keys_folder(folders) / "desktop.key"


def test_keys_are_made_once_and_fit_together(home: Folders):
    made = own_keys(home, "desktop")

    assert own_keys(home, "desktop") == made
    assert zmq.curve_public(made.secret) == made.public
    assert key_z85(made.public_text) == made.public
    assert len(made.public_text) == 64
    assert own_keys(home, "agent") != made


def test_the_secret_is_in_a_private_file_in_a_private_folder(home: Folders):
    own_keys(home, "desktop")

    assert stat.S_IMODE(secret_of(home).stat().st_mode) == 0o600
    assert stat.S_IMODE(keys_folder(home).stat().st_mode) == 0o700
    assert [path.name for path in keys_folder(home).iterdir()] == ["desktop.key"]


def test_the_secret_is_shown_nowhere(home: Folders):
    made = own_keys(home, "desktop")

    assert made.secret.decode() not in repr(made)
    assert key_hex(made.secret) not in repr(made)


def test_many_that_are_first_at_once_get_the_same_keys(home: Folders):
    with ThreadPoolExecutor(8, thread_name_prefix="first") as pool:
        made = list(pool.map(lambda _: own_keys(home, "hub"), range(16)))

    assert {pair.secret for pair in made} == {made[0].secret}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_secret_that_others_can_read_is_refused(home: Folders, mode: int):
    own_keys(home, "desktop")
    secret_of(home).chmod(mode)

    with pytest.raises(NotPrivate, match="can be read by others"):
        own_keys(home, "desktop")


def test_a_folder_that_others_may_enter_is_refused(home: Folders):
    own_keys(home, "desktop")
    keys_folder(home).chmod(0o755)

    with pytest.raises(NotPrivate, match="accessible to other users"):
        own_keys(home, "desktop")


def test_a_link_is_not_followed(home: Folders, tmp_path: Path):
    own_keys(home, "desktop")
    elsewhere = secret_of(home).rename(tmp_path / "elsewhere")
    secret_of(home).symlink_to(elsewhere)

    with pytest.raises(NotPrivate, match="not a regular file"):
        own_keys(home, "desktop")


@pytest.mark.parametrize("text", ["", "zz", "ab" * 31, "ab" * 33])
def test_a_file_without_a_key_is_refused(home: Folders, text: str):
    own_keys(home, "desktop")
    secret_of(home).write_text(text)

    with pytest.raises(NotPrivate, match="contains no key"):
        own_keys(home, "desktop")


def test_a_full_disk_leaves_no_half_a_file(folders: Folders, monkeypatch: pytest.MonkeyPatch):
    def full(_file: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    folders.state.mkdir(parents=True)
    kept = folders.state / "kept.json"
    write_private(kept, b"before")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        own_keys(folders, "desktop")
    with pytest.raises(OSError, match="No space"):
        write_private(kept, b"after")

    assert list(folders.state.rglob("*.new")) == []
    assert kept.read_bytes() == b"before"


def test_a_hub_whose_secret_was_open_is_told_that_its_address_changes(folders: Folders):
    folders.state.mkdir(parents=True)
    own_keys(folders, "hub")
    (keys_folder(folders) / "hub.key").chmod(0o644)

    with pytest.raises(
        NotPrivate, match="changes the hub's address, which you then have to redistribute"
    ):
        own_keys(folders, "hub")
