"""The form of a checkpoint file: HDF5, one dataset a variable, checksums, a header at the end.

Datasets are named by their ordinal, so equal paths do not collide. Dtypes that HDF5 does not know
(bfloat16, float8) are stored as unsigned integers of the same width with their name beside them.
The header's attributes are written last: a file without them is no checkpoint.
"""

import contextlib
import importlib
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import numpy as np

from kmonitor_agent.reclaim.beside import Beside
from kmonitor_agent.reclaim.disk_file import DiskFile
from kmonitor_agent.reclaim.state_facts import (
    NotAStateFile,
    StateHeader,
    StoredFacts,
    StoredVariable,
    Tag,
)

__all__ = [
    "FORMAT",
    "Checksum",
    "NotAStateFile",
    "StateHeader",
    "StoredFacts",
    "StoredVariable",
    "Tag",
    "holds_values",
    "read_architecture",
    "read_facts",
    "read_header",
    "read_variables",
    "write_state",
]

FORMAT: Final = "kmonitor-state-1"

_ARCHITECTURE: Final = "architecture"

_HDF5_KINDS: Final = "biufc"
"""Kinds of numpy dtypes that HDF5 stores as they are."""

_SLICE_BYTES: Final = 1024 * 1024
"""What is read and compared at a time: small enough to stay in a processor's cache."""


class Checksum:
    """CRC-32 over the CRC-32s of arrays in order: quick, and finds the damage that disks do."""

    def __init__(self) -> None:
        self._crc = 0

    def add(self, array: Any) -> int:
        """Take one more array; its own CRC-32."""
        crc = _crc_of(array)
        self.add_crc(crc)
        return crc

    def add_crc(self, crc: int) -> None:
        """Take one more array, whose CRC-32 is known."""
        self._crc = zlib.crc32(crc.to_bytes(4, "big"), self._crc)

    def text(self) -> str:
        """As it stands in headers and records."""
        return f"crc32:{self._crc:08x}"


def write_state(
    disk: DiskFile,
    variables: Sequence[StoredVariable],
    read: Callable[[Any], Any],
    *,
    tag: Tag,
    wall_s: float,
    architecture: str = "",
) -> StateHeader:
    """Fill a new file, one variable in memory at a time; the caller flushes it.

    `architecture` is a text that `read_architecture` gives back. What the disk refuses is told
    when the file is flushed: what is there then is no checkpoint.
    """
    checksum = Checksum()
    state_bytes = 0
    with _hdf5().File(disk, "w") as file:
        for ordinal, variable in enumerate(variables):
            array = np.asarray(read(variable.variable), order="C")
            state_bytes += array.nbytes
            crc = _write_variable(file, str(ordinal), variable.path, array)
            del array  # or two would be in memory while the next one is read
            checksum.add_crc(crc)
        if architecture:
            text = np.frombuffer(architecture.encode(), np.uint8)
            _write_array(file, _ARCHITECTURE, text).attrs["crc32"] = zlib.crc32(text.data)
        header = StateHeader(tag, wall_s, len(variables), state_bytes, checksum.text())
        _write_header(file, header)
    return header


def read_header(path: Path) -> StateHeader:
    """A file's header.

    Raises:
        NotAStateFile: It is not a whole checkpoint.
        OSError: It cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        return _read_header(file)


def read_variables(path: Path, empty: Callable[..., Any] = np.empty) -> Iterator[Any]:
    """Values in order as numpy arrays, each checked before it is given.

    Args:
        path: The file.
        empty: Makes the array of shape and dtype in whose memory a large one is read and checked.

    Raises:
        NotAStateFile: One is missing or damaged.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    checksum = Checksum()
    with _open(path) as file, path.open("rb", buffering=0) as raw:
        header = _read_header(file)
        for ordinal in range(header.variables):
            array, crc = _read_variable(_dataset(file, str(ordinal)), raw, empty)
            checksum.add_crc(crc)
            yield array
            del array  # or two would be in memory while the next one is read
    if checksum.text() != header.checksum:
        raise NotAStateFile(f"its state is {checksum.text()}, not {header.checksum}")


def holds_values(path: Path, values: Iterator[Any]) -> bool:
    """Whether a file holds these numpy arrays in this order, every bit, and says so of itself.

    Read and compared slice by slice: quicker than checksums, and no second variable in memory.

    Raises:
        NotAStateFile: It is not a whole checkpoint.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    checksum = Checksum()
    with _open(path) as file:
        header = _read_header(file)
        for ordinal in range(header.variables):
            array = next(values, None)
            if array is None:
                return False
            dataset = _dataset(file, str(ordinal))
            if not _holds(dataset, np.asarray(array, order="C"), path):
                return False
            del array  # or two would be in memory while the next one is read
            checksum.add_crc(_stored_crc(dataset))
    return next(values, None) is None and checksum.text() == header.checksum


def read_architecture(path: Path) -> str:
    """What a file says of its model's making; empty if nothing.

    Raises:
        NotAStateFile: It is damaged.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        header = _read_header(file)
        with _sound(_ARCHITECTURE):
            if _ARCHITECTURE not in file and len(file) == header.variables:
                return ""
            dataset = _dataset(file, _ARCHITECTURE)
            text, wanted = _read_array(dataset), _stored_crc(dataset)
    if zlib.crc32(text.data) != wanted:
        raise NotAStateFile("what it says of the model has another checksum")
    return text.tobytes().decode()


def read_facts(path: Path) -> list[StoredFacts]:
    """What a file holds, in order, without reading the values.

    Raises:
        NotAStateFile: A variable is missing or malformed.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        header = _read_header(file)
        return [_facts(_dataset(file, str(ordinal))) for ordinal in range(header.variables)]


def _facts(dataset: Any) -> StoredFacts:
    with _sound(dataset.name):
        shape = tuple(int(length) for length in dataset.shape)
        return StoredFacts(str(dataset.attrs["path"]), shape, str(dataset.attrs["dtype"]))


def _open(path: Path) -> Any:
    # Nobody writes to a whole file, and locks fail on NFS.
    return _hdf5().File(path, "r", locking=False)


def _hdf5() -> Any:
    return importlib.import_module("h5py")  # comes with Keras


def _write_variable(file: Any, name: str, path: str, array: Any) -> int:
    """Write one with its checksum, which is computed meanwhile; its CRC-32."""
    if array.nbytes < _SLICE_BYTES:
        dataset, crc = _write_array(file, name, array), _crc_of(array)
    else:
        with Beside(partial(_crc_of, array)) as found:
            dataset = _write_array(file, name, array)
        crc = found.result()
    dataset.attrs["path"] = path
    dataset.attrs["crc32"] = crc
    return crc


def _write_array(file: Any, name: str, array: Any) -> Any:
    known = array.dtype.kind in _HDF5_KINDS and array.dtype.isbuiltin == 1
    raw = array if known else array.view(np.dtype(f"u{array.dtype.itemsize}"))
    dataset = file.create_dataset(name, data=raw)
    dataset.attrs["dtype"] = str(array.dtype)
    return dataset


@contextlib.contextmanager
def _sound(name: str) -> Generator[None]:
    """Tell what HDF5 and numpy raise of a dataset that is not as we write them."""
    try:
        yield
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as exc:
        what = "what it says of the model" if name == _ARCHITECTURE else f"variable {name}"
        raise NotAStateFile(f"{what} is missing or malformed: {exc}") from exc


def _dataset(file: Any, name: str) -> Any:
    with _sound(name):
        return file[name]


def _stored_crc(dataset: Any) -> int:
    with _sound(dataset.name):
        return int(dataset.attrs["crc32"])


def _read_variable(dataset: Any, raw: FileIO, empty: Callable[..., Any]) -> tuple[Any, int]:
    """One as a numpy array, checked, and its CRC-32. Raises: NotAStateFile, OSError."""
    name = dataset.name.removeprefix("/")
    with _sound(name):
        dtype = _dtype(str(dataset.attrs["dtype"]))
        offset = _offset(dataset, dataset.size * dtype.itemsize)
    if offset is None:
        array = _read_array(dataset)
        crc = _crc_of(array)
    else:
        array = empty(dataset.shape, dtype)
        crc = _fill(array, raw, offset)
    if crc != _stored_crc(dataset):
        raise NotAStateFile(f"variable {name} has another checksum")
    return array, crc


def _read_array(dataset: Any) -> Any:
    with _sound(dataset.name):
        array = np.asarray(dataset[()], order="C").view(_dtype(str(dataset.attrs["dtype"])))
        return array.reshape(dataset.shape)


def _offset(dataset: Any, n_bytes: int) -> int | None:
    """Where in the file its bytes lie in one piece; None where only HDF5 can tell."""
    if n_bytes < _SLICE_BYTES or dataset.external or dataset.id.get_storage_size() != n_bytes:
        return None
    return dataset.id.get_offset()


def _fill(array: Any, raw: FileIO, offset: int) -> int:
    """Read an array's bytes; the CRC-32 of what came, computed meanwhile slice by slice."""
    flat, came = _bytes_of(array), SimpleQueue[Any]()
    raw.seek(offset)
    with Beside(partial(_crc_of_slices, came), end=partial(came.put, None)) as crc:
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
            raise NotAStateFile("it ends too early")
        rest = rest[n_bytes:]


def _holds(dataset: Any, array: Any, path: Path) -> bool:
    with _sound(dataset.name):
        if dataset.shape != array.shape or str(dataset.attrs["dtype"]) != str(array.dtype):
            return False
        offset = _offset(dataset, array.nbytes)
        if offset is None:
            return _is_same(_bytes_of(np.asarray(dataset[()], order="C")), _bytes_of(array))
    flat, half = _bytes_of(array), array.nbytes // 2
    with Beside(partial(_is_at, path, offset + half, flat[half:])) as second:
        is_first = _is_at(path, offset, flat[:half])
    return is_first and second.result()


def _is_at(path: Path, offset: int, flat: Any) -> bool:
    """Whether these bytes are at that place of a file."""
    buffer = np.empty(min(flat.size, _SLICE_BYTES), np.uint8)
    with path.open("rb", buffering=0) as raw:
        raw.seek(offset)
        for start in range(0, flat.size, _SLICE_BYTES):
            part = flat[start : start + _SLICE_BYTES]
            came = buffer[: part.size]
            _read_into(raw, came)
            if not _is_same(came, part):
                return False
    return True


def _is_same(one: Any, other: Any) -> bool:
    """Whether two flat arrays of bytes are equal; eight at a time, which is quicker."""
    whole = one.size // 8 * 8
    if one.size != other.size or not np.array_equal(one[whole:], other[whole:]):
        return False
    return np.array_equal(one[:whole].view(np.uint64), other[:whole].view(np.uint64))


def _bytes_of(array: Any) -> Any:
    flat = array.reshape(-1)
    return flat.view(np.uint8) if flat.size else np.empty(0, np.uint8)


def _crc_of(array: Any) -> int:
    return zlib.crc32(memoryview(_bytes_of(array)))


def _write_header(file: Any, header: StateHeader) -> None:
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


def _read_header(file: Any) -> StateHeader:
    try:
        attributes = file.attrs
        if attributes.get("format") != FORMAT:
            raise NotAStateFile(f"it is not of format {FORMAT}")
        return StateHeader(
            tag=Tag(
                run=str(attributes["run"]),
                fit=int(attributes["fit"]),
                epoch=int(attributes["epoch"]),
                step=int(attributes["step"]),
            ),
            wall_s=float(attributes["wall_s"]),
            variables=int(attributes["variables"]),
            state_bytes=int(attributes["state_bytes"]),
            checksum=str(attributes["checksum"]),
        )
    except (KeyError, RuntimeError, TypeError, ValueError) as exc:
        raise NotAStateFile(f"its header is not whole: {exc}") from exc


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        # bfloat16 and float8 are ml_dtypes' own, which every Keras backend brings.
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
