"""Every message and event of the protocol once, as bytes that every later version must read.

`python -m tests.support.golden_frames` writes the frames of types that have none yet to
`tests/data/golden_frames/KM1/`; one that exists is never written again: agents and hubs that
sent it are out there.
"""

import itertools
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from kmonitor_agent.wire.messages.codec import (
    decode_event,
    encode_event,
    pack,
    unpack_from_agent,
    unpack_from_desktop,
    unpack_to_agent,
    unpack_to_desktop,
)
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.fields import MAGIC
from kmonitor_agent.wire.messages.unions import FromAgent, FromDesktop, ToAgent, ToDesktop

FOLDER = Path(__file__).parents[1] / "data" / "golden_frames" / MAGIC.decode()

Decode = Callable[[bytes], msgspec.Struct]

_SIDES: dict[str, tuple[Any, Decode]] = {
    "from_agent": (FromAgent, lambda body: unpack_from_agent((MAGIC, body))),
    "to_agent": (ToAgent, lambda body: unpack_to_agent((MAGIC, body))),
    "from_desktop": (FromDesktop, lambda body: unpack_from_desktop((MAGIC, body))),
    "to_desktop": (ToDesktop, lambda body: unpack_to_desktop((MAGIC, body))),
    "event": (AnyEvent, decode_event),
}

_PATTERNS = {
    r"^[0-9A-Za-z_-]{1,64}\Z": "an-Id_7",
    r"^[0-9a-f]{64}\Z": "0123456789abcdef" * 4,
    r"^[0-9A-Za-z_-]{0,64}\Z": "an-Id_7",
    r"^[\w.@][\w.@ -]{0,63}\Z": "anna's laptop".replace("'", ""),
}


def kinds() -> list[tuple[str, type[msgspec.Struct], Decode]]:
    """(side, type, decoder) of everything that is ever on the wire or in a spool."""
    return [
        (side, kind, decode)
        for side, (union, decode) in _SIDES.items()
        for kind in typing.get_args(union)
    ]


def path_of(side: str, kind: type[msgspec.Struct]) -> Path:
    """Path of the frame of a type."""
    return FOLDER / f"{side}-{kind.__struct_config__.tag}.msgpack"


def full(kind: type[msgspec.Struct]) -> msgspec.Struct:
    """A message with something in every field."""
    return _struct(kind, itertools.count(1))


def _struct(kind: type, numbers: "itertools.count[int]") -> Any:
    info = typing.cast("inspect.StructType", inspect.type_info(kind))
    return kind(**{field.name: full_value(field.type, numbers) for field in info.fields})


def full_value(kind: inspect.Type, numbers: "itertools.count[int]") -> Any:
    """A value of this type, with all fields set, from the next numbers."""
    match kind:
        case inspect.StructType():
            return _struct(kind.cls, numbers)
        case inspect.UnionType():
            parts = [part for part in kind.types if not isinstance(part, inspect.NoneType)]
            return full_value(parts[-1], numbers)
        case inspect.ListType() | inspect.VarTupleType():
            return [
                full_value(kind.item_type, numbers) for _ in range(max(1, kind.min_length or 0))
            ]
        case inspect.DictType():
            return {full_value(kind.key_type, numbers): full_value(kind.value_type, numbers)}
        case inspect.TupleType():
            return tuple(full_value(each, numbers) for each in kind.item_types)
        case _:
            return _plain(kind, next(numbers))


def _plain(kind: inspect.Type, number: int) -> Any:
    match kind:
        case inspect.LiteralType():
            return max(kind.values, key=str)
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return min(kind.le or 2**62, max(kind.ge or 0, 1000 + number))
        case inspect.FloatType():
            most = kind.le if kind.le is not None else 1e12
            return min(most, number + 0.25)
        case inspect.BytesType():
            return b"\x80\x00\xff" * number
        case inspect.StrType():
            known = _PATTERNS.get(kind.pattern or "")
            return known or f"text {number} \N{GREEK SMALL LETTER ALPHA}"
        case _:
            raise TypeError(kind)


def main() -> None:
    """Write what is missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for side, kind, _decode in kinds():
        path = path_of(side, kind)
        if not path.exists():
            message = full(kind)
            is_event = side == "event"
            path.write_bytes(encode_event(message) if is_event else pack(message)[1])  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
