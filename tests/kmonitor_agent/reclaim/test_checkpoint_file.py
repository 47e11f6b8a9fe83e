"""A checkpoint is whole and verified, or it is not there."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.reclaim import checkpoints
from kmonitor_agent.reclaim.checkpoint_file import read_architecture, read_variable_facts
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag, NotACheckpoint, VariableToStore
from kmonitor_agent.reclaim.checkpoints import (
    Checkpoint,
    CheckpointStore,
    SaveRefused,
    export_path,
)
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.disk_file import DiskFile
from tests.support.checkpoint_files import flip, flip_in_making, flip_in_value, unseal
from tests.support.clock import MovedClock

h5py = pytest.importorskip("h5py", reason="comes with Keras")
ml_dtypes = pytest.importorskip("ml_dtypes", reason="comes with Keras")

TAG = CheckpointTag("run", 2, 5, 7)


class TimeIsUp(Exception):
    pass


def values() -> list[Any]:
    random = np.random.default_rng(1)
    return [
        random.normal(size=(64, 100)).astype("float32"),
        np.float16(1.5) * np.ones((3,), "float16"),
        np.array(7, "int64"),
        np.array([True, False]),
        np.zeros((0, 4), "float32"),
        np.array([float("nan"), float("inf"), -0.0]),
        np.arange(4).astype(ml_dtypes.bfloat16),
        np.array([1, 2], "uint32"),
    ]


def stored(arrays: list[Any]) -> list[VariableToStore]:
    return [VariableToStore("same/path", array.nbytes, array) for array in arrays]


def as_it_is(value: Any) -> Any:
    return value


def saved(
    store: CheckpointStore, arrays: list[Any] | None = None, tag: CheckpointTag = TAG
) -> Checkpoint:
    return store.save(stored(arrays or values()), as_it_is, tag=tag)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints" / "run"


@pytest.fixture
def store(folder: Path) -> CheckpointStore:
    return CheckpointStore(folder, clock=MovedClock(wall_s=1.75e9))


def test_values_come_back_bit_for_bit_with_dtype_and_shape(store: CheckpointStore):
    checkpoint = saved(store)

    for before, after in zip(values(), store.read(checkpoint), strict=True):
        assert after.dtype == before.dtype
        assert after.shape == before.shape
        assert after.tobytes() == before.tobytes()


def test_a_checkpoint_tells_what_it_is(store: CheckpointStore, folder: Path):
    checkpoint = saved(store)

    assert store.checkpoints() == [checkpoint]
    assert store.latest() == checkpoint
    assert checkpoint.tag == TAG
    assert checkpoint.epoch == 5
    assert checkpoint.wall_s == 1.75e9
    assert checkpoint.variables == len(values())
    assert checkpoint.state_bytes == sum(array.nbytes for array in values())
    assert checkpoint.n_bytes == checkpoint.path.stat().st_size
    assert checkpoint.checksum.startswith("crc32:")
    assert folder.stat().st_mode & 0o077 == 0


def test_the_checksum_is_of_the_values(store: CheckpointStore):
    changed = values()
    changed[0][0, 0] += 1

    assert saved(store).checksum == saved(store).checksum
    assert saved(store).checksum != saved(store, changed).checksum


def test_the_last_two_are_kept_in_order(store: CheckpointStore, folder: Path):
    tags = [CheckpointTag("run", 1, epoch) for epoch in (9, 10, 11)]
    for tag in tags:
        saved(store, tag=tag)

    assert [checkpoint.epoch for checkpoint in store.checkpoints()] == [10, 11]
    assert len(list(folder.iterdir())) == 2
    assert CheckpointStore(folder).latest() == store.latest()


def test_as_many_are_kept_as_asked_and_each_export_goes_with_its_checkpoint(folder: Path):
    store = CheckpointStore(folder, keep=3)
    paths = [saved(store, tag=CheckpointTag("run", 1, epoch)).path for epoch in range(3)]
    for path in paths:
        export_path(path).write_bytes(b"a model")

    newest = saved(store, tag=CheckpointTag("run", 1, 3)).path

    assert [checkpoint.path for checkpoint in store.checkpoints()] == [*paths[1:], newest]
    assert sorted(path for path in folder.iterdir() if path.suffix == ".keras") == [
        export_path(path) for path in paths[1:]
    ]


def test_what_a_model_is_made_of_comes_back_and_is_not_among_the_values(store: CheckpointStore):
    making = '{"class_name": "Sequential", "name": "naïve"}'
    arrays = values()

    with_it = store.save(stored(arrays), as_it_is, tag=TAG, architecture=making)
    without = saved(store, arrays)

    assert read_architecture(with_it.path) == making
    assert read_architecture(without.path) == ""
    assert with_it.checksum == without.checksum
    assert len(list(store.read(with_it))) == len(arrays)


def test_what_is_held_is_told_without_reading_it(store: CheckpointStore):
    facts = read_variable_facts(saved(store).path)

    assert [(each.path, each.shape, each.dtype) for each in facts] == [
        ("same/path", value.shape, str(value.dtype)) for value in values()
    ]


def test_damaged_making_is_found(store: CheckpointStore):
    path = store.save(stored(values()), as_it_is, tag=TAG, architecture="{}").path
    flip_in_making(path)

    with pytest.raises(NotACheckpoint, match="wrong checksum"):
        read_architecture(path)


@pytest.mark.parametrize(
    ("mark", "offset"),
    [(b"architecture", 3), (b"SNOD", 8 + 2 * 40)],
    ids=["its name", "where its name is"],
)
def test_damage_that_hides_the_making_from_other_programs_is_found(
    store: CheckpointStore, mark: bytes, offset: int
):
    path = store.save(stored(values()[:2]), as_it_is, tag=TAG, architecture="{}").path
    flip(path, path.read_bytes().index(mark) + offset, 0xFF)

    with pytest.raises(NotACheckpoint, match="between its values has the wrong checksum"):
        read_architecture(path)


def test_nothing_is_there_before_the_first_save(store: CheckpointStore, folder: Path):
    assert store.checkpoints() == []
    assert store.latest() is None
    assert not folder.exists()


def test_too_little_room_refuses_the_save_and_says_how_much(folder: Path):
    state_bytes = sum(array.nbytes for array in values())
    store = CheckpointStore(folder, free_bytes=lambda _: 2 * state_bytes - 1)

    with pytest.raises(
        SaveRefused, match=r"iB free, but 2 times the size of the state \(.*iB\) is"
    ):
        saved(store)

    assert list(folder.iterdir()) == []
    saved(CheckpointStore(folder, free_bytes=lambda _: 2 * state_bytes))


def test_a_folder_that_cannot_be_made_refuses_the_save(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(SaveRefused, match="cannot be created"):
        saved(CheckpointStore(tmp_path / "file" / "checkpoints"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_refuses_the_save(folder: Path, store: CheckpointStore):
    folder.mkdir(mode=0o500, parents=True)

    with pytest.raises(SaveRefused, match="could not be written"):
        saved(store)


def test_a_read_that_fails_half_way_leaves_nothing(store: CheckpointStore, folder: Path):
    first = saved(store)
    asked: list[Any] = []

    def failing(value: Any) -> Any:
        asked.append(value)
        if len(asked) == 4:
            raise RuntimeError("device lost")
        return value

    with pytest.raises(RuntimeError, match="device lost"):
        store.save(stored(values()), failing, tag=TAG)

    assert store.checkpoints() == [first]
    assert list(folder.iterdir()) == [first.path]


@pytest.mark.parametrize("method", ["write", "seek", "truncate"])
def test_what_a_signals_handler_raises_where_hdf5_calls_us_arrives(
    store: CheckpointStore, folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
):
    def time_is_up(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    real, sent = getattr(DiskFile, method), list[str]()

    def interrupted(disk: DiskFile, *args: Any) -> Any:
        if not sent:
            sent.append(method)
            signal.raise_signal(signal.SIGUSR1)
        return real(disk, *args)

    monkeypatch.setattr(DiskFile, method, interrupted)
    before = signal.signal(signal.SIGUSR1, time_is_up)
    try:
        with pytest.raises(TimeIsUp), SIGNALS.delivered_after():
            saved(store)
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert sent == [method]
    assert list(folder.iterdir()) == []


def test_an_hdf5_file_that_outlives_its_file_goes_quietly(tmp_path: Path):
    with DiskFile(tmp_path / "new") as disk:
        file = h5py.File(disk, "w")
        file["values"] = np.ones(100_000)

    file.close()

    assert not file


def test_a_file_that_a_signals_handler_keeps_from_being_used_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def time_is_up(disk: DiskFile) -> DiskFile:
        raise TimeIsUp

    before = set(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(DiskFile, "__enter__", time_is_up)

    with pytest.raises(TimeIsUp), DiskFile(tmp_path / "new"):
        pass

    assert set(Path("/proc/self/fd").iterdir()) == before


def test_what_a_handler_raises_as_a_file_goes_arrives(tmp_path: Path):
    def time_is_up(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    def interrupted(frame: FrameType, event: str, arg: object) -> Any:
        sys.settrace(None)
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, time_is_up)
    files = [DiskFile(tmp_path / "new")]
    try:
        with pytest.raises(TimeIsUp):  # noqa: PT012 - at the first function that runs
            sys.settrace(interrupted)
            files.clear()
            as_it_is(None)
    finally:
        sys.settrace(None)
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file of this process may grow over 100 kB: writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, ignored)


def test_a_disk_that_fills_up_half_way_leaves_nothing(store: CheckpointStore, folder: Path):
    small = [np.ones(10_000, "float32")]
    first = saved(store, small)
    code = (
        "import sys; from tests.kmonitor_agent.reclaim.test_checkpoint_file import *\n"
        f"store = CheckpointStore(Path({str(folder)!r}))\n"
        "next(small_files.__wrapped__())\n"
        "try:\n    saved(store, [np.ones(20_000, 'float32')] * 4)\n"
        "except SaveRefused as exc:\n    print(exc.why)\n"
        "print(len(store.checkpoints()))\n"
        "open_files = [os.path.realpath(path) for path in Path('/proc/self/fd').iterdir()]\n"
        f"assert not [name for name in open_files if {str(folder)!r} in name]\n"
        "saved(store, [np.zeros(10_000, 'float32')])\n"
        "print(len(store.checkpoints()))\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
    assert "could not be written" in ended.stdout
    assert ended.stdout.splitlines()[-2:] == ["1", "2"]
    assert first in store.checkpoints()
    assert not list(folder.glob("*.tmp"))


def test_damage_while_writing_is_found_before_it_counts(
    store: CheckpointStore, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    write = checkpoints.write_state

    def damaging(disk: DiskFile, *args: Any, **kwargs: Any) -> Any:
        header = write(disk, *args, **kwargs)
        flip_in_value(disk.path, 0, 99)
        return header

    monkeypatch.setattr(checkpoints, "write_state", damaging)

    with pytest.raises(SaveRefused, match="read back"):
        saved(store)

    assert list(folder.iterdir()) == []


def test_damage_that_comes_later_is_found_when_it_is_read(store: CheckpointStore):
    checkpoint = saved(store)
    flip_in_value(checkpoint.path, 0, 99)

    with pytest.raises(NotACheckpoint, match="wrong checksum"):
        list(store.read(checkpoint))


LARGE = 3 * 1024 * 1024
"""Bytes of a variable that is read and compared in slices, by two threads."""


def large_values() -> list[Any]:
    random = np.random.default_rng(2)
    return [
        np.frombuffer(random.bytes(LARGE + 4), "float32").copy(),
        np.frombuffer(random.bytes(LARGE), ml_dtypes.bfloat16).reshape(1, -1),
        np.frombuffer(random.bytes(LARGE), "float64").reshape(-1, 3),
    ]


def test_large_values_come_back_bit_for_bit(store: CheckpointStore):
    checkpoint = saved(store, large_values())

    for before, after in zip(large_values(), store.read(checkpoint), strict=True):
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        assert after.tobytes() == before.tobytes()
    assert store.holds(checkpoint, iter(large_values()))


@pytest.mark.parametrize("place", [0, LARGE // 2 - 1, LARGE // 2 + 8, LARGE + 3])
def test_one_other_bit_in_a_large_value_is_found(store: CheckpointStore, place: int):
    checkpoint = saved(store, large_values())
    changed = large_values()
    changed[0].view(np.uint8)[place] ^= 1

    assert not store.holds(checkpoint, iter(changed))


@pytest.mark.parametrize("place", [0, LARGE // 2 - 1, LARGE // 2 + 8, LARGE + 3])
def test_one_other_bit_in_the_file_is_found(store: CheckpointStore, place: int):
    checkpoint = saved(store, large_values())
    flip_in_value(checkpoint.path, 0, place)

    assert not store.holds(checkpoint, iter(large_values()))
    with pytest.raises(NotACheckpoint, match="wrong checksum"):
        list(store.read(checkpoint))


def test_a_bit_that_flips_while_it_is_written_refuses_the_save(
    store: CheckpointStore, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    write = checkpoints.write_state

    def flipping(disk: DiskFile, *args: Any, **kwargs: Any) -> Any:
        header = write(disk, *args, **kwargs)
        flip_in_value(disk.path, 2, LARGE // 2 + 5)
        return header

    monkeypatch.setattr(checkpoints, "write_state", flipping)

    with pytest.raises(SaveRefused, match="read back"):
        saved(store, large_values())

    assert list(folder.iterdir()) == []


def test_a_checksum_that_flips_in_the_file_is_found(store: CheckpointStore):
    checkpoint = saved(store)
    flip(checkpoint.path, checkpoint.n_bytes - 40)  # in the index

    assert not store.holds(checkpoint, iter(values()))


def test_what_holds_other_values_is_told(store: CheckpointStore):
    checkpoint = saved(store)
    others = [values()[:-1], [*values(), values()[0]], values()]
    others[2][1] = others[2][1].astype(ml_dtypes.bfloat16)

    assert store.holds(checkpoint, iter(values()))
    assert [store.holds(checkpoint, iter(each)) for each in others] == [False] * 3
    checkpoint.path.unlink()
    assert not store.holds(checkpoint, iter(values()))


def test_a_value_that_another_thread_changes_once_it_is_written_does_not_refuse_the_save(
    store: CheckpointStore,
):
    array = np.zeros(4, "float32")
    reads: list[Any] = []

    def changing(value: Any) -> Any:
        reads.append(value)
        return value if len(reads) == 1 else value + 1

    checkpoint = store.save(stored([array]), changing, tag=TAG)

    assert [value.tobytes() for value in store.read(checkpoint)] == [array.tobytes()]


def test_other_programs_read_it_as_hdf5(store: CheckpointStore):
    with h5py.File(saved(store).path, "r", locking=False) as file:
        assert file.attrs["epoch"] == TAG.epoch
        assert file["0"].attrs["path"] == "same/path"
        assert file["0"][()].tobytes() == values()[0].tobytes()


def test_damaged_and_foreign_older_ones_go_with_the_oldest(store: CheckpointStore, folder: Path):
    damaged, foreign = saved(store).path, saved(store).path
    unseal(foreign)
    flip(damaged, 20)

    first = saved(store)
    assert sorted(folder.iterdir()) == [damaged, foreign, first.path]
    second = saved(store)

    assert sorted(folder.iterdir()) == [first.path, second.path]


def test_a_header_that_is_too_long_refuses_the_save(store: CheckpointStore, folder: Path):
    with pytest.raises(SaveRefused, match="longer than its block"):
        saved(store, tag=CheckpointTag("run" * 2000, 1, 1))

    assert list(folder.iterdir()) == []


def test_the_oldest_can_be_dropped_while_something_else_is_done(folder: Path):
    store = CheckpointStore(folder, keep=1)
    first = saved(store)
    second = store.save(stored(values()), as_it_is, tag=TAG, drop=False)

    assert store.checkpoints() == [first, second]
    with store.dropping():
        pass
    assert store.checkpoints() == [second]


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_a_cut_off_file_is_no_checkpoint(store: CheckpointStore, part: float):
    checkpoint = saved(store)
    whole = checkpoint.path.read_bytes()
    checkpoint.path.write_bytes(whole[: int(len(whole) * part)])

    assert store.checkpoints() == []
    assert store.latest() is None


def test_foreign_files_are_no_checkpoints_and_stay(store: CheckpointStore, folder: Path):
    checkpoint = saved(store)
    (folder / "notes.txt").write_text("mine")
    (folder / "999999-other.h5").write_text("no HDF5")
    with h5py.File(folder / "weights.h5", "w") as file:
        file["w"] = 1.0

    for _ in range(3):
        saved(store)

    assert len(store.checkpoints()) == 2
    assert checkpoint not in store.checkpoints()
    assert (folder / "notes.txt").exists()
    assert (folder / "999999-other.h5").exists()
    assert (folder / "weights.h5").exists()


@pytest.mark.slow
def test_unfinished_files_of_dead_processes_are_removed_of_live_ones_not(
    store: CheckpointStore, folder: Path
):
    folder.mkdir(parents=True)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = folder / f"000001-fit1-epoch0-step0.h5.{dead.pid}.tmp"
    export = folder / f"000001-fit1-epoch0-step0.{dead.pid}.tmp.keras"
    others = folder / f"000001-fit1-epoch0-step0.h5.{os.getppid()}.tmp"
    for path in (left, export, others):
        path.write_text("half")

    saved(store)

    assert not left.exists()
    assert not export.exists()
    assert others.exists()
    assert len(store.checkpoints()) == 1


def test_only_one_variable_is_read_at_a_time(store: CheckpointStore):
    class Counted:
        alive = 0

        def __init__(self) -> None:
            Counted.alive += 1

        def __del__(self) -> None:
            Counted.alive -= 1

    most: list[int] = []

    def read(_: Any) -> Any:
        array = np.zeros(LARGE).view(CountedArray)
        array.counted = Counted()
        most.append(Counted.alive)
        return array

    class CountedArray(np.ndarray):
        counted: Any = None

    store.save([VariableToStore("v", 8 * LARGE, None)] * 2, read, tag=TAG)

    assert max(most) == 1
