"""The form of a checkpoint file: HDF5, one dataset a variable, checksums, a header at the end.

Datasets are named by their ordinal, so equal paths do not collide. Dtypes that HDF5 does not know
(bfloat16, float8) are stored as unsigned integers of the same width with their name beside them.
The header's attributes are written last: a file without them is no checkpoint.
"""

import importlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from kmonitor_agent.reclaim.disk_file import DiskFile

FORMAT: Final = "kmonitor-state-1"

_ARCHITECTURE: Final = "architecture"

_HDF5_KINDS: Final = "biufc"
"""Kinds of numpy dtypes that HDF5 stores as they are."""


@dataclass(frozen=True, slots=True)
class Tag:
    """Where in a run a state was taken.

    Attributes:
        run: Run id.
        fit: Ordinal of the fit in the run, from 1.
        epoch: Index from 0 of the epoch in or after which it is.
        step: Steps done in that epoch when it was taken within; 0 at an epoch's end.
    """

    run: str
    fit: int
    epoch: int
    step: int = 0


@dataclass(frozen=True, slots=True)
class StateHeader:
    """What a checkpoint file says of itself.

    Attributes:
        tag: Where in the run it was taken.
        wall_s: When, UTC epoch seconds.
        variables: How many variables it holds.
        state_bytes: Their size, bytes.
        checksum: "crc32:..." over all of them in order.
    """

    tag: Tag
    wall_s: float
    variables: int
    state_bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class StoredVariable:
    """One variable to be written.

    Attributes:
        path: Where it belongs, for people.
        n_bytes: Its size, bytes.
        variable: What `read` is called with.
    """

    path: str
    n_bytes: int
    variable: Any


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """One variable that a file holds.

    Attributes:
        path: Where it belongs: its group ("model", "metrics", "optimizer", "seed"), then names.
        shape: Of its value.
        dtype: Of its value, by name.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str


class NotAStateFile(Exception):
    """A file that is no whole checkpoint.

    Attributes:
        why: What is wrong with it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Checksum:
    """CRC-32 over the CRC-32s of arrays in order: quick, and finds the damage that disks do."""

    def __init__(self) -> None:
        self._crc = 0

    def add(self, array: Any) -> int:
        """Take one more array; its own CRC-32."""
        flat = array.reshape(-1)
        crc = zlib.crc32(memoryview(flat.view(np.uint8))) if flat.size else 0
        self._crc = zlib.crc32(crc.to_bytes(4, "big"), self._crc)
        return crc

    def text(self) -> str:
        """As it stands in headers and records."""
        return f"crc32:{self._crc:08x}"


def write_state(
    path: Path,
    variables: Sequence[StoredVariable],
    read: Callable[[Any], Any],
    *,
    tag: Tag,
    wall_s: float,
    architecture: str = "",
) -> StateHeader:
    """Write a new file, one variable in memory at a time, and flush it to the disk.

    `architecture` is a text that `read_architecture` gives back.

    Raises:
        OSError: It cannot be written; what is there then is no checkpoint.
    """
    checksum = Checksum()
    state_bytes = 0
    with DiskFile(path) as disk, _hdf5().File(disk, "w") as file:
        for ordinal, variable in enumerate(variables):
            array = np.asarray(read(variable.variable), order="C")
            state_bytes += array.nbytes
            dataset = _write_array(file, str(ordinal), array)
            dataset.attrs["path"] = variable.path
            dataset.attrs["crc32"] = checksum.add(array)
            del array  # or two would be in memory while the next one is read
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


def read_variables(path: Path) -> Iterator[Any]:
    """Values in order as numpy arrays, each checked before it is given.

    Raises:
        NotAStateFile: One is missing or damaged.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    checksum = Checksum()
    with _open(path) as file:
        header = _read_header(file)
        for ordinal in range(header.variables):
            array, wanted = _read_array(file, str(ordinal))
            if checksum.add(array) != wanted:
                raise NotAStateFile(f"variable {ordinal} has another checksum")
            yield array
            del array  # or two would be in memory while the next one is read
    if checksum.text() != header.checksum:
        raise NotAStateFile(f"its state is {checksum.text()}, not {header.checksum}")


def read_architecture(path: Path) -> str:
    """What a file says of its model's making; empty if nothing.

    Raises:
        NotAStateFile: It is damaged.
        OSError: The file cannot be read, or is no HDF5 file.
    """
    with _open(path) as file:
        _read_header(file)
        if _ARCHITECTURE not in file:
            return ""
        text, wanted = _read_array(file, _ARCHITECTURE)
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
        try:
            return [_facts(file[str(ordinal)]) for ordinal in range(header.variables)]
        except (AttributeError, KeyError, TypeError) as exc:
            raise NotAStateFile(f"a variable is missing or malformed: {exc}") from exc


def _facts(dataset: Any) -> StoredFacts:
    shape = tuple(int(length) for length in dataset.shape)
    return StoredFacts(str(dataset.attrs["path"]), shape, str(dataset.attrs["dtype"]))


def _open(path: Path) -> Any:
    # Nobody writes to a whole file, and locks fail on NFS.
    return _hdf5().File(path, "r", locking=False)


def _hdf5() -> Any:
    return importlib.import_module("h5py")  # comes with Keras


def _write_array(file: Any, name: str, array: Any) -> Any:
    known = array.dtype.kind in _HDF5_KINDS and array.dtype.isbuiltin == 1
    raw = array if known else array.view(np.dtype(f"u{array.dtype.itemsize}"))
    dataset = file.create_dataset(name, data=raw)
    dataset.attrs["dtype"] = str(array.dtype)
    return dataset


def _read_array(file: Any, name: str) -> tuple[Any, int]:
    try:
        dataset = file[name]
        array = np.asarray(dataset[()], order="C").view(_dtype(str(dataset.attrs["dtype"])))
        return array.reshape(dataset.shape), int(dataset.attrs["crc32"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as exc:
        raise NotAStateFile(f"variable {name} is missing or malformed: {exc}") from exc


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
    attributes = file.attrs
    if attributes.get("format") != FORMAT:
        raise NotAStateFile(f"it is not of format {FORMAT}")
    try:
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
    except (KeyError, TypeError, ValueError) as exc:
        raise NotAStateFile(f"its header is not whole: {exc}") from exc


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        # bfloat16 and float8 are ml_dtypes' own, which every Keras backend brings.
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
