"""Between the hub's loop and the thread that judges: which runs to look at, what to store."""

from collections.abc import Callable

import msgspec

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.judge.judge_thread import Found, VerdictDesk
from kmonitor.hub.runs.event_log import Ledger


class Judging:
    """Owned by the hub's main thread."""

    def __init__(
        self,
        ledger: Ledger,
        desk: VerdictDesk,
        faults: HubFaults,
        send: Callable[[bytes, msgspec.Struct], object],
    ) -> None:
        self._ledger = ledger
        self._desk = desk
        self._faults = faults
        self._send = send
        self._dropped = 0

    def after_commit(self) -> None:
        """Have the runs looked at whose units have ended and are stored."""
        runs, self._ledger.unit_ended = self._ledger.unit_ended, set()
        for run in runs:
            record = self._ledger.registry.get(run)
            if record is not None:
                self._desk.look(run, record.key)
        if self._desk.dropped > self._dropped:
            self._dropped = self._desk.dropped
            self._faults.record("verdicts: behind", f"{self._dropped} looks dropped")

    def take(self) -> None:
        """Store and answer what was found."""
        for found in self._desk.take_found():
            self._store(found)
            if found.question is not None and found.told is not None:
                self._send(found.question.identity, found.told)

    def _store(self, found: Found) -> None:
        if found.fault is not None:
            self._faults.record("verdicts", found.fault)
        record = self._ledger.registry.get(found.run)
        if record is None:
            return  # deleted meanwhile
        for verdict in found.verdicts:
            self._ledger.take_verdict(record, verdict)
