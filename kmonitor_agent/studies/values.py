"""Values that folds return, as bytes: plain data and arrays; reading executes no code.

A file keeps a packed value sealed, behind a checksum that binds it to its study and fold.
"""

import hashlib
from typing import Any, Final, cast

import msgspec

_ARRAY: Final = 1
_TUPLE: Final = 2
_WHOLE: Final = 3
_DEEPEST: Final = 64
_SIGNED_64: Final = 1 << 63
_EXACT: Final = frozenset({type(None), bool, float, str, bytes})
_PLAIN_KINDS: Final = "biufcSUmM"
"""Kinds of numpy dtypes that contain their values directly."""


class NotPlainData(Exception):
    """A value that is not plain data.

    Attributes:
        kind: Name of its type.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class _Array(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


def pack_value(value: object) -> bytes:
    """Pack a value as bytes.

    Args:
        value: None, numbers, strings, bytes, lists, tuples, dicts, numpy numbers and arrays, and
            objects that can be converted to an array (tensors).

    Raises:
        NotPlainData: The value is, or contains, something else.
    """
    try:
        return msgspec.msgpack.encode(_to_plain(value, 0))
    except (OverflowError, ValueError) as exc:
        raise NotPlainData(f"value too large to keep ({exc})") from exc


def unpack_value(data: bytes) -> Any:
    """Unpack a value.

    Raises:
        ValueError: The bytes are not from `pack_value`.
    """
    try:
        return msgspec.msgpack.decode(data, ext_hook=_from_ext, strict=False)
    except (msgspec.MsgspecError, RecursionError, TypeError) as exc:
        raise ValueError(str(exc)) from exc


def _to_plain(value: object, depth: int) -> Any:
    if value is None or isinstance(value, bool | float | str | bytes):
        return value if type(value) in _EXACT else _base_of(value)
    if isinstance(value, int):
        return _whole(int(value))
    if depth > _DEEPEST:
        raise NotPlainData("value nested too deeply")
    if isinstance(value, dict):
        named = cast("dict[Any, Any]", value)
        return {_key(k, depth + 1): _to_plain(v, depth + 1) for k, v in named.items()}
    if isinstance(value, list):
        return [_to_plain(each, depth + 1) for each in cast("list[Any]", value)]
    if isinstance(value, tuple):
        inner = [_to_plain(each, depth + 1) for each in cast("tuple[Any, ...]", value)]
        return msgspec.msgpack.Ext(_TUPLE, msgspec.msgpack.encode(inner))
    return _array_to_plain(value)


def _key(value: object, depth: int) -> Any:
    key = _to_plain(value, depth)
    if isinstance(key, msgspec.msgpack.Ext):
        raise NotPlainData(f"dict with a key of type {type(value).__name__}")
    return key


def _base_of(value: object) -> Any:
    """Plain value of a subclass: a float for numpy's float64, a string for a string enum."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes):
        return bytes(value)
    return str.__str__(value) if isinstance(value, str) else value


def _whole(value: int) -> Any:
    if -_SIGNED_64 <= value < 2 * _SIGNED_64:
        return value
    return msgspec.msgpack.Ext(_WHOLE, str(value).encode())


def _array_to_plain(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "__array__"):
        raise NotPlainData(type(value).__name__)
    import numpy as np  # noqa: PLC0415 - whoever has an array has it loaded

    if isinstance(value, np.ma.MaskedArray):
        raise NotPlainData("MaskedArray")  # its mask would be lost
    try:
        array = np.asarray(value)
    except Exception as exc:
        raise NotPlainData(f"{type(value).__name__} that cannot be read ({exc})") from exc
    if array.dtype.kind not in _PLAIN_KINDS:
        raise NotPlainData(f"{type(value).__name__} of {array.dtype}")
    if isinstance(value, np.generic):
        plain = cast("Any", value).item()
        if isinstance(plain, bool | int | float | str | bytes):
            return plain
    packed = _Array(array.dtype.str, array.shape, array.tobytes())
    return msgspec.msgpack.Ext(_ARRAY, msgspec.msgpack.encode(packed))


def _from_ext(code: int, data: memoryview) -> Any:
    if code == _TUPLE:
        return tuple(msgspec.msgpack.decode(data, ext_hook=_from_ext))
    if code == _WHOLE:
        return int(bytes(data))
    if code == _ARRAY:
        import numpy as np  # noqa: PLC0415 - only where an array was kept

        packed = msgspec.msgpack.decode(data, type=_Array)
        dtype = np.dtype(packed.dtype)
        if dtype.kind not in _PLAIN_KINDS:
            raise ValueError(f"an array of {packed.dtype}")
        return np.frombuffer(packed.data, dtype).reshape(packed.shape).copy()
    raise ValueError(f"unknown kind {code}")


_MAGIC: Final = b"kmv1"
_DIGEST_BYTES: Final = 32
_HEAD_BYTES: Final = len(_MAGIC) + _DIGEST_BYTES


def seal_value(body: bytes, study: str, index: int) -> bytes:
    """Prefix a packed value with its checksum.

    Args:
        study: The study's id.
        index: Number of the fold.
    """
    return _MAGIC + _digest(body, study, index) + body


def unseal_value(data: bytes, study: str, index: int) -> bytes:
    """Check and remove the checksum of a packed value.

    Args:
        data: Result of `seal_value`.
        study: The study's id.
        index: Number of the fold.

    Raises:
        ValueError: The data are damaged, or from another fold or study.
    """
    body = data[_HEAD_BYTES:]
    if data[:_HEAD_BYTES] != _MAGIC + _digest(body, study, index):
        raise ValueError("it is damaged or belongs to another fold")
    return body


def _digest(body: bytes, study: str, index: int) -> bytes:
    return hashlib.sha256(f"{study} {index}\n".encode() + body).digest()
