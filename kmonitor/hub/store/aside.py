"""Databases that were damaged: put aside under a name that says when, and told while there."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor.hub.log import LOG

_NANOSECONDS: Final = 1e9
_STAMP: Final = re.compile(r"\.damaged-(\d{1,19})\Z")


@dataclass(frozen=True, slots=True)
class PutAside:
    """A damaged database that lies beside the one that took its place.

    Attributes:
        path: Its file.
        wall_s: When it was put aside, UTC epoch seconds.
    """

    path: Path
    wall_s: float

    def words(self) -> str:
        """What happened, and what to do, in one sentence without its full stop."""
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.wall_s))
        return (
            f"the database was damaged, put aside on {when} as {self.path}, and all that could be "
            "read taken over: what is missing is marked in its runs; remove the file once you "
            "need it no more, and this is told no more"
        )


def put_aside(path: Path, why: Exception) -> None:
    """Rename a damaged database, so that another one can take its place."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    LOG.error("%s is damaged (%s); kept as %s", path, why, aside.name)
    path.rename(aside)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        path.with_name(f"{path.name}-wal").rename(aside.with_name(f"{aside.name}-wal"))


def newest_put_aside(path: Path) -> PutAside | None:
    """The damaged database that was last put aside for this one; None if none lies there."""
    found = [
        PutAside(each, int(stamp[1]) / _NANOSECONDS)
        for each in path.parent.glob(f"{path.name}.damaged-*")
        if (stamp := _STAMP.search(each.name))
    ]
    return max(found, key=lambda each: each.wall_s, default=None)
