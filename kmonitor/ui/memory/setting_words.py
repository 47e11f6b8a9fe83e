"""Settings in a model file, written as short as they can be told apart."""

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

_MOST_DIGITS: Final = 9
"""That tell any two numbers of float32 apart. Source: IEEE 754, 5.12.2."""


def settings_words(settings: Mapping[str, Any]) -> str:
    """`learning_rate=0.001, beta_1=0.9`; names of objects and what is not set are left out."""
    return ", ".join(_settings(settings))


def number_words(value: float) -> str:
    """A number with the digits that it was set with: optimizers keep theirs as float32.

    Args:
        value: As the file has it: 0.0010000000474974513 for a float32's 0.001.
    """
    try:
        is_short = struct.unpack("f", struct.pack("f", value))[0] == value
    except OverflowError:
        is_short = False
    if is_short:
        for digits in range(1, _MOST_DIGITS + 1):
            shorter = float(f"{value:.{digits}g}")
            if struct.unpack("f", struct.pack("f", shorter))[0] == value:
                return json.dumps(shorter)
    return json.dumps(value)


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name != "name" and value is not None:
            yield f"{name}={_words(value)}"


def _words(value: Any) -> str:
    if isinstance(value, float):
        return number_words(value)
    if isinstance(value, list):
        return f"[{', '.join(_words(each) for each in cast('list[Any]', value))}]"
    if isinstance(value, dict):
        told = cast("dict[str, Any]", value)
        inner = told.get("config")
        if isinstance(told.get("class_name"), str) and isinstance(inner, dict):
            return f"{told['class_name']}({settings_words(cast('dict[str, Any]', inner))})"
    return json.dumps(value)
