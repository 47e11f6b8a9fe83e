import os
import stat
from pathlib import Path

import pytest

from kmonitor.base.atomic_file import atomic_file
from kmonitor.base.errors import UserError


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def test_a_file_that_fails_half_way_leaves_what_was_there(tmp_path: Path):
    output = tmp_path / "run.csv"
    output.write_text("old")

    with pytest.raises(ZeroDivisionError), atomic_file(output) as file:
        file.write(bytes(1 // 0))

    assert output.read_text() == "old"
    assert names_in(tmp_path) == ["run.csv"]


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path):
    with pytest.raises(UserError, match="No space left"), atomic_file(tmp_path / "run.csv"):
        raise OSError(28, "No space left on device")

    assert names_in(tmp_path) == []


def test_a_link_goes_on_leading_to_what_is_written(tmp_path: Path):
    (tmp_path / "link").symlink_to("real")

    with atomic_file(tmp_path / "link") as file:
        file.write(b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    with atomic_file(pipe) as file:
        file.write(b"through")

    assert os.read(reader, 100) == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


@pytest.mark.parametrize("place", ["no-such-folder/run.csv", "a-folder"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str):
    (tmp_path / "a-folder").mkdir()

    with pytest.raises(UserError, match=place), atomic_file(tmp_path / place) as file:
        file.write(b"x")

    assert names_in(tmp_path) == ["a-folder"]


@pytest.mark.skipif(os.name == "nt", reason="files have no such modes there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_who_may_read_a_file_that_is_replaced_stays_as_it_was(tmp_path: Path, mode: int):
    output = tmp_path / "run.csv"
    output.touch(mode=mode)
    output.chmod(mode)
    with atomic_file(output) as file:
        file.write(b"new")

    assert (output.stat().st_mode & 0o777, output.read_bytes()) == (mode, b"new")
