"""Ids of runs, boots, hubs and commands, and the bounded types that all fields are made of."""

import re
import uuid
from typing import Annotated, Final

import msgspec

from kmonitor_agent.wire.messages.version import (
    MAX_AMOUNT,
    MAX_COUNT,
    MAX_DURATION_S,
    MAX_NAME,
    MAX_TEXT,
    MAX_WALL_S,
)

_ID: Final = r"^[0-9A-Za-z_-]{1,64}\Z"

Id = Annotated[str, msgspec.Meta(pattern=_ID)]
"""Any id on the wire."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
"""Any text on the wire."""

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
"""A name that a person gave: any Unicode, 200 characters at most."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
"""A count, a sequence number or a size in bytes."""

Change = Annotated[int, msgspec.Meta(ge=-MAX_COUNT, le=MAX_COUNT)]
"""By how much a count grew; negative when it fell."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_DURATION_S)]
"""A duration in seconds; NaN and infinity are refused."""

Wall = Annotated[float, msgspec.Meta(ge=0, le=MAX_WALL_S)]
"""A moment in UTC epoch seconds, 1970 to 2200."""

Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_AMOUNT)]
"""A measured quantity that is never negative, in the unit its field names."""

Number = float
"""Any number, NaN and infinity too: a loss or a slope is what it is."""


def is_id(text: str) -> bool:
    """True for what an `Id` can be; the name of a run's folder is one."""
    return re.match(_ID, text) is not None


def new_id() -> str:
    """A fresh random id: 32 lower-case hexadecimal characters (uuid4)."""
    return uuid.uuid4().hex
