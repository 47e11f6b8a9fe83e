"""Whatever happens to the disk or the process amid a save, the last good checkpoint stays."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag, VariableToStore
from kmonitor_agent.reclaim.checkpoints import (
    CheckpointStore,
    ExportFailed,
    SaveRefused,
    export_model,
)
from tests.support.waiting import DEADLINE_S

pytest.importorskip("h5py", reason="comes with Keras")

KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.checkpoints import export_model
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag as Tag, VariableToStore

class Dies:
    def save(self, path):
        path.write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

def die(value):
    if value[0] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return value

folder = Path(sys.argv[1])
values = [np.full(50_000, n, "float32") for n in range(5)]
stored = [VariableToStore(str(n), each.nbytes, each) for n, each in enumerate(values)]
store = CheckpointStore(folder)
if sys.argv[2] == "export":
    export_model(Dies(), store.latest().path)
store.save(stored, die, tag=Tag("run", 1, 1))
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    if not _mount("-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", str(place)):
        pytest.skip("mounting a small tmpfs needs root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # noqa: S607


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0:
        return False
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0  # noqa: S607


def save(store: CheckpointStore, *, n_bytes: int = 4000, epoch: int = 0) -> Path:
    value = np.full(n_bytes // 4, epoch, "float32")
    stored = [VariableToStore("kernel", value.nbytes, value)]
    return store.save(stored, lambda each: each, tag=CheckpointTag("run", 1, epoch)).path


def is_whole(store: CheckpointStore) -> bool:
    latest = store.latest()
    assert latest is not None
    return all(value is not None for value in store.read(latest))


@pytest.mark.slow
@pytest.mark.parametrize("amid", ["save", "export"])
def test_process_killed_amid_the_write_leaves_the_last_one_and_its_rest_is_cleared(
    tmp_path: Path, amid: str
):
    store = CheckpointStore(tmp_path / "run")
    good = save(store)

    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(store.folder), amid],
        check=False,
        timeout=2 * DEADLINE_S,
    )

    assert ended.returncode == -signal.SIGKILL
    assert len(list(store.folder.iterdir())) == 2
    assert [each.path for each in store.checkpoints()] == [good]
    assert is_whole(store)
    newest = save(store, epoch=2)
    assert sorted(store.folder.iterdir()) == [good, newest]


def test_full_disk_refuses_the_save_and_keeps_the_last_one(small_disk: Path):
    store = CheckpointStore(small_disk / "run", free_bytes=lambda _: 10**9)
    good = save(store, n_bytes=100_000)

    with pytest.raises(SaveRefused, match="No space left"):
        save(store, n_bytes=200_000, epoch=1)

    assert list(store.folder.iterdir()) == [good]
    assert is_whole(store)


def test_full_disk_fails_the_export_and_keeps_the_checkpoint(small_disk: Path):
    store = CheckpointStore(small_disk / "run")
    good = save(store, n_bytes=60_000)

    class Large:
        def save(self, path: Path) -> None:
            path.write_bytes(bytes(400_000))

    with pytest.raises(ExportFailed, match="No space left"):
        export_model(Large(), good)

    assert list(store.folder.iterdir()) == [good]
    assert is_whole(store)


def test_disk_that_becomes_read_only_refuses_the_save_and_keeps_the_last_one(small_disk: Path):
    store = CheckpointStore(small_disk / "run")
    good = save(store)
    assert _mount("-o", "remount,ro", str(small_disk))

    with pytest.raises(SaveRefused, match="Read-only file system"):
        save(store, epoch=1)

    assert list(store.folder.iterdir()) == [good]
    assert is_whole(store)


def test_folder_that_vanishes_amid_the_write_is_told_and_made_anew(tmp_path: Path):
    store = CheckpointStore(tmp_path / "run")
    save(store)

    def vanish(value: Any) -> Any:
        shutil.rmtree(store.folder)
        return value

    value = np.ones(1000, "float32")
    with pytest.raises(SaveRefused, match="could not be written"):
        store.save(
            [VariableToStore("x", value.nbytes, value)], vanish, tag=CheckpointTag("run", 1, 1)
        )

    save(store, epoch=2)
    assert is_whole(store)
