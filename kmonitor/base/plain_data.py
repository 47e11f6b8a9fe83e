"""Wire structs as plain data, and plain data as JSON."""

from collections.abc import Iterable
from typing import Any

import msgspec


def json_text(value: object) -> str:
    """A value as JSON; NaN and infinity, which JSON lacks, become null."""
    return msgspec.json.encode(value).decode()


def fields_of(value: object) -> Any:
    """A wire struct as plain data with every field, including those with their default value."""
    match value:
        case msgspec.Struct():
            names = value.__struct_fields__
            return {name: fields_of(getattr(value, name)) for name in names}
        case dict():
            return {str(key): fields_of(item) for key, item in _items(value)}
        case list() | tuple():
            return [fields_of(item) for item in _sequence(value)]
        case _:
            return value


def _items(value: Any) -> Iterable[tuple[object, object]]:
    return value.items()


def _sequence(value: Any) -> Iterable[object]:
    return value
