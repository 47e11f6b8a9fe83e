"""Contents of an HDF5 file: read here, or by another process, since damage crashes the library."""

import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO, Final

import msgspec

from kmonitor.memory.model_files.archive import damaged, size_of
from kmonitor.memory.model_files.hdf5_parser import DamagedHdf5, UnknownForm, read_structure

_CHILD: Final = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline())\n"
    "sys.path[:] = request['sys_path']\n"
    "from kmonitor.memory.model_files.hdf5_child import main; main(request)"
)
_PATIENCE_S: Final = 60.0
_LOCAL_HEADER: Final = 30
_LOCAL_MARK: Final = b"PK\3\4"
_ENCRYPTED: Final = 1


class Dataset(msgspec.Struct, frozen=True):
    """One array in the file.

    Attributes:
        path: Where it is.
        shape: Lengths of its axes.
        dtype: Of its values.
        stored_bytes: What it takes in the file.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    stored_bytes: int


class Hdf5Contents(msgspec.Struct, frozen=True):
    """Contents of a file.

    Attributes:
        datasets: Each array, in the file's order.
        attributes: Texts of the file itself, and of groups as "path@name".
        error: Why it could not be read; empty if it could.
    """

    datasets: list[Dataset] = []
    attributes: dict[str, str] = {}
    error: str = ""


def read_hdf5(path: Path, member: str = "") -> Hdf5Contents:
    """Names, shapes and texts of an HDF5 file; no array is read.

    The usual forms are read here. Others, and compressed members, are opened by HDF5's own library
    in a process of its own.

    Args:
        path: The file, or the zip file that it is in.
        member: Its name in the zip file; empty if `path` is it.

    Raises:
        UserError: It is damaged, no HDF5 file, or reading it ended the process that tried.
    """
    size_of(path)
    try:
        with path.open("rb") as file:
            return _read_in_process(
                file, *(_member_span(file, member) if member else (0, _length(file)))
            )
    except DamagedHdf5 as exc:
        raise damaged(path, f"it is damaged or no HDF5 file ({exc.why})") from exc
    except OSError as exc:
        raise damaged(path, exc.strerror or str(exc)) from exc
    except UnknownForm:
        return _read_elsewhere(path, member)


def _read_in_process(file: IO[bytes], begin: int, size: int) -> Hdf5Contents:
    contents = Hdf5Contents()
    for thing in read_structure(file, begin, size):
        if thing.array is not None:
            array = thing.array
            found = Dataset(thing.path, array.shape, array.dtype, array.stored_bytes)
            contents.datasets.append(found)
        for name, text in thing.texts.items():
            contents.attributes[f"{thing.path}@{name}" if thing.path else name] = text
    return contents


def _length(file: IO[bytes]) -> int:
    return file.seek(0, 2)


def _member_span(file: IO[bytes], member: str) -> tuple[int, int]:
    """Where a member of a zip file lies, which is stored as it is, and its length."""
    try:
        with zipfile.ZipFile(file) as archive:
            info = archive.getinfo(member)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, ValueError) as exc:
        raise DamagedHdf5(f"there is no {member} in it") from exc
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
        raise UnknownForm("compressed")
    file.seek(info.header_offset)
    head = file.read(_LOCAL_HEADER)
    if len(head) < _LOCAL_HEADER or head[:4] != _LOCAL_MARK:
        raise DamagedHdf5(f"{member} is not where it should be")
    begin = info.header_offset + _LOCAL_HEADER + sum(struct.unpack("<HH", head[26:]))
    if info.file_size != info.compress_size or begin + info.file_size > _length(file):
        raise DamagedHdf5(f"{member} is cut off")
    return begin, info.file_size


def _read_elsewhere(path: Path, member: str) -> Hdf5Contents:
    request = msgspec.json.encode({"path": str(path), "member": member, "sys_path": sys.path})
    try:
        ended = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-P", "-S", "-c", _CHILD],
            input=request,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise damaged(path, "HDF5 does not come to an end with it") from exc
    try:
        contents = msgspec.json.decode(ended.stdout, type=Hdf5Contents)
    except msgspec.DecodeError as exc:
        raise damaged(path, "it is damaged so that HDF5's library fails") from exc
    if contents.error:
        raise damaged(path, contents.error)
    return contents
