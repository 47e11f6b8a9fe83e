"""Names, shapes and texts of an HDF5 file, parsed without a library, in bounded work and memory.

The forms that h5py writes by itself are known, which are all that Keras saves; others raise
`UnknownForm`. Nothing is trusted: each address must lie in the file, each list has a bound.

Source: HDF5 File Format Specification 3.0, https://docs.hdfgroup.org/hdf5/v1_14/_f_m_t3.html
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

SIGNATURE: Final = b"\x89HDF\r\n\x1a\n"


class DamagedHdf5(Exception):
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
class Array:
    """One array.

    Attributes:
        shape: Lengths of its axes.
        dtype: As numpy calls it.
        stored_bytes: What it takes in the file.
    """

    shape: tuple[int, ...]
    dtype: str
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Hdf5Object:
    """A group or an array of the file.

    Attributes:
        path: Names from the root, with "/" between; empty for the root.
        array: None for a group.
        texts: Attributes that are one text each.
    """

    path: str
    array: Array | None
    texts: dict[str, str]


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


def read_structure(file: IO[bytes], begin: int, size: int) -> Iterator[Hdf5Object]:
    """Every group and array, those of a group in the order of their names.

    Args:
        file: Open for reading; it is read at places of its own.
        begin: Where the HDF5 file begins in it.
        size: Its length, bytes.

    Raises:
        DamagedHdf5: It is no whole HDF5 file.
        UnknownForm: It is of a form that is not known here.
    """
    return _File(file, begin, size).objects()


LONGEST_TEXT: Final = 64 * 1024**2
"""More than any model's configuration, bytes."""

_UNDEFINED: Final = 2**64 - 1
_MOST_THINGS: Final = 200_000
_MOST_READ: Final = 512 * 1024**2
_LONGEST_BLOCK: Final = 64 * 1024**2
_DEEPEST: Final = 64
_DATASPACE, _LINK_INFO, _DATATYPE, _LINK, _LAYOUT = 0x01, 0x02, 0x03, 0x06, 0x08
_ATTRIBUTE, _CONTINUATION, _SYMBOLS, _ATTRIBUTE_INFO = 0x0C, 0x10, 0x11, 0x15
_SHARED: Final = 0x02
_CONTIGUOUS: Final = 1
_SYMBOL_BYTES: Final = 40
_OLD_HEAD: Final = 8
"""Bytes before each part of an object, in old files and in h5py's."""


class _File:
    """Reads pieces within bounds."""

    def __init__(self, file: IO[bytes], begin: int, size: int) -> None:
        self._file = file
        self._begin = begin
        self._size = size
        self._left = _MOST_READ
        self._seen: set[int] = set()

    def objects(self) -> Iterator[Hdf5Object]:
        yield from self._walk(self._root(), "", 0)

    def at(self, offset: int, n_bytes: int) -> bytes:
        """Bytes of the file; exactly as many as asked for."""
        if n_bytes < 0 or n_bytes > _LONGEST_BLOCK or offset < 0 or offset + n_bytes > self._size:
            raise DamagedHdf5("it points beyond its end")
        self._left -= n_bytes
        if self._left < 0:
            raise DamagedHdf5("its parts are larger than any model's")
        self._file.seek(self._begin + offset)
        found = self._file.read(n_bytes)
        if len(found) != n_bytes:
            raise DamagedHdf5("it is cut off")
        return found

    def _root(self) -> int:
        if self.at(0, min(8, self._size)) != SIGNATURE:
            raise DamagedHdf5("it is no HDF5 file")
        version = self.at(8, 1)[0]
        if version == 0:
            sizes, begin = self.at(13, 2), 24
            base, _, end = struct.unpack("<3Q", self.at(begin, 24))
            root = struct.unpack("<Q", self.at(begin + 40, 8))[0]
        elif version in (2, 3):
            sizes = self.at(9, 2)
            base, _, end, root = struct.unpack("<4Q", self.at(12, 32))
        else:
            raise UnknownForm(f"superblock {version}")
        if sizes != b"\x08\x08" or base != 0:
            raise UnknownForm("addresses")
        if end > self._size:
            raise DamagedHdf5("it is cut off")
        return root

    def _walk(self, address: int, path: str, depth: int) -> Iterator[Hdf5Object]:
        if depth > _DEEPEST:
            raise DamagedHdf5("its groups are nested without end")
        if address in self._seen:
            return  # another name of the same thing
        self._seen.add(address)
        if len(self._seen) > _MOST_THINGS:
            raise DamagedHdf5("it holds more than any model")
        messages = list(self._messages(address))
        yield Hdf5Object(path, self._array(messages), self._texts(messages))
        for name, child in sorted(self._links(messages)):
            yield from self._walk(child, f"{path}/{name}" if path else name, depth + 1)

    def _messages(self, address: int) -> Iterator[tuple[int, bytes]]:
        """Type and content of each message of an object."""
        if self.at(address, 4) == b"OHDR":
            blocks, head = self._second_header(address)
        else:
            version, _, _, _, n_bytes = struct.unpack("<BBHII", self.at(address, 12))
            if version != 1:
                raise DamagedHdf5("an object has no header")
            blocks, head = [(address + 16, n_bytes)], _OLD_HEAD
        seen = 0
        while blocks:
            offset, n_bytes = blocks.pop(0)
            for kind, flags, content in _split(self.at(offset, n_bytes), head):
                seen += 1
                if seen > _MOST_THINGS:
                    raise DamagedHdf5("an object has more parts than any model's")
                if kind == _CONTINUATION:
                    blocks.append(self._continued(content, head))
                elif flags & _SHARED and kind in (_DATATYPE, _ATTRIBUTE, _DATASPACE):
                    raise UnknownForm("shared message")
                else:
                    yield kind, content

    def _second_header(self, address: int) -> tuple[list[tuple[int, int]], int]:
        flags = self.at(address + 5, 1)[0]
        offset = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        n_bytes = int.from_bytes(self.at(offset, width), "little")
        return [(offset + width, n_bytes)], 6 if flags & 4 else 4

    def _continued(self, content: bytes, head: int) -> tuple[int, int]:
        offset, n_bytes = _unpacked("<QQ", content, 0)
        if head == _OLD_HEAD:
            return offset, n_bytes
        if self.at(offset, 4) != b"OCHK":
            raise DamagedHdf5("an object's header ends nowhere")
        return offset + 4, n_bytes - 8

    def _links(self, messages: list[tuple[int, bytes]]) -> Iterator[tuple[str, int]]:
        for kind, content in messages:
            if kind == _SYMBOLS:
                tree, heap = _unpacked("<QQ", content, 0)
                yield from self._symbols(tree, self._heap(heap), 0)
            elif kind == _LINK:
                yield from _link(content)
            elif kind == _LINK_INFO:
                offset = 10 if content[1:2] and content[1] & 1 else 2
                if _unpacked("<Q", content, offset)[0] != _UNDEFINED:
                    raise UnknownForm("dense links")

    def _heap(self, address: int) -> bytes:
        head = self.at(address, 32)
        if head[:4] != b"HEAP":
            raise DamagedHdf5("a group has no names")
        n_bytes, _, offset = struct.unpack("<QQQ", head[8:])
        return self.at(offset, n_bytes)

    def _symbols(self, address: int, names: bytes, depth: int) -> Iterator[tuple[str, int]]:
        if depth > _DEEPEST or address in self._seen:
            raise DamagedHdf5("a group's names go round in circles")
        self._seen.add(address)
        if self.at(address, 4) == b"SNOD":
            count = struct.unpack("<H", self.at(address + 6, 2))[0]
            entries = self.at(address + 8, count * _SYMBOL_BYTES)
            for n in range(count):
                offset, child = struct.unpack_from("<QQ", entries, n * _SYMBOL_BYTES)
                yield _name_at(names, offset), child
            return
        kind, _, count = struct.unpack("<BBH", self.at(address + 4, 4))
        if self.at(address, 4) != b"TREE" or kind != 0:
            raise DamagedHdf5("a group has no members")
        keys = self.at(address + 24, count * 16)
        for n in range(count):
            child = struct.unpack_from("<Q", keys, 16 * n + 8)[0]
            yield from self._symbols(child, names, depth + 1)

    def _array(self, messages: list[tuple[int, bytes]]) -> Array | None:
        by_kind = dict(messages)
        if _LAYOUT not in by_kind or _DATATYPE not in by_kind or _DATASPACE not in by_kind:
            return None
        dtype = read_datatype(by_kind[_DATATYPE])
        shape = read_dataspace(by_kind[_DATASPACE])
        return Array(shape, dtype.name, _stored_bytes(by_kind[_LAYOUT], shape, dtype))

    def _texts(self, messages: list[tuple[int, bytes]]) -> dict[str, str]:
        found: dict[str, str] = {}
        for kind, content in messages:
            if kind == _ATTRIBUTE_INFO:
                offset = 4 if content[1:2] and content[1] & 1 else 2
                if _unpacked("<Q", content, offset)[0] != _UNDEFINED:
                    raise UnknownForm("dense attributes")
            elif kind == _ATTRIBUTE:
                name, dtype, shape, data = _attribute(content)
                if shape == () and dtype.is_text:
                    found[name] = self._text(dtype, data)
        return found

    def _text(self, dtype: Datatype, data: bytes) -> str:
        if dtype.is_variable:
            length, heap_offset, index = _unpacked("<IQI", data, 0)
            data = self._from_heap(heap_offset, index, length) if length else b""
        return data[: dtype.size or None].partition(b"\0")[0].decode(errors="replace")

    def _from_heap(self, address: int, index: int, length: int) -> bytes:
        head = self.at(address, 16)
        if head[:4] != b"GCOL" or length > LONGEST_TEXT:
            raise DamagedHdf5("a text is nowhere")
        end = address + struct.unpack("<Q", head[8:])[0]
        offset = address + 16
        while offset + 16 <= end:
            number, _, n_bytes = struct.unpack("<HH4xQ", self.at(offset, 16))
            if number == index:
                return self.at(offset + 16, min(length, n_bytes))
            if number == 0:
                break
            offset += 16 + -(-n_bytes // 8) * 8
        raise DamagedHdf5("a text is nowhere")


def _split(block: bytes, head: int) -> Iterator[tuple[int, int, bytes]]:
    """Type, flags and content of each message in a block, behind heads of `head` bytes."""
    offset = 0
    while offset + head <= len(block):
        if head == _OLD_HEAD:
            kind, n_bytes, flags = struct.unpack_from("<HHB", block, offset)
        else:
            kind, n_bytes, flags = struct.unpack_from("<BHB", block, offset)
        offset += head
        if offset + n_bytes > len(block):
            raise DamagedHdf5("an object's part is longer than the object")
        yield kind, flags, block[offset : offset + n_bytes]
        offset += n_bytes


def _link(content: bytes) -> Iterator[tuple[str, int]]:
    _, flags = _unpacked("<BB", content, 0)
    offset = 2
    if flags & 8:
        if content[offset : offset + 1] != b"\0":
            return  # to another place by its name
        offset += 1
    offset += (8 if flags & 4 else 0) + (1 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    length = int.from_bytes(content[offset : offset + width], "little")
    offset += width
    name = content[offset : offset + length].decode(errors="replace")
    yield name, _unpacked("<Q", content, offset + length)[0]


def _attribute(content: bytes) -> tuple[str, Datatype, tuple[int, ...] | None, bytes]:
    version, flags, n_name, n_type, n_space = _unpacked("<BBHHH", content, 0)
    if version not in (1, 2, 3) or (version > 1 and flags):
        raise UnknownForm(f"attribute {version}")
    offset = 9 if version == 3 else 8  # noqa: PLR2004 - has a character set
    fields: list[bytes] = []
    for length in (n_name, n_type, n_space):
        fields.append(content[offset : offset + length])
        offset += -(-length // 8) * 8 if version == 1 else length
    name = fields[0].partition(b"\0")[0].decode(errors="replace")
    is_null = len(fields[2]) > 3 and fields[2][0] == 2 and fields[2][3] == 2  # noqa: PLR2004
    shape = None if is_null else read_dataspace(fields[2])
    return name, read_datatype(fields[1]), shape, content[offset:]


def _stored_bytes(layout: bytes, shape: tuple[int, ...], dtype: Datatype) -> int:
    version, kind = _unpacked("<BB", layout, 0)
    if version not in (3, 4):
        raise UnknownForm(f"layout {version}")
    if kind == 0:
        return int(_unpacked("<H", layout, 2)[0])
    if kind == _CONTIGUOUS:
        offset, n_bytes = _unpacked("<QQ", layout, 2)
        return 0 if offset == _UNDEFINED else int(n_bytes)
    raise UnknownForm(f"arrays in chunks, {shape} of {dtype.name}")


def _name_at(names: bytes, offset: int) -> str:
    if offset >= len(names):
        raise DamagedHdf5("a name is nowhere")
    end = names.find(b"\0", offset)
    return names[offset : end if end >= 0 else None].decode(errors="replace")


def _unpacked(form: str, content: bytes, offset: int) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, content, offset)
    except struct.error as exc:
        raise DamagedHdf5("a part of it is too short") from exc


_MOST_AXES: Final = 32
_INTEGER, _FLOAT, _STRING, _ENUM, _VARIABLE = 0, 1, 3, 8, 9


def read_datatype(content: bytes) -> Datatype:
    """A datatype message.

    Raises:
        DamagedHdf5: It is too short.
    """
    if len(content) < 8:  # noqa: PLR2004 - class, bits and size
        raise DamagedHdf5("a type is cut off")
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
        DamagedHdf5: It is cut off, or has more axes than there can be.
        UnknownForm: It is of another version.
    """
    if len(content) < 4:  # noqa: PLR2004 - version, rank, flags
        raise DamagedHdf5("a shape is cut off")
    version, rank = content[0], content[1]
    if version not in (1, 2):
        raise UnknownForm(f"dataspace {version}")
    begin = 8 if version == 1 else 4
    if rank > _MOST_AXES or len(content) < begin + 8 * rank:
        raise DamagedHdf5("a shape is cut off")
    return struct.unpack_from(f"<{rank}Q", content, begin)
