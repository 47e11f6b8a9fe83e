"""A file is opened only if it is one, of the size that its kind can have."""

import os
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.private_files import (
    NotPrivate,
    UnsafeFile,
    UnsafePath,
    check_own,
    check_plain,
    check_secret,
    is_plain,
    open_new,
    open_own,
    open_plain,
    read_own,
    read_plain,
    write_private,
)
from tests.support.hostile_entries import KINDS, OTHER_USER, SECRET, Kind

NO_FILES = [kind for kind in KINDS if not kind.is_file and "file " not in kind.name]

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "file").write_bytes(SECRET)
    return folder / "file"


@pytest.mark.parametrize("kind", NO_FILES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_RDWR])
def test_only_plain_files_are_opened(tmp_path: Path, other: Path, kind: Kind, flags: int):
    if kind.needs_root and os.getuid() != 0:
        pytest.skip("only root can make a device")
    path = tmp_path / "entry"
    kind.make(path, other)

    with pytest.raises(UnsafeFile, match="not a regular file; remove it"):
        open_plain(path, flags)
    with pytest.raises(UnsafeFile):
        check_plain(path, 100)
    assert not is_plain(path)
    assert other.read_bytes() == SECRET


def test_what_is_larger_than_its_kind_can_be_is_not_read(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 101)

    with pytest.raises(UnsafeFile, match="is 101 B, but at most 100 B is expected"):
        read_plain(path, 100)

    assert read_plain(path, 101) == b"x" * 101
    assert read_plain(path, 101, start=99) == b"xx"


@needs_root
def test_a_file_of_another_user_is_read_only_where_that_may_be(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"theirs")
    os.chown(path, OTHER_USER, OTHER_USER)

    assert read_plain(path, 100) == b"theirs"
    for act in (read_own, check_own, check_secret):
        with pytest.raises(NotPrivate, match=f"belongs to user ID {OTHER_USER}"):
            act(path)


def test_a_file_that_others_may_write_is_not_ours(tmp_path: Path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o622)

    with pytest.raises(NotPrivate, match="chmod go-w"):
        read_own(path)


def test_a_second_name_may_be_read_and_not_written(tmp_path: Path, other: Path):
    path = tmp_path / "entry"
    os.link(other, path)

    assert read_own(path) == SECRET
    for mode in ("ab", "wb", "a+b", "r+b"):
        with pytest.raises(UnsafeFile, match="hard link"):
            open_own(path, mode)
    assert other.read_bytes() == SECRET


@pytest.mark.parametrize("mode", ["a", "ab", "a+b", "w", "wb"])
def test_a_new_file_is_its_users_alone(tmp_path: Path, mode: str):
    path = tmp_path / "file"
    open_own(path, mode).close()

    assert path.stat().st_mode & 0o777 == 0o600


def test_text_that_cannot_be_written_is_escaped(tmp_path: Path):
    with open_own(tmp_path / "log", "a") as log:
        log.write("a \udcff name\n")

    assert (tmp_path / "log").read_text() == "a \\udcff name\n"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["file", "file.new"])
def test_a_file_is_replaced_whatever_lay_there(tmp_path: Path, other: Path, kind: Kind, name: str):
    if kind.needs_root and os.getuid() != 0:
        pytest.skip("only root can make it")
    path = tmp_path / "file"
    kind.make(tmp_path / name, other)

    if kind.name == "folder":
        with pytest.raises(OSError, match="directory"):
            write_private(path, b"data")
        assert not is_plain(path)
    else:
        write_private(path, b"data")
        assert path.lstat().st_mode & 0o7777 == 0o600
        assert path.read_bytes() == b"data"
    assert other.read_bytes() == SECRET


def test_a_new_file_takes_the_place_of_a_link(tmp_path: Path, other: Path):
    path = tmp_path / "file"
    path.symlink_to(other)
    os.close(open_new(path))

    assert (is_plain(path), path.read_bytes(), other.read_bytes()) == (True, b"", SECRET)


def test_refusals_are_os_errors_of_one_kind():
    assert issubclass(UnsafeFile, UnsafePath)
    assert issubclass(NotPrivate, UnsafePath)
    assert issubclass(UnsafePath, OSError)
