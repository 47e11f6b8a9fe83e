"""Field types of all messages: the protocol's version, bounds, and values cut to their bounds.

A received value that is out of bounds is refused. One that we send must not be: Keras takes
`epochs=sys.maxsize`, clocks are wrong, sums grow, and a hub that refuses such an event would lose
all that it says. So the sender cuts each value to the nearest one that its field allows
(`clamp_fields`); the bounds are read from the types and written nowhere else.
"""

import functools
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import inspect

MAGIC: Final = b"KM1"
"""First frame of every message; the digit is the major version."""

MINOR_VERSIONS: Final = (1, 1)
"""Oldest and newest minor version that this program speaks, both included."""

MAX_EVENT_BYTES: Final = 64 * 1024
"""Largest encoded event."""

MAX_BATCH_EVENTS: Final = 1024
"""Most events in one `batch`."""

MAX_BATCH_BYTES: Final = 512 * 1024
"""Most encoded event bytes in one `batch`, and in one `rows` page."""

MAX_WINDOW_EVENTS: Final = 4096
"""Most events that an agent sends ahead of the hub's acknowledgement."""

MAX_PAGE_ROWS: Final = 1000
"""Most rows in one page that a desktop pulls."""

MAX_HUB_FRAME_BYTES: Final = 1024 * 1024
"""MAXMSGSIZE of the hub's sockets."""

MAX_AGENT_FRAME_BYTES: Final = 64 * 1024
"""MAXMSGSIZE of the agent's socket."""

MAX_TEXT: Final = 4096
"""Longest text field, characters."""

MAX_NAME: Final = 200
"""Longest name that a person gave, characters."""

MAX_COUNT: Final = 2**53
"""Largest count, size in bytes or sequence number: the whole numbers that a double has exactly.

The sum of a batch's `first` and the number of its events stays within it too, so that no number
that is stored ever leaves the 63 bits of a database.
"""

MAX_WALL_S: Final = 7_258_118_400.0
"""Latest moment, UTC epoch seconds: the year 2200. Calendars of a language end at 9999."""

MAX_DURATION_S: Final = 1e9
"""Longest stretch of time, seconds: 31 years."""

MAX_AMOUNT: Final = 1e18
"""Largest measured quantity."""

MAX_LOGS: Final = 4096
"""Most of Keras' logs of one epoch; more do not fit into an event with names of a few letters."""

MAX_DELETED: Final = 100_000
"""Most ids of deleted runs in one answer."""

MAX_COLUMN_BYTES: Final = 1024 * 1024
"""Largest column of a series; 4000 buckets of two points and a gap each take an eighth of it."""

MAX_ANSWER_ROWS_BYTES: Final = 2 * 1024 * 1024
"""Most that summaries of runs, or rows of the audit, take in one answer; then there is another."""

MAX_EPOCH_BYTES: Final = 4 * 1024 * 1024
"""Largest column of epochs in an answer: the newest half a million."""

MAX_RANK: Final = 254
"""Most axes of a tensor in a model's layout; TensorFlow's own bound."""

MAX_LAYOUT_ITEMS: Final = 100_000
"""Most variables, layers, tensors or calls of a model's layout."""

_ID: Final = r"^[0-9A-Za-z_-]{1,64}\Z"

Id = Annotated[str, msgspec.Meta(pattern=_ID)]

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
"""A name that a person gave: any Unicode, at most 200 characters."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
"""A count, a sequence number or a size in bytes."""

Change = Annotated[int, msgspec.Meta(ge=-MAX_COUNT, le=MAX_COUNT)]
"""Growth of a count; negative when it fell."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_DURATION_S)]
"""A duration in seconds; NaN and infinity are refused."""

Wall = Annotated[float, msgspec.Meta(ge=0, le=MAX_WALL_S)]
"""A moment in UTC epoch seconds, 1970 to 2200."""

Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_AMOUNT)]
"""A measured quantity that is never negative, in the unit its field names."""

Number = float
"""Any number, including NaN and infinity, as in a loss or a slope."""


def is_id(text: str) -> bool:
    """True for a valid `Id`; the name of a run's folder is one."""
    return re.match(_ID, text) is not None


def new_id() -> str:
    """A fresh random id: 32 lower-case hexadecimal characters (uuid4)."""
    return uuid.uuid4().hex


T = TypeVar("T", bound=msgspec.Struct)
_AS_THEY_ARE: Final = (bytes,)


def clamp_count(n: int) -> int:
    """The nearest `Count`."""
    return min(max(n, 0), MAX_COUNT)


def clamp_seconds(seconds: float) -> float:
    """The nearest `Seconds`; 0 for NaN."""
    return min(max(0.0, seconds), MAX_DURATION_S)


def clamp_wall(wall_s: float) -> float:
    """The nearest `Wall`; 0 for NaN."""
    return min(max(0.0, wall_s), MAX_WALL_S)


def clamp_fields(value: T) -> T:
    """A copy with every number, text and list cut to the bounds of its field.

    Raises:
        msgspec.ValidationError: It has another type than its field, or is no id.
    """
    kind = type(value)
    return read_clamped(kind, msgspec.to_builtins(value, builtin_types=_AS_THEY_ARE))


def read_clamped(kind: type[T], plain: object) -> T:
    """A struct from plain data, cut in the same way. Raises: as `clamp_fields`."""
    fitted = _fitted(plain, _info(kind))
    return msgspec.convert(fitted, kind, builtin_types=_AS_THEY_ARE)


@functools.cache
def _info(kind: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(kind)


def _fitted(value: Any, kind: inspect.Type) -> Any:
    match value:
        case bool() | bytes() | None:
            return value
        case int() | float():
            return _clamped(value, _member(kind, value))
        case str():
            member = _member(kind, value)
            return value[: member.max_length] if isinstance(member, inspect.StrType) else value
        case _:
            return _fitted_many(value, _member(kind, value))


def _fitted_many(value: Any, kind: inspect.Type | None) -> Any:
    is_row = issubclass(type(value), list | tuple)
    is_map = issubclass(type(value), dict)
    match kind:
        case inspect.ListType() | inspect.VarTupleType() if is_row:
            return _fitted_items(value, kind)
        case inspect.TupleType() if is_row:
            return [_fitted(v, k) for v, k in zip(value, kind.item_types, strict=False)]
        case inspect.DictType() if is_map:
            return _fitted_dict(value, kind)
        case inspect.StructType() if is_map:
            return _fitted_fields(value, kind)
        case _:
            return value


def _fitted_items(
    values: Sequence[Any], kind: "inspect.ListType | inspect.VarTupleType"
) -> list[Any]:
    return [_fitted(value, kind.item_type) for value in values[: kind.max_length]]


def _fitted_dict(values: Mapping[Any, Any], kind: inspect.DictType) -> dict[Any, Any]:
    items = list(values.items())[: kind.max_length]
    return {_fitted(k, kind.key_type): _fitted(v, kind.value_type) for k, v in items}


def _fitted_fields(values: Mapping[str, Any], kind: inspect.StructType) -> dict[str, Any]:
    kinds = {field.encode_name: field.type for field in kind.fields}
    return {
        name: _fitted(value, kinds[name]) if name in kinds else value
        for name, value in values.items()
    }


_PARTS: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    (int, (inspect.IntType, inspect.FloatType)),
    (float, (inspect.FloatType,)),
    (str, (inspect.StrType,)),
    ((list, tuple), (inspect.ListType, inspect.VarTupleType, inspect.TupleType)),
)
"""Parts of a union that a plain value can be of, the likelier first."""


def _member(kind: inspect.Type, value: Any) -> inspect.Type | None:
    """The part of a union that a value is of; a type that is none is its own."""
    if not isinstance(kind, inspect.UnionType):
        return kind
    if isinstance(value, dict):
        structs = [part for part in kind.types if isinstance(part, inspect.StructType)]
        named = [part for part in structs if value.get(part.tag_field) == part.tag]  # pyright: ignore[reportUnknownMemberType]
        return next(iter(named or structs), None)
    wanted = next((parts for types, parts in _PARTS if isinstance(value, types)), ())
    members = (part for each in wanted for part in kind.types if isinstance(part, each))
    return next(members, None)


def _clamped(value: float, kind: inspect.Type | None) -> float:
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return value
    low = kind.ge
    high = kind.le
    if low is None and kind.gt is not None:
        low = math.nextafter(kind.gt, math.inf)
    if high is None and kind.lt is not None:
        high = math.nextafter(kind.lt, -math.inf)
    if low is not None and not value >= low:  # NaN, too
        return low
    return value if high is None or value <= high else high
