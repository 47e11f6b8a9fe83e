"""Arrays that a script created as long as they will get, and fills row by row."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.kept.filled_arrays import ROWS, filled_rows
from kmonitor_agent.frameworks.kept.search import KeptObjectWalk

pytestmark = [
    pytest.mark.usefixtures("this_module_alone"),
    pytest.mark.skipif(sys.platform != "linux", reason="pages are counted by pagemap of Linux"),
]

MIB = 2**20
N_ROWS = 10_240  # 40 MiB: malloc maps such arrays, and never reuses memory for them
ROW = 1024  # of float32: a page


class ReplayBuffer:
    """A buffer of the script's that keeps observations."""

    def __init__(self) -> None:
        self.observations = np.zeros((N_ROWS, ROW), dtype=np.float32)


def test_rows_that_were_written_are_counted():
    array = np.zeros((N_ROWS, ROW), dtype=np.float32)
    array[: N_ROWS // 4] = 1.0

    rows = filled_rows(array, is_known=False)

    assert rows is not None
    # Memory may come in pages of 2 MiB.
    assert rows.count == pytest.approx(N_ROWS / 4, abs=1024)
    assert rows.capacity == N_ROWS
    assert rows.n_bytes == pytest.approx(10 * MIB, abs=4 * MIB)


OTHERS: dict[str, Callable[[], object]] = {
    "filled": lambda: np.ones((N_ROWS, ROW), dtype=np.float32),
    "small": lambda: np.zeros((64, ROW), dtype=np.float32),
    "view": lambda: np.zeros((2 * N_ROWS, ROW), dtype=np.float32)[::2],
    "list": lambda: [0.0] * N_ROWS,
}


@pytest.mark.parametrize("other", OTHERS)
def test_any_other_array_is_not_looked_at(other: str):
    assert filled_rows(OTHERS[other](), is_known=False) is None


def test_a_buffer_fills_up_to_its_end_and_is_full_then():
    buffer = ReplayBuffer()
    walk = None
    found: list[tuple[int, int | None]] = []

    for part in range(1, 5):
        buffer.observations[: part * N_ROWS // 4] = 1.0
        walk = KeptObjectWalk(walk and walk.lengths, spaces_before=walk and walk.spaces)
        (kept,) = walk.search([buffer], None)
        assert (kept.place, kept.container) == ("ReplayBuffer.observations", ROWS)
        found.append((kept.count, kept.capacity))

    counts = [count for count, _ in found]
    assert counts == sorted(counts)
    assert found[-1] == (N_ROWS, N_ROWS)


def test_an_array_that_was_full_when_it_was_found_has_no_end():
    buffer = ReplayBuffer()
    buffer.observations[:] = 1.0

    (kept,) = KeptObjectWalk().search([buffer], None)

    assert (kept.container, kept.capacity, kept.n_bytes) == ("", None, N_ROWS * ROW * 4)


class Loader:
    """A data set of the script's own."""

    def __init__(self, **shards: np.ndarray) -> None:
        self.__dict__.update(shards)


@pytest.mark.parametrize("is_view", [False, True])
def test_pages_of_a_map_opened_copy_on_write_are_counted_once_written_to(
    tmp_path: Path,
    *,
    is_view: bool,
):
    np.save(tmp_path / "x.npy", np.zeros((N_ROWS, ROW), np.float32))
    data = np.load(tmp_path / "x.npy", mmap_mode="c")
    loader = Loader(data=np.asarray(data) if is_view else data)
    lengths = None
    found: list[float] = []

    for part in range(3):
        data[part * 1024 : (part + 1) * 1024] += 1.0
        assert data[N_ROWS // 2 :].sum() == 0.0
        walk = KeptObjectWalk(lengths)
        (kept,) = walk.search([loader], None)
        lengths = walk.lengths
        assert (kept.kind, kept.place, kept.container) == ("numpy.memmap", "Loader.data", "x.npy")
        found.append(kept.n_bytes or 0.0)

    assert np.diff(found).tolist() == pytest.approx([4 * MIB] * 2, rel=0.01)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_pages_of_a_map_that_are_those_of_its_file_take_no_memory(tmp_path: Path, mode: Any):
    np.save(tmp_path / "x.npy", np.zeros((N_ROWS, ROW), np.float32))
    data = np.load(tmp_path / "x.npy", mmap_mode=mode)
    if mode == "r+":
        data[:4096] += 1.0

    assert data.sum() >= 0.0
    assert KeptObjectWalk().search([Loader(data=data)], None) == []


def test_several_arrays_of_one_map_count_once(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.zeros((N_ROWS, ROW), np.float32))
    data = np.load(tmp_path / "x.npy", mmap_mode="c")
    data[:1024] += 1.0

    found = KeptObjectWalk().search([Loader(train=data[:2048], test=data[2048:])], None)

    assert [each.n_bytes for each in found] == [pytest.approx(4 * MIB, rel=0.01)]
