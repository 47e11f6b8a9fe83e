"""An export is whole beside its checkpoint, or absent with a reported reason."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kmonitor_agent.reclaim.checkpoints import ExportFailed, export_model, export_path


class Saved:
    """Stands in for a model: writes what the test sets."""

    def __init__(self, write: Callable[[Path], object]) -> None:
        self._write = write

    def save(self, path: Path) -> None:
        """As Keras would."""
        self._write(path)


def whole(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}" * 1000)


def cut_off(path: Path) -> None:
    whole(path)
    path.write_bytes(path.read_bytes()[:1000])


def damaged(path: Path) -> None:
    whole(path)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(bytes(data))


def full(path: Path) -> None:
    path.write_bytes(b"half")
    raise OSError(28, "No space left on device")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "kept" / "000001-fit1-epoch0-step0.h5"
    path.parent.mkdir()
    path.write_bytes(bytes(500))
    return path


def test_export_has_its_checkpoint_s_name(checkpoint: Path):
    exported = export_model(Saved(whole), checkpoint, lambda: 10_000)

    assert exported == export_path(checkpoint)
    assert sorted(checkpoint.parent.iterdir()) == [checkpoint, exported]


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (full, "No space left on device"),
        (cut_off, "read back"),
        (damaged, "read back"),
        (lambda _: None, "FileNotFoundError"),
    ],
)
def test_export_that_fails_leaves_nothing_and_the_last_one_stays(
    checkpoint: Path, write: Callable[[Path], object], says: str
):
    before = export_model(Saved(whole), checkpoint).read_bytes()

    with pytest.raises(ExportFailed, match=says):
        export_model(Saved(write), checkpoint)

    assert export_path(checkpoint).read_bytes() == before
    assert sorted(checkpoint.parent.iterdir()) == [checkpoint, export_path(checkpoint)]


def test_interrupt_leaves_nothing(checkpoint: Path):
    def interrupt(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_model(Saved(interrupt), checkpoint)

    assert list(checkpoint.parent.iterdir()) == [checkpoint]


def test_export_is_not_begun_without_room_for_it(checkpoint: Path):
    with pytest.raises(ExportFailed, match="not enough space for both"):
        export_model(Saved(whole), checkpoint, lambda: 499)

    assert list(checkpoint.parent.iterdir()) == [checkpoint]
