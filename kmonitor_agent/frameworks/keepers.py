# pyright: basic
"""Where a script keeps many objects of one kind: the container that refers to most of them."""

import gc
from collections import deque
from typing import Any, Final

_CONTAINERS: Final = (list, dict, set, deque)
_PART: Final = 0.5


def keeper_of(objects: tuple[Any, ...]) -> str:
    """Name of the variable or attribute whose container refers to at least half of them.

    Empty where there is none, or nothing names it. Tens of milliseconds in a large process.

    Args:
        objects: At least two. Whoever asks keeps them in tuples only: of those none is looked at.
    """
    wanted = set(map(id, objects))
    referrers: list[Any] = gc.get_referrers(*objects)
    kept = [
        (len(wanted.intersection(map(id, _values(each)))), each)
        for each in referrers
        if isinstance(each, _CONTAINERS)
    ]
    n, keeper = max(kept, key=lambda each: each[0], default=(0, None))
    return _name_of(keeper) if n >= max(2.0, _PART * len(objects)) else ""


def _values(container: Any) -> list[Any]:
    return list(container.values() if isinstance(container, dict) else container)


def _name_of(keeper: Any) -> str:
    for each in gc.get_referrers(keeper):
        # An object whose attributes nobody asked for as a dict refers to them itself.
        names = each if isinstance(each, dict) else getattr(each, "__dict__", None)
        for name, value in list(names.items()) if isinstance(names, dict) else ():
            if value is keeper and isinstance(name, str):
                return name
    return ""
