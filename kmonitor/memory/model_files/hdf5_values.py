"""What kind of values an HDF5 array or attribute has, and how many."""

import struct
from dataclasses import dataclass
from typing import Final

LONGEST_TEXT: Final = 64 * 1024**2
"""More than any model's configuration, bytes."""

_MOST_AXES: Final = 32
_INTEGER, _FLOAT, _STRING, _ENUM, _VARIABLE = 0, 1, 3, 8, 9


class Damaged(Exception):
    """An HDF5 file that is not whole.

    Attributes:
        why: In words.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class UnknownForm(Exception):
    """An HDF5 file of a form that is not read here; its own library may."""


@dataclass(frozen=True, slots=True)
class Datatype:
    """A type of values.

    Attributes:
        name: As numpy calls it; "object" for texts of any length.
        size: Of one value, bytes; 0 for texts of any length.
        is_text: Whether values are texts.
        is_variable: Whether they lie elsewhere, each as long as it is.
    """

    name: str
    size: int
    is_text: bool = False
    is_variable: bool = False


def read_datatype(content: bytes) -> Datatype:
    """A datatype message.

    Raises:
        Damaged: It is too short.
    """
    if len(content) < 8:  # noqa: PLR2004 - class, bits and size
        raise Damaged("a type is cut off")
    kind, bits, size = content[0] & 15, content[1], struct.unpack_from("<I", content, 4)[0]
    if kind == _INTEGER:
        return Datatype(f"{'int' if bits & 8 else 'uint'}{8 * size}", size)
    if kind == _FLOAT:
        return Datatype(f"float{8 * size}", size)
    if kind == _STRING:
        return Datatype(f"|S{size}", size, is_text=True)
    if kind == _VARIABLE:
        return Datatype("object", 0, is_text=bits & 15 == 1, is_variable=True)
    if kind == _ENUM:
        return Datatype("bool" if size == 1 else f"int{8 * size}", size)
    return Datatype(f"|V{size}", size)


def read_dataspace(content: bytes) -> tuple[int, ...]:
    """Lengths of the axes; empty for one value.

    Raises:
        Damaged: It is cut off, or has more axes than there can be.
        UnknownForm: It is of another version.
    """
    if len(content) < 4:  # noqa: PLR2004 - version, rank, flags
        raise Damaged("a shape is cut off")
    version, rank = content[0], content[1]
    if version not in (1, 2):
        raise UnknownForm(f"dataspace {version}")
    begin = 8 if version == 1 else 4
    if rank > _MOST_AXES or len(content) < begin + 8 * rank:
        raise Damaged("a shape is cut off")
    return struct.unpack_from(f"<{rank}Q", content, begin)
