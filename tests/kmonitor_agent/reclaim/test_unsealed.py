"""Checkpoints of an earlier kmonitor: read as before, but by another process first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.reclaim import unsealed
from kmonitor_agent.reclaim.archive import CheckpointStore
from kmonitor_agent.reclaim.named_file import NamedFile
from kmonitor_agent.reclaim.seal import Unsealed
from kmonitor_agent.reclaim.state_facts import NotAStateFile, StoredVariable, Tag
from kmonitor_agent.reclaim.state_file import read_header
from tests.support.checkpoint_files import flip, flip_that_crashes_hdf5, unseal

h5py = pytest.importorskip("h5py", reason="comes with Keras")
ml_dtypes = pytest.importorskip("ml_dtypes", reason="comes with Keras")


def values() -> list[Any]:
    return [
        np.arange(12, dtype="float32").reshape(3, 4),
        np.array([True, False]),
        np.arange(4).astype(ml_dtypes.bfloat16),
        np.zeros((0, 4), "float32"),
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[], Path]:
    """Writes a checkpoint of an earlier kmonitor."""
    store = CheckpointStore(tmp_path, keep=9)
    stored = [StoredVariable("a/path", each.nbytes, each) for each in values()]

    def written() -> Path:
        tag = Tag("run", 2, 5, 7)
        path = store.save(stored, lambda each: each, tag=tag, architecture="{}").path
        unseal(path)
        return path

    return written


def test_it_is_read_as_before(write: Callable[[], Path]):
    path = write()

    file = NamedFile(path)

    assert file.header.tag == Tag("run", 2, 5, 7)
    assert file.architecture() == "{}"
    assert [(each.path, each.shape) for each in file.facts()] == [
        ("a/path", each.shape) for each in values()
    ]
    for before, after in zip(values(), file.variables(), strict=True):
        assert after.dtype == before.dtype
        assert after.tobytes() == before.tobytes()


def test_the_ring_of_a_training_does_not_open_it(write: Callable[[], Path], tmp_path: Path):
    path = write()
    flip_that_crashes_hdf5(path)

    with pytest.raises(Unsealed):
        read_header(path)
    assert CheckpointStore(tmp_path).latest() is None


def test_ones_that_crash_the_reader_are_damaged_and_the_others_are_read(
    write: Callable[[], Path],
):
    crashing, whole, other = write(), write(), write()
    cut = write()
    for path in (crashing, other):
        flip_that_crashes_hdf5(path)
    cut.write_bytes(cut.read_bytes()[:3000])

    found = unsealed.damage_of([crashing, whole, other, cut])

    assert [bool(found[path]) for path in (crashing, whole, other, cut)] == [1, 0, 1, 1]
    assert "ended or stopped the process" in found[other]
    assert "truncated" in found[cut]
    with pytest.raises(NotAStateFile, match="ended or stopped the process"):
        NamedFile(crashing)


def test_where_no_process_can_be_started_it_is_not_opened(
    write: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))

    with pytest.raises(NotAStateFile, match="no process can be started"):
        NamedFile(write())


def other_header(file: Any) -> None:
    file.attrs["format"] = np.array([1, 1])


def no_variable(file: Any) -> None:
    del file["1"]


def other_value(file: Any) -> None:
    file["0"][1, 1] += 1


def other_making(file: Any) -> None:
    file["architecture"][0] = 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_header, "its header is not whole"),
        (no_variable, "variable 1 is missing or malformed"),
        (other_value, "variable 0 has another checksum"),
        (other_making, "what it says of the model has another checksum"),
    ],
)
def test_damage_is_told(write: Callable[[], Path], change: Callable[[Any], None], said: str):
    path = write()
    with h5py.File(path, "r+") as file:
        change(file)

    with pytest.raises(NotAStateFile, match=said):
        NamedFile(path)


@pytest.mark.parametrize(
    ("mark", "offset"),
    [(b"architecture", 3), (b"SNOD", 8 + 2 * 40)],
    ids=["its name", "where its name is"],
)
def test_making_that_damage_hid_is_not_said_to_be_absent(
    write: Callable[[], Path], mark: bytes, offset: int
):
    path = write()
    flip(path, path.read_bytes().index(mark) + offset, 0xFF)

    with pytest.raises(NotAStateFile, match="missing or malformed"):
        NamedFile(path)
