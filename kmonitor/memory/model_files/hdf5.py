"""Contents of an HDF5 file, read by another process: damage crashes the library."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

from kmonitor.memory.model_files.archive import damaged, size_of

_CHILD: Final = (
    "import json, sys; request = json.loads(sys.stdin.buffer.readline())\n"
    "sys.path[:] = request['sys_path']\n"
    "from kmonitor.memory.model_files.hdf5_child import main; main(request)"
)
_PATIENCE_S: Final = 60.0


class Dataset(msgspec.Struct, frozen=True):
    """One array in the file.

    Attributes:
        path: Path in the file.
        shape: Lengths of the axes.
        dtype: Dtype of the values.
        stored_bytes: Size in the file.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    stored_bytes: int


class Hdf5Contents(msgspec.Struct, frozen=True):
    """Contents of an HDF5 file.

    Attributes:
        datasets: Arrays, in the file's order.
        attributes: Texts of the file itself, and of groups as "path@name".
        error: Reason why the file could not be read; empty if it could.
    """

    datasets: list[Dataset] = []
    attributes: dict[str, str] = {}
    error: str = ""


def read_hdf5(path: Path, member: str = "") -> Hdf5Contents:
    """Read names, shapes and texts of an HDF5 file; no array is read.

    Args:
        path: The file, or the zip file that contains it.
        member: Name of the file in the zip file; empty if `path` is the file.

    Raises:
        UserError: The file is damaged, no HDF5 file, or crashed the process that read it.
    """
    size_of(path)
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
        raise damaged(path, "the HDF5 library did not finish reading it") from exc
    try:
        contents = msgspec.json.decode(ended.stdout, type=Hdf5Contents)
    except msgspec.DecodeError as exc:
        raise damaged(path, "it is so damaged that the HDF5 library fails") from exc
    if contents.error:
        raise damaged(path, contents.error)
    return contents
