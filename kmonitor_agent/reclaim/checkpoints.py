"""A run's checkpoints on disk, with `.keras` exports: whole and verified, or not there at all.

A checkpoint is one file (`checkpoint_file`). It is written variable by variable under a name that
no one takes for a checkpoint, flushed to the disk, read back and compared, then renamed, and the
folder is flushed too. At most the first block of other files in the folder is read: a damaged file
harms no training.
"""

import contextlib
import os
import re
import shutil
import zipfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil

from kmonitor_agent.frameworks.base import EmptyArrayFactory, KerasModel
from kmonitor_agent.frameworks.global_state import preserve_name_counters
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.reclaim.checkpoint_file import holds_values, read_variables, write_state
from kmonitor_agent.reclaim.checkpoint_seal import (
    CheckpointHeader,
    CheckpointTag,
    NotACheckpoint,
    VariableToStore,
    read_header,
)
from kmonitor_agent.reclaim.disk_file import BackgroundTask, DiskFile, fsync_folder
from kmonitor_agent.wire.local.clock import Clock, SystemClock
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.private_files import make_folder, make_own_folder
from kmonitor_agent.wire.text import binary_size

_SUFFIX: Final = ".h5"

_EXPORT_SUFFIX: Final = ".keras"

_UNFINISHED: Final = ".tmp"

_NAME: Final = re.compile(r"[0-9]{6,}-fit([0-9]+)-epoch([0-9]+)-step([0-9]+)\.h5")

_FREE_FACTOR: Final = 2
"""Multiple of the state's size that must be free for a save: older files stay until it is done."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint in a store.

    Attributes:
        wall_s: Time at which it was taken, UTC epoch seconds.
        epoch: Index from 0 of the epoch in or after which it was taken.
        checksum: "crc32:..." over all variables in order.
        tag: Position in the run at which it was taken.
        variables: Number of variables.
        state_bytes: Size of the variables, bytes.
    """

    path: Path
    n_bytes: int
    wall_s: float
    epoch: int
    checksum: str
    tag: CheckpointTag
    variables: int
    state_bytes: int


class SaveRefused(Exception):
    """A checkpoint was not started or not finished; no part of it is left.

    Attributes:
        why: The reason and the remedy, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class CheckpointStore:
    """The checkpoints of one run in one folder; owned by the training thread."""

    def __init__(
        self,
        folder: Path,
        *,
        keep: int = 2,
        clock: Clock | None = None,
        free_bytes: Callable[[Path], int] | None = None,
    ) -> None:
        """Nothing is created before the first save.

        Args:
            folder: Folder of the files.
            keep: Number of newest checkpoints to keep, at least 1.
            clock: Source of a checkpoint's time; None: the machine's clock.
            free_bytes: Returns the free space of a folder's disk, bytes; None: read from the
                system.
        """
        self.folder = folder
        self._keep = max(1, keep)
        self._clock = clock or SystemClock()
        self._free_bytes = free_bytes or _free_bytes

    def checkpoints(self) -> list[Checkpoint]:
        """All complete checkpoints, oldest first; other files are left out."""
        candidates = (self._checkpoint(path) for path in self._files())
        return [checkpoint for checkpoint in candidates if checkpoint is not None]

    def latest(self) -> Checkpoint | None:
        """Newest complete checkpoint; None if there is none."""
        for path in reversed(self._files()):
            checkpoint = self._checkpoint(path)
            if checkpoint is not None:
                return checkpoint
        return None

    def free_bytes(self) -> int:
        """Free space on the disk of the checkpoints, bytes. Raises: OSError."""
        return self._free_bytes(self.folder)

    def save(
        self,
        variables: Sequence[VariableToStore],
        read: Callable[[Any], Any],
        *,
        tag: CheckpointTag,
        architecture: str = "",
        drop: bool = True,
    ) -> Checkpoint:
        """Write a checkpoint, check that it reads back the same, and drop the oldest.

        Args:
            variables: Variables to write, in the order in which they will be read.
            read: Returns a variable's value as a numpy array; called for one variable at a time.
            tag: Position in the run.
            architecture: Text from which the model can be built; empty if unknown.
            drop: True to drop the oldest now; else the caller uses `dropping`.

        Raises:
            SaveRefused: No space, no permission, or the file did not read back the same.
        """
        state_bytes = sum(variable.n_bytes for variable in variables)
        self._make_folder()
        self._remove_unfinished()
        self._check_space(state_bytes)
        target = self.folder / self._name(tag)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}{_UNFINISHED}")
        try:
            header = self._write(unfinished, variables, read, tag, architecture)
            unfinished.replace(target)
            fsync_folder(self.folder)
        except (NotACheckpoint, OSError) as exc:
            raise SaveRefused(f"the checkpoint could not be written: {exc}"[:1000]) from exc
        finally:
            # Whatever ended it, also an interrupt: nothing half-written stays.
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
        if drop:
            _remove(self._oldest())
        return _as_checkpoint(target, header)

    def _write(
        self,
        path: Path,
        variables: Sequence[VariableToStore],
        read: Callable[[Any], Any],
        tag: CheckpointTag,
        architecture: str,
    ) -> CheckpointHeader:
        """Write a new file and check that it reads back the same while it is flushed."""
        wall_s = self._clock.wall_s()
        with DiskFile(path) as disk:
            header = write_state(
                disk, variables, read, tag=tag, wall_s=wall_s, architecture=architecture
            )
            with disk.flushing():
                _verify(path, header, (read(each.variable) for each in variables))
        return header

    @contextlib.contextmanager
    def dropping(self) -> Generator[None]:
        """Drop the oldest in a thread while the block runs: deleting a large file takes time."""
        with BackgroundTask(partial(_remove, self._oldest())):
            yield

    def read(
        self, checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None
    ) -> Iterator[Any]:
        """Values of a checkpoint in the order of saving, one in memory at a time.

        Args:
            empty: Creates the arrays that large values are read into; None: numpy's.

        Raises:
            NotACheckpoint: The file is damaged; values yielded before are correct.
            OSError: The file cannot be read.
        """
        return read_variables(checkpoint.path, empty or np.empty)

    def holds(self, checkpoint: Checkpoint, values: Iterator[Any]) -> bool:
        """True if a checkpoint is readable and holds these numpy arrays in order, every bit."""
        try:
            return holds_values(checkpoint.path, values)
        except (NotACheckpoint, OSError):
            return False

    def _files(self) -> list[Path]:
        try:
            paths = [path for path in self.folder.iterdir() if path.suffix == _SUFFIX]
        except OSError:
            return []
        return sorted(paths, key=_ordinal)

    def _checkpoint(self, path: Path) -> Checkpoint | None:
        try:
            return _as_checkpoint(path, read_header(path))
        except (NotACheckpoint, OSError):
            return None

    def _make_folder(self) -> None:
        try:
            is_own = self.folder.is_relative_to(find_folders().state)
            (make_own_folder if is_own else make_folder)(self.folder)
        except OSError as exc:
            raise SaveRefused(f"the checkpoint folder cannot be created: {exc}"[:1000]) from exc

    def _check_space(self, state_bytes: int) -> None:
        try:
            free = self._free_bytes(self.folder)
        except OSError as exc:
            raise SaveRefused(f"the checkpoint folder cannot be read: {exc}"[:1000]) from exc
        if free < _FREE_FACTOR * state_bytes:
            raise SaveRefused(
                f"not enough space in {self.folder}: {binary_size(free)} free, but {_FREE_FACTOR}"
                f" times the size of the state ({binary_size(state_bytes)}) is needed; free some"
                " space, or set checkpoint_dir"
            )

    def _name(self, tag: CheckpointTag) -> str:
        ordinal = max((_ordinal(path) for path in self._files()), default=0) + 1
        return f"{ordinal:06d}-fit{tag.fit}-epoch{tag.epoch}-step{tag.step}{_SUFFIX}"

    def _remove_unfinished(self) -> None:
        # Left by a process that was killed while it saved; one that lives may share the folder.
        for path in self.folder.glob(f"*{_UNFINISHED}*"):
            pid = path.name.partition(_UNFINISHED)[0].rpartition(".")[2]
            if pid == str(os.getpid()) or not (pid.isdigit() and psutil.pid_exists(int(pid))):
                with contextlib.suppress(OSError):
                    path.unlink()

    def _oldest(self) -> list[Path]:
        """Files older than the ones to keep, damaged ones included."""
        files = self._files()
        whole = [path for path in files if self._checkpoint(path) is not None]
        if len(whole) < self._keep:
            return []
        older = files[: files.index(whole[-self._keep])]
        return [path for path in older if path in whole or parse_checkpoint_name(path)]


def _remove(checkpoints: Sequence[Path]) -> None:
    for path in checkpoints:
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):
            export_path(path).unlink()


def _as_checkpoint(path: Path, header: CheckpointHeader) -> Checkpoint:
    return Checkpoint(
        path=path,
        n_bytes=path.lstat().st_size,
        wall_s=header.wall_s,
        epoch=header.tag.epoch,
        checksum=header.checksum,
        tag=header.tag,
        variables=header.variables,
        state_bytes=header.state_bytes,
    )


def _ordinal(path: Path) -> int:
    first = path.name.partition("-")[0]
    return int(first) if first.isdigit() else 0


def _verify(path: Path, header: CheckpointHeader, values: Iterator[Any]) -> None:
    try:
        # Another thread of the script may have changed a variable since it was written.
        if not holds_values(path, values):
            deque(read_variables(path), maxlen=0)  # a loop variable would hold two values at once
        stored_header = read_header(path)
    except NotACheckpoint as exc:
        raise SaveRefused(
            f"the checkpoint read back does not match what was written: {exc.why}"
        ) from exc
    if stored_header != header:
        raise SaveRefused(
            "the checkpoint read back does not match what was written: the header differs"
        )


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def parse_checkpoint_name(path: Path) -> tuple[int, int, int] | None:
    """Fit, epoch and step from a checkpoint's name, unverified.

    None if the name has another form.
    """
    named = _NAME.fullmatch(path.name)
    return None if named is None else (int(named[1]), int(named[2]), int(named[3]))


def export_path(checkpoint: Path) -> Path:
    """Path of a checkpoint's `.keras` file, if it has one."""
    return checkpoint.with_suffix(_EXPORT_SUFFIX)


def unfinished_export_path(checkpoint: Path) -> Path:
    """Path at which that file is written; the next save removes a leftover of a killed process."""
    return checkpoint.with_name(f"{checkpoint.stem}.{os.getpid()}{_UNFINISHED}{_EXPORT_SUFFIX}")


class ExportFailed(Exception):
    """A `.keras` file was not written; no part of it is left.

    Attributes:
        why: The reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def export_model(
    model: KerasModel, checkpoint: Path, free_bytes: Callable[[], int] | None = None
) -> Path:
    """Have Keras write the model beside its checkpoint, for other programs; return the path.

    Keras builds a copy of all weights in memory meanwhile. The file holds weights and optimizer,
    but no seed states: a training continues exactly only from the checkpoint.

    Args:
        checkpoint: Path of the checkpoint; the export has the same name.
        free_bytes: Returns the free space there, bytes; None: not checked.

    Raises:
        ExportFailed: Keras cannot write the model, or the disk refuses.
    """
    unfinished = unfinished_export_path(checkpoint)
    target = export_path(checkpoint)
    try:
        _check_room(checkpoint, free_bytes)
        with preserve_name_counters():  # Keras makes a layer, an optimizer and a metric to inspect
            model.save(unfinished)
        commit_export(unfinished, target)
    except ExportFailed:
        raise
    except Exception as exc:
        raise ExportFailed(describe_exception(exc)) from exc
    finally:
        # Whatever ended it, also an interrupt: nothing half-written stays.
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return target


def _check_room(checkpoint: Path, free_bytes: Callable[[], int] | None) -> None:
    if free_bytes is not None and free_bytes() < checkpoint.stat().st_size:
        raise ExportFailed("there is not enough space for both the export and the checkpoint")


def commit_export(unfinished: Path, target: Path) -> None:
    """Flush a file that Keras wrote, check that it is complete, and rename it.

    Raises:
        ExportFailed: The file is not complete.
        OSError: The disk failed.
    """
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        with zipfile.ZipFile(unfinished) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as exc:
        raise ExportFailed(f"the file could not be read back: {exc}") from exc
    if damaged is not None or not unfinished.stat().st_size:
        raise ExportFailed(f"the file could not be read back: {damaged} is damaged")
    unfinished.replace(target)
    fsync_folder(target.parent)
