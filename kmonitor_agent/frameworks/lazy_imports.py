# pyright: basic
"""What Keras imports only when it is asked for stays unimported while we ask Keras things.

Whoever has Keras describe a layer makes it ask whether parts of it are TensorFlow's, and for that
Keras imports TensorFlow wherever it is installed: half a gigabyte, seconds and lines on the screen
in a training on JAX or PyTorch. What was never imported has made no object, so Keras may as well
be told that it is not there.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_LAZY: Final = "keras.src.utils.module_utils"
"""Holds a `LazyModule` for each; private, and the same from Keras 3.6 to 3.15."""


@contextmanager
def nothing_imported() -> Iterator[None]:
    """Within it Keras takes modules that nobody has imported to be missing.

    A call of one of their functions imports them as ever. Where Keras has them otherwise than
    known, nothing is changed.
    """
    asleep = [each for each in _lazy_modules() if _is_asleep(each)]
    for each in asleep:
        each._available = False  # noqa: SLF001 - private, looked for
    try:
        yield
    finally:
        for each in asleep:
            each._available = None if each.module is None else True  # noqa: SLF001


def _lazy_modules() -> list[Any]:
    held = sys.modules.get(_LAZY)
    kind = getattr(held, "LazyModule", None)
    return [each for each in vars(held).values() if isinstance(each, kind)] if kind else []


def _is_asleep(lazy: Any) -> bool:
    known = vars(lazy)
    never_asked = known.get("_available", False) is None and known.get("module", False) is None
    return never_asked and known.get("name") not in sys.modules
