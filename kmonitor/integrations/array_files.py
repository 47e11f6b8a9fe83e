"""Arrays in files that are named after what they hold: written once, read by every process."""

import hashlib
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from kmonitor_agent.wire.local.private_files import check_plain, is_plain, make_folder, open_new

_CHUNK: Final = 2**24


class NotAnArray(TypeError):
    """Data that are no array of numbers or texts."""


def store_array(folder: Path, name: str, data: Any) -> str:
    """Path of an array's file; it is written unless it is there.

    Args:
        folder: Where; made.
        name: What it is, for the file's name.
        data: What numpy makes an array of.

    Raises:
        NotAnArray: It makes one of objects, or a single value.
        OSError: It cannot be written.
    """
    array = np.ascontiguousarray(data)
    if array.dtype.hasobject or array.ndim == 0:
        raise NotAnArray(name)
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    flat = array.reshape(-1).view(np.uint8)
    for begin in range(0, flat.size, _CHUNK):
        digest.update(flat[begin : begin + _CHUNK].tobytes())
    path = folder / f"{name}-{digest.hexdigest()[:32]}.npy"
    if not is_plain(path):
        make_folder(folder)
        with os.fdopen(open_new(path.with_suffix(".new")), "wb") as file:
            np.save(file, array, allow_pickle=False)
        path.with_suffix(".new").replace(path)
    return str(path)


def map_array(path: str) -> Any:
    """A kept array `[...]`, read as it is used; what is written to it stays with this process."""
    check_plain(Path(path), None)
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
