"""Every field of every struct at its bounds, and one beyond: made from the types themselves."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec
from msgspec import inspect

from tests.support.golden_frames import full_value

FAR_INTEGERS = (-(2**63), 2**63 - 1, 2**64 - 1)
FAR_FLOATS = (math.nan, math.inf, -math.inf, 1.7e308, -1.7e308)
_WIDEST = "\N{FACE WITH TEARS OF JOY}"
_TEXTS = ("", "a", "A" * 64, "a" * 65, "../x", "a b", "a\n", "0" * 64, "\0", "=1+1", "\x1b[2J")


@dataclass(frozen=True, slots=True)
class Extreme:
    """A message as plain data, with one field at an end of its range.

    Attributes:
        path: The field, "limits[0].value".
        plain: The message.
        is_within: True if its field allows the value.
    """

    path: str
    plain: Any
    is_within: bool

    @property
    def body(self) -> bytes:
        """As msgpack."""
        return msgspec.msgpack.encode(self.plain)


def extremes(kind: type[msgspec.Struct]) -> list[Extreme]:
    """All of a struct; the other fields hold what `golden_frames.full` gives them."""
    return [Extreme(*each) for each in _of(inspect.type_info(kind))]


def unbounded(kind: type[msgspec.Struct]) -> list[str]:
    """Fields of a struct that have no bound: any text, number, bytes or list would do.

    Floats alone may be any number, NaN and infinity too.
    """
    return list(dict.fromkeys(_unbounded(inspect.type_info(kind), "")))


def n_fields(kind: type[msgspec.Struct]) -> int:
    """Its fields, those of structs inside of it too."""
    return len({re.sub(r"\[0\]|\{\}", "", each.path) for each in extremes(kind)})


def _plain(kind: inspect.Type) -> Any:
    return msgspec.to_builtins(full_value(kind, count(1)), builtin_types=(bytes,))


def _of(kind: inspect.Type) -> Iterator[tuple[str, Any, bool]]:
    match kind:
        case inspect.StructType():
            yield from _of_struct(kind)
        case inspect.UnionType():
            for part in kind.types:
                # A value that one part refuses another may take: only what none can is beyond.
                yield from (each for each in _of(part) if each[2] or len(_others(kind)) == 1)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _of_list(kind)
        case inspect.DictType():
            yield from _of_dict(kind)
        case inspect.TupleType():
            yield from _of_tuple(kind)
        case _:
            for value, is_within in _of_plain(kind):
                yield "", value, is_within


def _of_struct(kind: inspect.StructType) -> Iterator[tuple[str, Any, bool]]:
    base = _plain(kind)
    for field in kind.fields:
        for path, value, is_within in _of(field.type):
            joined = f"{field.encode_name}{'.' if path[:1].isalpha() else ''}{path}"
            yield joined, {**base, field.encode_name: value}, is_within


def _of_tuple(kind: inspect.TupleType) -> Iterator[tuple[str, Any, bool]]:
    base = _plain(kind)
    for number, item in enumerate(kind.item_types):
        for path, value, is_within in _of(item):
            yield f"[{number}]{path}", [*base[:number], value, *base[number + 1 :]], is_within


def _others(kind: inspect.UnionType) -> list[inspect.Type]:
    return [part for part in kind.types if not isinstance(part, inspect.NoneType)]


def _of_list(kind: "inspect.ListType | inspect.VarTupleType") -> Iterator[tuple[str, Any, bool]]:
    item, least = _plain(kind.item_type), kind.min_length or 0
    yield "", [item] * least, True
    if least:
        yield "", [item] * (least - 1), False
    if kind.max_length is not None:
        yield "", [item] * kind.max_length, True
        yield "", [item] * (kind.max_length + 1), False
    for path, value, is_within in _of(kind.item_type):
        yield f"[0]{path}", [value], is_within


def _of_dict(kind: inspect.DictType) -> Iterator[tuple[str, Any, bool]]:
    value = _plain(kind.value_type)
    keys = _keys(kind.key_type, (kind.max_length or 0) + 1)
    yield "", {}, True
    if kind.max_length is not None:
        if len(keys) >= kind.max_length:
            yield "", dict.fromkeys(keys[: kind.max_length], value), True
        if len(keys) > kind.max_length:
            yield "", dict.fromkeys(keys, value), False
    for path, key, is_within in _of(kind.key_type):
        if isinstance(key, str):
            yield f"{{}}{path}", {key: value}, is_within
    for path, found, is_within in _of(kind.value_type):
        yield f"{{}}{path}", {keys[0]: found}, is_within


def _keys(kind: inspect.Type, n: int) -> list[Any]:
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    return [f"k{number}" for number in range(n)]


def _of_plain(kind: inspect.Type) -> Iterator[tuple[Any, bool]]:
    match kind:
        case inspect.NoneType():
            yield None, True
        case inspect.BoolType():
            yield from ((True, True), (False, True), ("no", False))
        case inspect.LiteralType():
            yield from ((value, True) for value in kind.values)
            yield from (("no such", False), (7, False))
        case inspect.IntType():
            yield from _of_number(kind, 1, [*FAR_INTEGERS, 0.5, "1"])
        case inspect.FloatType():
            is_any = all(bound is None for bound in (kind.ge, kind.gt, kind.le, kind.lt))
            yield from ((value, is_any) for value in FAR_FLOATS)
            yield from _of_number(kind, 0, ["1"])
        case _:
            yield from _of_bytes(kind) if isinstance(kind, inspect.BytesType) else _of_text(kind)


def _of_bytes(kind: inspect.BytesType) -> Iterator[tuple[Any, bool]]:
    if kind.max_length is not None:
        yield b"\xff" * kind.max_length, True
        yield b"\xff" * (kind.max_length + 1), False
    yield from ((b"", True), (1, False))


def _of_number(
    kind: "inspect.IntType | inspect.FloatType", step: int, wrong: list[Any]
) -> Iterator[tuple[Any, bool]]:
    def beside(value: float, direction: float) -> float:
        return (
            value + step * int(direction) if step else math.nextafter(value, direction * math.inf)
        )

    for low, is_within in ((kind.ge, True), (kind.gt, False)):
        if low is not None:
            yield low, is_within
            yield beside(low, 1), True
            yield beside(low, -1), False
    for high, is_within in ((kind.le, True), (kind.lt, False)):
        if high is not None:
            yield high, is_within
            yield beside(high, -1), True
            yield beside(high, 1), False
    yield from ((value, False) for value in wrong)


def _of_text(kind: inspect.Type) -> Iterator[tuple[Any, bool]]:
    if not isinstance(kind, inspect.StrType):
        raise TypeError(kind)
    most = kind.max_length
    texts = [*_TEXTS]
    if most is not None:
        texts += [_WIDEST * most, _WIDEST * (most + 1), "\n" * most]
    for text in texts:
        is_short = most is None or len(text) <= most
        yield text, is_short and (kind.pattern is None or bool(re.search(kind.pattern, text)))
    yield 1, False


def _unbounded(kind: inspect.Type, path: str) -> Iterator[str]:
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from _unbounded(field.type, f"{path}.{field.name}".lstrip("."))
        return
    if not _has_bounds(kind):
        yield path
    for part in _parts(kind):
        yield from _unbounded(part, path)


def _has_bounds(kind: inspect.Type) -> bool:
    match kind:
        case inspect.IntType():
            return None not in {kind.ge, kind.le}
        case inspect.StrType():
            return kind.max_length is not None or kind.pattern is not None
        case (
            inspect.BytesType() | inspect.ListType() | inspect.VarTupleType() | inspect.DictType()
        ):
            return kind.max_length is not None
        case _:
            # A float may be any number; what is not known here has none.
            return isinstance(kind, _CLOSED)


_CLOSED = (
    inspect.BoolType,
    inspect.FloatType,
    inspect.LiteralType,
    inspect.NoneType,
    inspect.TupleType,
    inspect.UnionType,
)


def _parts(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    match kind:
        case inspect.ListType() | inspect.VarTupleType():
            return (kind.item_type,)
        case inspect.DictType():
            return kind.key_type, kind.value_type
        case inspect.TupleType():
            return kind.item_types
        case inspect.UnionType():
            return kind.types
        case _:
            return ()
