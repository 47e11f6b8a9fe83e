"""A folder is this user's alone, and so is the way down to it, or it is not used."""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kmonitor_agent.wire.local.private_files import (
    NotPrivate,
    check_own_folder,
    check_private_folder,
    make_own_folder,
    make_private_folder,
    others_may_write,
)
from tests.support.hostile_entries import OTHER_USER
from tests.support.waiting import DEADLINE_S

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")

MASKS = (0o000, 0o002, 0o022, 0o077, 0o277, 0o777)


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


@pytest.mark.promise(5)
@pytest.mark.slow
@pytest.mark.parametrize("mask", MASKS, ids=oct)
def test_each_folder_is_made_with_mode_700_whatever_the_umask(tmp_path: Path, mask: int):
    path = tmp_path / "a" / "b" / "c"
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from kmonitor_agent.wire.local.private_files import make_own_folder\n"
        "make_own_folder(Path(sys.argv[1]))\n"
        "print(oct(os.umask(0)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        umask=mask,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )

    assert [each.stat().st_mode & 0o7777 for each in (path, *path.parents[:2])] == [0o700] * 3
    assert int(done.stdout, 8) == mask


def test_a_folder_that_others_may_read_is_fine(tmp_path: Path):
    path = tmp_path / "state"
    path.mkdir(mode=0o755)

    make_own_folder(path)

    assert check_own_folder(path) == []


@pytest.mark.parametrize("mode", [0o777, 0o703, 0o1777])
def test_a_folder_that_everybody_may_write_to_is_refused(tmp_path: Path, mode: int):
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(mode)

    with pytest.raises(NotPrivate, match=r"is writable by others; .* chmod go-w"):
        make_own_folder(path)


@pytest.mark.promise(5)
def test_a_parent_that_everybody_may_write_to_is_refused_before_anything_is_made(tmp_path: Path):
    parent = tmp_path / "open"
    parent.mkdir()
    parent.chmod(0o777)

    with pytest.raises(NotPrivate, match="is writable by everyone") as refused:
        make_own_folder(parent / "below" / "state")

    assert refused.value.path == parent
    assert list(parent.iterdir()) == []


@pytest.mark.promise(5)
def test_a_sticky_parent_is_fine(tmp_path: Path):
    parent = tmp_path / "tmp"
    parent.mkdir()
    parent.chmod(0o1777)

    make_own_folder(parent / "state")

    assert check_own_folder(parent / "state") == []


@pytest.mark.promise(5)
@needs_root
def test_a_folder_of_another_user_is_refused(tmp_path: Path):
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    os.chown(path, OTHER_USER, OTHER_USER)

    with pytest.raises(NotPrivate, match=f"belongs to user ID {OTHER_USER}"):
        make_own_folder(path)


@pytest.mark.promise(5)
@needs_root
def test_a_parent_of_another_user_is_refused(tmp_path: Path):
    parent = tmp_path / "theirs"
    parent.mkdir(mode=0o755)
    os.chown(parent, OTHER_USER, OTHER_USER)

    with pytest.raises(NotPrivate, match="who can replace its contents") as refused:
        make_own_folder(parent / "state")

    assert refused.value.path == parent


@needs_root
def test_another_group_is_named_above_the_folder_and_refused_at_it(tmp_path: Path):
    parent = tmp_path / "project"
    parent.mkdir()
    os.chown(parent, 0, OTHER_USER)
    parent.chmod(0o2770)
    make_own_folder(parent / "state")

    assert check_own_folder(parent / "state") == [
        (
            f"the group with ID {OTHER_USER} can write to {parent} and can therefore replace its"
            " contents"
        )
    ]
    (parent / "state").chmod(0o770)
    os.chown(parent / "state", 0, OTHER_USER)
    with pytest.raises(NotPrivate, match="is writable by others"):
        check_own_folder(parent / "state")


@needs_root
@pytest.mark.slow
def test_the_group_of_one_user_alone_is_no_other():
    """Debian's user games has its own group, as each user that is added."""
    user = pwd.getpwnam("games")
    script = (
        "import grp, os, pwd, sys\n"  # before it may not read where Python lies
        "from pathlib import Path\n"
        "from kmonitor_agent.wire.local.private_files import check_own_folder, make_own_folder\n"
        f"os.setgroups([]); os.setgid({user.pw_gid}); os.setuid({user.pw_uid})\n"
        "make_own_folder(Path(sys.argv[1]) / 'state')\n"
        "print(check_own_folder(Path(sys.argv[1])))\n"
    )
    # Not below pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, user.pw_uid, user.pw_gid)
        os.chmod(home, 0o770)  # noqa: PTH101, S103 - no Path, and its group is one user
        done = subprocess.run(
            [sys.executable, "-c", script, home],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=DEADLINE_S,
        )

    assert done.stdout == "[]\n"


def test_the_users_own_link_is_followed_and_its_way_checked_too(tmp_path: Path):
    disk = tmp_path / "disk"
    make_own_folder(disk / "state")
    (tmp_path / "state").symlink_to(disk / "state")
    (tmp_path / "relative").symlink_to("disk/../disk/state")

    assert check_own_folder(tmp_path / "state") == []
    assert check_own_folder(tmp_path / "relative") == []
    disk.chmod(0o777)
    for name in ("state", "relative"):
        with pytest.raises(NotPrivate, match="is writable by everyone") as refused:
            check_own_folder(tmp_path / name)
        assert refused.value.path == disk


@pytest.mark.promise(5)
@needs_root
def test_a_link_of_another_user_is_refused(tmp_path: Path):
    make_own_folder(tmp_path / "real")
    link = tmp_path / "state"
    link.symlink_to("real")
    os.chown(link, OTHER_USER, OTHER_USER, follow_symlinks=False)

    with pytest.raises(NotPrivate, match=f"is a symbolic link owned by user ID {OTHER_USER}"):
        check_own_folder(link)


def test_links_in_a_circle_are_an_os_error(tmp_path: Path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")

    with pytest.raises(OSError, match="symbolic links"):
        check_own_folder(tmp_path / "one" / "state")


def test_what_leaves_the_process_names_no_path(tmp_path: Path):
    refused = NotPrivate(tmp_path, f"is accessible to other users; run: chmod 700 {tmp_path}")

    assert refused.strerror == "is accessible to other users"
    assert str(refused) == f"{tmp_path}: is accessible to other users; run: chmod 700 {tmp_path}"


def test_a_file_that_only_its_owner_may_write_is_closed_to_others(tmp_path: Path):
    path = tmp_path / "file"
    path.touch(0o644)
    assert not others_may_write(path.stat())
    path.chmod(0o646)

    assert others_may_write(path.stat())
