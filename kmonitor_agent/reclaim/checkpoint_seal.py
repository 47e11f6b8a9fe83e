"""Seal of a checkpoint file: a block before its HDF5 and an index behind it, both our own.

A checkpoint is read after a crash, from a disk that may have been the cause of it. HDF5 checks
little: a wrong bit in a value is read as another weight, one in its own structure can crash the
process that reads it, here the training. A wrong weight is worse than no checkpoint, since nothing
reveals it. So everything is checked before it is read, and a check of the whole file needs no
HDF5.

The block is the file's HDF5 user block: magic, CRC-32, then JSON with the header that listings
show, the file's length and the offset of the index. The index has each value's offset, length and
CRC-32; the block has the CRC-32 of all bytes that belong to no value. So every byte of the file
has a checksum, and values are read by their offset. HDF5 is for other programs, which open the
file as usual.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any, Final, Protocol

from kmonitor_agent.wire.local.private_files import open_plain

BLOCK_BYTES: Final = 4096
"""Length of the block, bytes.

HDF5 allows powers of two from 512; this one aligns data to pages.
"""


MAGIC: Final = b"kmonitor"


_FORMAT: Final = 1

_CRC_END: Final = len(MAGIC) + 4

_CHUNK_BYTES: Final = 1024 * 1024

_INDEX_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of an index, bytes: that of a million variables."""


_REST_BYTES: Final = 1024 * 1024 * 1024
"""Maximum number of bytes between the values: HDF5's metadata of a million variables."""


@dataclass(frozen=True, slots=True)
class CheckpointTag:
    """Position in a run at which a state was taken.

    Attributes:
        run: Run id.
        fit: Ordinal of the fit in the run, from 1.
        epoch: Index from 0 of the epoch in or after which the state was taken.
        step: Steps done in that epoch if the state was taken within it; 0 at an epoch's end.
    """

    run: str
    fit: int
    epoch: int
    step: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointHeader:
    """Header of a checkpoint file.

    Attributes:
        tag: Position in the run at which it was taken.
        wall_s: Time at which it was taken, UTC epoch seconds.
        variables: Number of variables.
        state_bytes: Size of the variables, bytes.
        checksum: "crc32:..." over all variables in order.
    """

    tag: CheckpointTag
    wall_s: float
    variables: int
    state_bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class VariableToStore:
    """One variable to be written.

    Attributes:
        path: Path in the model, for people.
        variable: Argument for `read`.
    """

    path: str
    n_bytes: int
    variable: Any


@dataclass(frozen=True, slots=True)
class StoredVariableFacts:
    """One variable that a file holds.

    Attributes:
        path: Path in the model: group ("model", "metrics", "optimizer", "seed"), then names.
        dtype: Name of its value's dtype.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str


class NotACheckpoint(Exception):
    """A file that is not a complete checkpoint.

    Attributes:
        why: The reason, as text.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class SealedValue:
    """One value in a file.

    Attributes:
        facts: Path, shape and dtype of the variable.
        offset: Offset of its bytes in the file, in one piece.
        crc32: CRC-32 of its bytes.
    """

    facts: StoredVariableFacts
    offset: int
    n_bytes: int
    crc32: int


@dataclass(frozen=True, slots=True)
class SealedContents:
    """A file's header and index, verified.

    Attributes:
        sealed_values: Values of its variables, in order.
        architecture: The text from which the model can be built; None if there is none.
    """

    header: CheckpointHeader
    sealed_values: tuple[SealedValue, ...]
    architecture: SealedValue | None


class SeekableFile(Protocol):
    """An unbuffered binary file."""

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int: ...

    def read(self, size: int = -1, /) -> bytes | None:
        """None: nothing to read now (non-blocking)."""
        ...


class WritableFile(SeekableFile, Protocol):
    """An unbuffered binary file that is being written."""

    def write(self, data: memoryview, /) -> int: ...


def open_checkpoint(path: Path) -> FileIO:
    """Open a checkpoint without a buffer; plain files only, of any size. Raises: OSError."""
    return FileIO(open_plain(path), "rb")


def read_header(path: Path) -> CheckpointHeader:
    """Header of a file; reads only the block, and compares the file's length.

    Raises:
        NotACheckpoint: The file is not a complete checkpoint.
        OSError: The file cannot be read.
    """
    with open_checkpoint(path) as file:
        return _read_block(file).header


def has_checkpoint_magic(path: Path) -> bool:
    """True if a file is readable and begins with the magic of a checkpoint, complete or not."""
    try:
        with open_checkpoint(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@contextlib.contextmanager
def open_sealed(path: Path) -> Generator[tuple[SealedContents, Any]]:
    """An open file, verified except for the values, which their reader checks.

    Raises:
        NotACheckpoint: The file is not a complete checkpoint.
        OSError: The file cannot be read.
    """
    with open_checkpoint(path) as file:
        yield _read_seal(file), file


@dataclass(frozen=True, slots=True)
class _Block:
    header: CheckpointHeader
    n_bytes: int
    index_at: int
    index_crc32: int
    rest_crc32: int


def write_seal(file: WritableFile, contents: SealedContents) -> None:
    """Add index and block to a file that has space for the block, followed by its HDF5.

    Raises:
        NotACheckpoint: The header is longer than the block, or two values overlap.
    """
    index_at = file.seek(0, os.SEEK_END)
    rest_crc32 = _crc_of_rest(file, _all_values(contents), index_at)
    index = json.dumps(
        {
            "variables": [_as_list(sealed_value) for sealed_value in contents.sealed_values],
            "architecture": contents.architecture and _as_list(contents.architecture),
        }
    ).encode()
    file.seek(index_at)
    file.write(memoryview(index))
    block = _Block(contents.header, index_at + len(index), index_at, zlib.crc32(index), rest_crc32)
    text = json.dumps({"format": _FORMAT, **asdict(block)}).encode()
    if len(text) > BLOCK_BYTES - _CRC_END:
        raise NotACheckpoint("the header of a checkpoint is longer than its block")
    text = text.ljust(BLOCK_BYTES - _CRC_END)
    file.seek(0)
    file.write(memoryview(MAGIC + zlib.crc32(text).to_bytes(4, "big") + text))


def _read_seal(file: SeekableFile) -> SealedContents:
    block = _read_block(file)
    if block.n_bytes - block.index_at > _INDEX_BYTES:
        raise NotACheckpoint("its index is too large")
    index = b"".join(_chunks(file, block.index_at, block.n_bytes))
    if zlib.crc32(index) != block.index_crc32:
        raise NotACheckpoint("its index has the wrong checksum")
    with _well_formed("its index"):
        entries = json.loads(index)
        making = entries["architecture"]
        contents = SealedContents(
            block.header,
            tuple(_as_sealed_value(each) for each in entries["variables"]),
            None if making is None else _as_sealed_value(making),
        )
    if len(contents.sealed_values) != block.header.variables:
        raise NotACheckpoint("its index has the wrong number of variables")
    if _crc_of_rest(file, _all_values(contents), block.index_at) != block.rest_crc32:
        raise NotACheckpoint("the data between its values has the wrong checksum")
    return contents


def _read_block(file: SeekableFile) -> _Block:
    data = b"".join(_chunks(file, 0, BLOCK_BYTES))
    if not data.startswith(MAGIC):
        raise NotACheckpoint("it does not start with the signature of a checkpoint")
    text = data[_CRC_END:]
    if (
        len(data) < BLOCK_BYTES
        or zlib.crc32(text).to_bytes(4, "big") != data[len(MAGIC) : _CRC_END]
    ):
        raise NotACheckpoint("its first bytes have the wrong checksum")
    with _well_formed("its header"):
        values = json.loads(text)
        if values.pop("format") != _FORMAT:
            raise NotACheckpoint("its format is unknown to this version of kmonitor")
        header = values.pop("header")
        block = _Block(CheckpointHeader(CheckpointTag(**header.pop("tag")), **header), **values)
    length = file.seek(0, os.SEEK_END)
    if length != block.n_bytes:
        raise NotACheckpoint(f"it is {length} bytes long instead of {block.n_bytes}")
    return block


@contextlib.contextmanager
def _well_formed(what: str) -> Generator[None]:
    # Its checksum is right: only another writer than ours gets here.
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as exc:
        raise NotACheckpoint(f"{what} is incomplete: {exc}") from exc


def _as_list(value: SealedValue) -> list[object]:
    facts = value.facts
    return [facts.path, facts.shape, facts.dtype, value.offset, value.n_bytes, value.crc32]


def _as_sealed_value(entry: Sequence[Any]) -> SealedValue:
    path, shape, dtype, *numbers = entry
    offset, n_bytes, crc32 = (int(number) for number in numbers)
    return SealedValue(
        StoredVariableFacts(str(path), tuple(map(int, shape)), str(dtype)), offset, n_bytes, crc32
    )


def _all_values(contents: SealedContents) -> list[SealedValue]:
    sealed_values = [
        *contents.sealed_values,
        *([contents.architecture] if contents.architecture else []),
    ]
    return sorted((each for each in sealed_values if each.n_bytes), key=lambda each: each.offset)


def _crc_of_rest(file: SeekableFile, sealed_values: Sequence[SealedValue], end: int) -> int:
    """CRC-32 of all bytes between the block and `end` that belong to no value."""
    crc = 0
    at = BLOCK_BYTES
    if end - at - sum(each.n_bytes for each in sealed_values) > _REST_BYTES:
        raise NotACheckpoint("there are too many bytes between its values")
    for offset, n_bytes in [*((each.offset, each.n_bytes) for each in sealed_values), (end, 0)]:
        if offset < at:
            raise NotACheckpoint("two of its values overlap")
        for chunk in _chunks(file, at, offset):
            crc = zlib.crc32(chunk, crc)
        at = offset + n_bytes
    return crc


def _chunks(file: SeekableFile, start: int, end: int) -> Iterator[bytes]:
    """Bytes of a file between two offsets, as far as there are any."""
    file.seek(start)
    rest = end - start
    while rest > 0 and (chunk := file.read(min(rest, _CHUNK_BYTES))):
        rest -= len(chunk)
        yield chunk
