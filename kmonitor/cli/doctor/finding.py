"""What `kmonitor doctor` found about one subject."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one subject.

    Attributes:
        subject: What was looked at.
        state: "ok", "note" (missing, but only some uses need it) or "bad".
        found: What is there.
        remedy: What to do about it, a command where there is one; empty when nothing is to do.
    """

    subject: str
    state: State
    found: str
    remedy: str = ""
