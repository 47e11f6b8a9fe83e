"""Brings values within the bounds of their fields, for whoever makes a message himself.

What enters is refused when it is out of bounds. What we send must not be: Keras takes
`epochs=sys.maxsize`, clocks are wrong, sums grow, and a hub that refuses such an event would lose
all that it says. So a maker lets each value be cut to the nearest one that its field allows; the
bounds are read from the types, and stand nowhere else.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from kmonitor_agent.wire.messages.version import MAX_COUNT, MAX_DURATION_S, MAX_WALL_S

T = TypeVar("T", bound=msgspec.Struct)

_AS_THEY_ARE: Final = (bytes,)


def count_within(n: int) -> int:
    """The nearest `Count`."""
    return min(max(n, 0), MAX_COUNT)


def seconds_within(seconds: float) -> float:
    """The nearest `Seconds`; 0 for NaN."""
    return min(max(0.0, seconds), MAX_DURATION_S)


def wall_within(wall_s: float) -> float:
    """The nearest `Wall`; 0 for NaN."""
    return min(max(0.0, wall_s), MAX_WALL_S)


def within(value: T) -> T:
    """The same, with every number, text and list cut to what its field allows.

    Raises:
        msgspec.ValidationError: It has another type than its field, or is no id.
    """
    kind = type(value)
    return read_within(kind, msgspec.to_builtins(value, builtin_types=_AS_THEY_ARE))


def read_within(kind: type[T], plain: object) -> T:
    """A struct of plain data, cut likewise. Raises: as `within`."""
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
    is_row, is_map = isinstance(value, list | tuple), isinstance(value, dict)
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
    kept = list(values.items())[: kind.max_length]
    return {_fitted(k, kind.key_type): _fitted(v, kind.value_type) for k, v in kept}


def _fitted_fields(values: Mapping[str, Any], kind: inspect.StructType) -> dict[str, Any]:
    kinds = {field.encode_name: field.type for field in kind.fields}
    return {
        name: _fitted(value, kinds[name]) if name in kinds else value
        for name, value in values.items()
    }


def _member(kind: inspect.Type, value: Any) -> inspect.Type | None:
    """The part of a union that a value is of; a type that is none is its own."""
    if not isinstance(kind, inspect.UnionType):
        return kind
    if isinstance(value, dict):
        structs = [part for part in kind.types if isinstance(part, inspect.StructType)]
        named = [part for part in structs if value.get(part.tag_field) == part.tag]  # pyright: ignore[reportUnknownMemberType]
        return next(iter(named or structs), None)
    wanted = next((parts for types, parts in _PARTS if isinstance(value, types)), ())
    found = (part for each in wanted for part in kind.types if isinstance(part, each))
    return next(found, None)


_PARTS: Final[tuple[tuple[Any, tuple[Any, ...]], ...]] = (
    (int, (inspect.IntType, inspect.FloatType)),
    (float, (inspect.FloatType,)),
    (str, (inspect.StrType,)),
    ((list, tuple), (inspect.ListType, inspect.VarTupleType, inspect.TupleType)),
)
"""Which parts of a union a plain value can be of, the likelier first."""


def _clamped(value: float, kind: inspect.Type | None) -> float:
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return value
    low, high = kind.ge, kind.le
    if low is None and kind.gt is not None:
        low = math.nextafter(kind.gt, math.inf)
    if high is None and kind.lt is not None:
        high = math.nextafter(kind.lt, -math.inf)
    if low is not None and not value >= low:  # NaN, too
        return low
    return value if high is None or value <= high else high
