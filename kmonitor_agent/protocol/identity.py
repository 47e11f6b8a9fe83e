"""Who is who on the wire: ids of runs, boots, hubs and commands."""

import uuid
from typing import Annotated, NewType

import msgspec

from kmonitor_agent.protocol.version import MAX_TEXT

Id = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{1,64}\Z")]
"""Any id on the wire."""

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
"""Any text on the wire."""

Name = Annotated[str, msgspec.Meta(max_length=200)]
"""A name that a person gave: any Unicode, 200 characters at most."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A count, a sequence number or a size in bytes."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A duration or a time stamp in seconds; NaN and infinity are refused."""

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
"""A measured quantity that is never negative, in the unit its field names."""

RunId = NewType("RunId", str)
BootId = NewType("BootId", str)
HubId = NewType("HubId", str)
CommandId = NewType("CommandId", str)


def new_id() -> str:
    """A fresh random id: 32 lower-case hexadecimal characters (uuid4)."""
    return uuid.uuid4().hex
