"""Checkpoint files: HDF5 with one dataset per variable, between the seal's block and its index.

Datasets are named by their ordinal, so equal paths do not collide. Dtypes that HDF5 does not know
(bfloat16, float8) are stored as unsigned integers of the same width with their name beside them.
Other programs read such a file as HDF5; here only the bytes of the values are read, at the offsets
in the index (`checkpoint_seal`). The block is written last: without it a file is no checkpoint.
"""

import contextlib
import importlib
import math
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import numpy as np

from kmonitor_agent.reclaim.checkpoint_seal import (
    BLOCK_BYTES,
    CheckpointHeader,
    CheckpointTag,
    NotACheckpoint,
    SealedContents,
    SealedValue,
    StoredVariableFacts,
    VariableToStore,
    open_checkpoint,
    open_sealed,
    write_seal,
)
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.disk_file import BackgroundTask, DiskFile

FORMAT: Final = "kmonitor-state-1"
"""Format of the HDF5 part of the file."""


ARCHITECTURE: Final = "architecture"
"""Name of the dataset with the architecture, a text from which the model can be built."""


_SLICE_BYTES: Final = 1024 * 1024
"""Number of bytes read and compared at a time: few enough for a processor's cache."""


class Checksum:
    """CRC-32 over the CRC-32s of arrays in order: fast, and finds damage by disks."""

    def __init__(self) -> None:
        self._crc = 0

    def add(self, array: Any) -> int:
        """Add an array and return its own CRC-32."""
        crc = _crc_of(array)
        self.add_crc(crc)
        return crc

    def add_crc(self, crc: int) -> None:
        """Add an array whose CRC-32 is known."""
        self._crc = zlib.crc32(crc.to_bytes(4, "big"), self._crc)

    def text(self) -> str:
        """Text for headers and records: "crc32:0123abcd"."""
        return f"crc32:{self._crc:08x}"


def write_state(
    disk: DiskFile,
    variables: Sequence[VariableToStore],
    read: Callable[[Any], Any],
    *,
    tag: CheckpointTag,
    wall_s: float,
    architecture: str = "",
) -> CheckpointHeader:
    """Fill a new file, one variable in memory at a time; the caller flushes it.

    `architecture` is the text that `read_architecture` returns. A disk failure is raised when the
    file is flushed: the file is then not a checkpoint.

    Raises:
        NotACheckpoint: The tag is too long for a file's block.
    """
    checksum = Checksum()
    sealed_values: list[SealedValue] = []
    making = None
    with _new_hdf5_file(disk) as file:
        for ordinal, variable in enumerate(variables):
            array = np.asarray(read(variable.variable), order="C")
            with SIGNALS.held():
                sealed_values.append(_write_variable(file, str(ordinal), variable.path, array))
            del array  # or two would be in memory while the next one is read
            checksum.add_crc(sealed_values[-1].crc32)
        if architecture:
            text = np.frombuffer(architecture.encode(), np.uint8)
            with SIGNALS.held():
                making = _write_variable(file, ARCHITECTURE, ARCHITECTURE, text)
        state_bytes = sum(sealed_value.n_bytes for sealed_value in sealed_values)
        header = CheckpointHeader(tag, wall_s, len(variables), state_bytes, checksum.text())
        with SIGNALS.held():
            _write_header(file, header)
    write_seal(disk, SealedContents(header, tuple(sealed_values), making))
    return header


@contextlib.contextmanager
def _new_hdf5_file(disk: DiskFile) -> Generator[Any]:
    # HDF5 calls `disk`, and loses what a signal's handler raises there, above all at the close.
    file = None
    try:
        with SIGNALS.held():
            file = _hdf5().File(disk, "w", userblock_size=BLOCK_BYTES)
        yield file
    finally:
        if file is not None:
            with SIGNALS.held():
                file.close()


def read_variables(path: Path, empty: Callable[..., Any] = np.empty) -> Iterator[Any]:
    """Values in order as numpy arrays, each checked before it is yielded.

    Args:
        empty: Creates an array of shape and dtype, into which a large value is read and checked.

    Raises:
        NotACheckpoint: A value is missing or damaged.
        OSError: The file cannot be read.
    """
    checksum = Checksum()
    with open_sealed(path) as (sealed, raw):
        for ordinal, sealed_value in enumerate(sealed.sealed_values):
            yield _read_value(raw, sealed_value, f"variable {ordinal}", empty)
            checksum.add_crc(sealed_value.crc32)
    if checksum.text() != sealed.header.checksum:
        raise NotACheckpoint(
            f"the checksum of its state is {checksum.text()}, not {sealed.header.checksum}"
        )


def holds_values(path: Path, values: Iterator[Any]) -> bool:
    """True if a valid checkpoint file holds exactly these numpy arrays in this order, every bit.

    Values are read and compared slice by slice: faster than checksums, without a second variable
        in memory.

    Raises:
        NotACheckpoint: The file is not a complete checkpoint.
        OSError: The file cannot be read.
    """
    checksum = Checksum()
    with open_sealed(path) as (sealed, raw):
        for sealed_value in sealed.sealed_values:
            array = next(values, None)
            if array is None or not _holds(raw, sealed_value, np.asarray(array, order="C"), path):
                return False
            del array  # or two would be in memory while the next one is read
            checksum.add_crc(sealed_value.crc32)
    return next(values, None) is None and checksum.text() == sealed.header.checksum


def read_architecture(path: Path) -> str:
    """Text from which a file's model can be built; empty if the file has none.

    Raises:
        NotACheckpoint: The file is damaged.
        OSError: The file cannot be read.
    """
    with open_sealed(path) as (sealed, raw):
        if sealed.architecture is None:
            return ""
        text = _read_value(raw, sealed.architecture, "the description of the model", np.empty)
    return text.tobytes().decode()


def read_variable_facts(path: Path) -> list[StoredVariableFacts]:
    """Facts of a file's variables, in order, without reading the values.

    Raises:
        NotACheckpoint: The file is not a complete checkpoint.
        OSError: The file cannot be read.
    """
    with open_sealed(path) as (sealed, _):
        return [sealed_value.facts for sealed_value in sealed.sealed_values]


def verify_checkpoint(path: Path) -> None:
    """Read every byte of a file and compare its checksums.

    Raises:
        NotACheckpoint: The file is damaged.
        OSError: The file cannot be read.
    """
    deque(read_variables(path), maxlen=0)  # a loop variable would hold two values at once
    read_architecture(path)


def _hdf5() -> Any:
    return importlib.import_module("h5py")  # comes with Keras


def _write_header(file: Any, header: CheckpointHeader) -> None:
    attributes = file.attrs
    attributes["run"] = header.tag.run
    attributes["fit"] = header.tag.fit
    attributes["epoch"] = header.tag.epoch
    attributes["step"] = header.tag.step
    attributes["wall_s"] = header.wall_s
    attributes["variables"] = header.variables
    attributes["state_bytes"] = header.state_bytes
    attributes["checksum"] = header.checksum
    attributes["format"] = FORMAT


def _write_variable(file: Any, name: str, path: str, array: Any) -> SealedValue:
    """Write a variable with its checksum, which is computed at the same time."""
    if array.nbytes < _SLICE_BYTES:
        dataset = _write_array(file, name, array)
        crc = _crc_of(array)
    else:
        with BackgroundTask(partial(_crc_of, array)) as checksum_task:
            dataset = _write_array(file, name, array)
        crc = checksum_task.result()
    dataset.attrs["path"] = path
    dataset.attrs["crc32"] = crc
    # An array without bytes has no place.
    offset = int(dataset.id.get_offset()) if array.nbytes else 0
    return SealedValue(
        StoredVariableFacts(path, array.shape, str(array.dtype)), offset, array.nbytes, crc
    )


_HDF5_KINDS: Final = "biufc"
"""Kinds of numpy dtypes that HDF5 stores unchanged."""


def _write_array(file: Any, name: str, array: Any) -> Any:
    known = array.dtype.kind in _HDF5_KINDS and array.dtype.isbuiltin == 1
    raw = array if known else array.view(np.dtype(f"u{array.dtype.itemsize}"))
    dataset = file.create_dataset(name, data=raw)
    dataset.attrs["dtype"] = str(array.dtype)
    return dataset


def _read_value(raw: FileIO, value: SealedValue, what: str, empty: Callable[..., Any]) -> Any:
    """A value as a checked numpy array. Raises: NotACheckpoint, OSError."""
    with _sound(what):
        dtype = _parse_dtype(value.facts.dtype)
        if math.prod(value.facts.shape) * dtype.itemsize != value.n_bytes:
            raise NotACheckpoint(f"{what} has a length that does not match its shape")
        is_large = value.n_bytes >= _SLICE_BYTES
        array = (empty if is_large else np.empty)(value.facts.shape, dtype)
    raw.seek(value.offset)
    if is_large:
        crc = _fill(array, raw)
    else:
        _read_into(raw, _bytes_of(array))
        crc = _crc_of(array)
    if crc != value.crc32:
        raise NotACheckpoint(f"{what} has the wrong checksum")
    return array


def _parse_dtype(name: str) -> Any:
    """The dtype that a file names. Raises: AttributeError, TypeError: It does not exist."""
    try:
        return np.dtype(name)
    except TypeError:
        # bfloat16 and float8 are ml_dtypes' own, which every Keras backend brings.
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))


@contextlib.contextmanager
def _sound(what: str) -> Generator[None]:
    # A dtype of a later numpy or ml_dtypes.
    try:
        yield
    except (AttributeError, ImportError, TypeError, ValueError) as exc:
        raise NotACheckpoint(f"{what} cannot be read here: {exc}") from exc


def _fill(array: Any, raw: FileIO) -> int:
    """Read an array's bytes; return their CRC-32, computed slice by slice while reading."""
    flat = _bytes_of(array)
    came = SimpleQueue[Any]()
    with BackgroundTask(partial(_crc_of_slices, came), end=partial(came.put, None)) as crc:
        for start in range(0, flat.size, _SLICE_BYTES):
            part = flat[start : start + _SLICE_BYTES]
            _read_into(raw, part)
            came.put(part)
    return crc.result()


def _crc_of_slices(came: "SimpleQueue[Any]") -> int:
    crc = 0
    while (part := came.get()) is not None:
        crc = zlib.crc32(part, crc)
    return crc


def _read_into(raw: FileIO, part: Any) -> None:
    rest = memoryview(part)
    while rest.nbytes:
        n_bytes = raw.readinto(rest)
        if not n_bytes:
            raise NotACheckpoint("it is truncated")
        rest = rest[n_bytes:]


def _holds(raw: FileIO, value: SealedValue, array: Any, path: Path) -> bool:
    if value.facts.shape != array.shape or value.facts.dtype != str(array.dtype):
        return False
    flat = _bytes_of(array)
    half = array.nbytes // 2
    if array.nbytes < _SLICE_BYTES:
        return _is_at(raw, value.offset, flat)
    with BackgroundTask(partial(_is_at_path, path, value.offset + half, flat[half:])) as second:
        is_first = _is_at(raw, value.offset, flat[:half])
    return is_first and second.result()


def _is_at_path(path: Path, offset: int, flat: Any) -> bool:
    with open_checkpoint(path) as raw:
        return _is_at(raw, offset, flat)


def _is_at(raw: FileIO, offset: int, flat: Any) -> bool:
    """True if these bytes are at that offset of a file."""
    buffer = np.empty(min(flat.size, _SLICE_BYTES), np.uint8)
    raw.seek(offset)
    for start in range(0, flat.size, _SLICE_BYTES):
        part = flat[start : start + _SLICE_BYTES]
        came = buffer[: part.size]
        _read_into(raw, came)
        if not _is_same(came, part):
            return False
    return True


def _is_same(one: Any, other: Any) -> bool:
    """True if two flat byte arrays are equal; compares eight bytes at a time, which is faster."""
    whole = one.size // 8 * 8
    if one.size != other.size or not np.array_equal(one[whole:], other[whole:]):
        return False
    return np.array_equal(one[:whole].view(np.uint64), other[:whole].view(np.uint64))


def _bytes_of(array: Any) -> Any:
    flat = array.reshape(-1)
    return flat.view(np.uint8) if flat.size else np.empty(0, np.uint8)


def _crc_of(array: Any) -> int:
    return zlib.crc32(memoryview(_bytes_of(array)))
