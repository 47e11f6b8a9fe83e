"""Values that a script may hand to Keras where a number, a name or a dict is expected."""

# pyright: reportImplicitOverride=false, reportAssignmentType=false, reportIncompatibleMethodOverride=false
import array
import datetime as dt
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np


class Raises:
    """Whatever is done with it raises."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object.__getattribute__(self, name)
        raise KeyError(name)

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("for a test")

    __float__ = __int__ = __index__ = __len__ = __bool__ = __iter__ = __eq__ = __lt__ = _raise
    __str__ = __repr__ = __hash__ = __format__ = __getitem__ = __contains__ = _raise


class HasNoClass:
    """Even what it is raises."""

    @property
    def __class__(self) -> Any:
        raise OSError("for a test")


class OddText(str):
    """A text that is none of the methods that a text has."""

    __slots__ = ()

    def _raise(self, *_: Any) -> Any:
        raise RuntimeError("for a test")

    __str__ = __getitem__ = __len__ = __hash__ = encode = startswith = _raise


class OddFloat(float):
    def __float__(self) -> float:
        raise ValueError("for a test")


class OddInt(int):
    def __le__(self, other: object) -> bool:
        raise RuntimeError("for a test")

    __ge__ = __int__ = __index__ = __float__ = __le__


class StopsHalfway(dict[Any, Any]):
    """Gives its first item and then raises."""

    def items(self) -> Any:
        return self._items()

    def _items(self) -> Iterator[tuple[Any, Any]]:
        yield next(iter(super().items()))
        raise RuntimeError("for a test")

    def get(self, *_: Any) -> Any:
        raise RuntimeError("for a test")

    setdefault = __bool__ = get


class Endless(dict[Any, Any]):
    """Gives items for ever."""

    def items(self) -> Any:
        yield "loss", 1.0
        while True:
            yield "other", None


NUMBERS: dict[str, tuple[Any, float]] = {
    "odd float": (OddFloat(1.0), 1.0),
    "zero": (0, 0.0),
    "true": (True, 1.0),
    "minus": (-2.5, -2.5),
    "infinite": (math.inf, math.inf),
    "nan": (math.nan, math.nan),
    "text": ("1.5", 1.5),
    "decimal": (Decimal("0.25"), 0.25),
    "fraction": (Fraction(1, 4), 0.25),
    **{
        name: (getattr(np, name)(1), 1.0)
        for name in (
            *("bool_", "int8", "uint8", "int64", "uint64"),
            *("float16", "float32", "float64", "longdouble"),
        )
    },
    "no axes": (np.array(3.0), 3.0),
    "one element": (np.array([[4.0]]), 4.0),
}
"""Odd values that are numbers all the same, with the number."""

NO_NUMBERS: dict[str, Any] = {
    "huge": 10**400,
    "minus huge": -(10**400),
    "huge fraction": Fraction(10**400, 3),
    "none": None,
    "words": "not a number",
    "lone surrogate": "\ud800",
    "bytes": b"\xff\x00",
    "10 MB": "9" * 10_000_000,
    "complex": 1 + 2j,
    "numpy complex": np.complex128(1 + 2j),
    "no elements": np.array([]),
    "elements": np.arange(5.0),
    "objects": np.array([None, 1], dtype=object),
    "numpy text": np.str_("x"),
    "numpy date": np.datetime64("2020-01-01"),
    "signalling nan": Decimal("sNaN"),
    "list": [1.0],
    "dict": {"a": 1.0},
    "array": array.array("d", [1.0]),
    "date": dt.date(2020, 1, 1),
    "type": int,
    "object": object(),
    "raises": Raises(),
    "has no class": HasNoClass(),
    "odd text": OddText("1"),
}
"""Values that cannot be sent as a number."""

ODD: dict[str, Any] = {
    **NO_NUMBERS,
    **{name: value for name, (value, _) in NUMBERS.items()},
    "odd int": OddInt(3),
    "endless": itertools.count(),
    "stops halfway": StopsHalfway(loss=1.0, other=2.0),
}
"""All of them, for where anything else is expected."""
