"""The standard streams of a process that was started without some of them (`>&-`, a service)."""

import os
import sys
from typing import Final

_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def fill_standard_streams() -> None:
    """Give each that is missing to nowhere: a file opened later must not be taken for it."""
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            setattr(sys, name, os.fdopen(opened, mode, encoding="utf-8", errors="replace"))
