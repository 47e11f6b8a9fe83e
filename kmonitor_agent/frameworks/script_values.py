"""Values that a script gives to Keras and Keras to us; one that cannot be read costs only itself.

A callback may put anything into the logs, a model's attribute may be a property that raises, and a
class of the script's own decides what `float`, `len`, `==` and `str` do. So each value is read by
itself, into one of Python's own types, and whatever it raises means that there is none.
"""

import itertools
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

_MOST_LOOKED_AT: Final = 4096
"""Items of a mapping; the script's own kind may give them for ever."""

_MOST_COUNT: Final = 2**63 - 1
_LONGEST_NUMBER: Final = 400
"""Letters of a number that is given as a text."""


def safe_float(value: Any) -> float | None:
    """A value as Keras has it in its logs, NaN and infinity included; None for what is no number.

    An array or tensor is one if it has a single element.
    """
    try:
        if isinstance(value, str | bytes | bytearray):
            return float(value) if len(value) <= _LONGEST_NUMBER else None
        if getattr(value, "ndim", 0):  # of which numpy warns in `float()`
            return float(
                (value if hasattr(value, "item") else sys.modules["numpy"].asarray(value)).item()
            )
        return float(value)
    except Exception:  # noqa: BLE001 - a script's own object may raise whatever it likes
        return None


def safe_count(value: Any) -> int | None:
    """A count that Keras gave; None when it is none, or none that can be sent."""
    try:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNT:
            return int(value)
    except Exception:  # noqa: BLE001, S110 - as above
        pass
    return None


def safe_text(value: Any) -> str:
    """A name or text, of Python's own type; empty for what cannot be printed."""
    try:
        text = value if isinstance(value, str) else str(value)
        return text if type(text) is str else str.__str__(text)
    except Exception:  # noqa: BLE001 - as above
        return ""


def safe_getattr(owner: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute, or something else if there is none or it raises."""
    try:
        return getattr(owner, name, otherwise)
    except Exception:  # noqa: BLE001 - as above
        return otherwise


def safe_bool(value: Any) -> bool:
    """True if a value counts as true; False if that cannot be read."""
    try:
        return bool(value)
    except Exception:  # noqa: BLE001 - as above
        return False


def safe_get(mapping: Any, name: str) -> Any:
    """An item of what should be a dict; None where there is none."""
    try:
        return mapping.get(name) if isinstance(mapping, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except Exception:  # noqa: BLE001 - as above
        return None


def numeric_logs(
    logs: Any,
    *,
    name_of: Callable[[str], str],
    most: int,
    number: Callable[[Any], float | None] = safe_float,
) -> dict[str, float]:
    """The numbers in Keras' logs; of others, of ours and of what cannot be read nothing.

    Args:
        logs: A mapping, or whatever a script gave as one.
        name_of: The name under which a number is reported; empty: it is not.
        most: So many at most.
        number: Reads a value; None for what is no number.
    """
    metrics: dict[str, float] = {}
    try:
        if isinstance(logs, Mapping):
            items = cast("Mapping[Any, Any]", logs).items()
            for name, value in itertools.islice(items, _MOST_LOOKED_AT):
                if len(metrics) < most:
                    _add(metrics, name, number(value), name_of)
    except Exception:  # noqa: BLE001, S110 - what was read before it failed counts
        pass
    return metrics


def _add(
    metrics: dict[str, float], name: Any, number: float | None, name_of: Callable[[str], str]
) -> None:
    if number is None:
        return
    try:
        text = name_of(safe_text(name))
        if text:
            metrics[text] = number
    except Exception:  # noqa: BLE001, S110 - a name that cannot be printed
        pass
