"""What trainings on other hosts wrote goes into this host's spool, where its hub takes it.

Numbers are given anew here: each attempt on a node begins a spool of its own, and all of a run's
stand in one row. The spool's lock is held only to append, so that the hub takes what is there
while the training goes on.
"""

import time
from pathlib import Path
from typing import Final

from kmonitor_agent.studies.ray.messages import Events
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.local.spool_format import Record
from kmonitor_agent.wire.local.spool_writer import SpoolHeld, SpoolWriter

_EVERY_S: Final = 5.0
_LOCK_WITHIN_S: Final = 3.0
_LOCK_AGAIN_S: Final = 0.05
_MOST_WAITING: Final = 100_000
"""Events of one process that wait while the disk refuses them; more are dropped, oldest first."""


class SpoolCarrier:
    """Owned by the thread that runs the study; whatever the disk does, the study goes on."""

    def __init__(self, root: Path) -> None:
        """Begin.

        Args:
            root: This host's spool.
        """
        self._root = root
        self._waiting: dict[str, list[bytes]] = {}
        self._writers: dict[str, SpoolWriter] = {}
        self._seqs: dict[str, int] = {}
        self._next_s = 0.0

    def take(self, events: Events) -> None:
        """These came, behind those that came before."""
        boot = events.facts.boot
        if boot not in self._writers:
            self._writers[boot] = SpoolWriter(self._root, events.facts, SystemClock())
        waiting = self._waiting.setdefault(boot, [])
        waiting += events.bodies
        del waiting[:-_MOST_WAITING]

    def step(self) -> None:
        """Write what waits, every few seconds."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _EVERY_S
        for boot in list(self._waiting):
            self._write(boot)

    def flush(self) -> None:
        """Write all that waits; a hub that reads there is waited for, three seconds at most."""
        end_s = time.monotonic() + _LOCK_WITHIN_S
        for boot in list(self._waiting):
            while not self._write(boot) and time.monotonic() < end_s:
                time.sleep(_LOCK_AGAIN_S)

    def close(self) -> None:
        """Write all, and be done."""
        self.flush()
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _write(self, boot: str) -> bool:
        """Whether it is written."""
        bodies, writer = self._waiting[boot], self._writers[boot]
        run = writer.facts.run
        try:
            spool = writer.open()
            try:
                last = max(spool.last_seq, self._seqs.get(run, 0))
                writer.write([Record(last + at, body) for at, body in enumerate(bodies, 1)])
            finally:
                writer.rest()
        except (OSError, SpoolHeld, NotPrivate):
            return False
        self._seqs[run] = last + len(bodies)
        del self._waiting[boot]
        return True
