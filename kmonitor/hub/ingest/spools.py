"""Ingest of dead processes' spools, piece by piece, and the spools that the disk refuses."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.ingest.connections import AgentConnections
from kmonitor.hub.log import LOG
from kmonitor.hub.runs.hub_event_log import HubEventLog, Origin, spooled_events
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.clock import Clock, WallClockCheck
from kmonitor_agent.wire.local.private_files import UnsafePath, check_private_folder
from kmonitor_agent.wire.messages.fields import is_id
from kmonitor_agent.wire.spool.folder import RunSpool, SpooledEvent, spooled_runs, trim_root
from kmonitor_agent.wire.spool.format import SessionFacts, segments_bytes, unsafe_in
from kmonitor_agent.wire.spool.reader import lateness_s

_SCAN_EVERY_S = 5.0
_RETRY_S = 600.0
"""Time after which a spool that was taken whole is read again, to let its day of grace end,
seconds."""

_REFUSED_AGAIN_S = 60.0
"""Time after which a spool that the disk refused is tried again, seconds."""

_SETTLED_S = 5.0
_AWAITED_S = 5.0
"""Time for which live processes are awaited by a hub that just started, seconds; they find it
within some seconds, and send what their spools hold."""

_QUIET_S = 3.0
"""Silence after which a session may be that of a process that died right after its hello, seconds;
a living agent sends something each second. The lock of its spool shows it."""

_STEP_EVENTS = 256
_STEP_S = 0.02


@dataclass(slots=True)
class _Shipment:
    spool: RunSpool
    record: RunRecord
    events: Iterator[SpooledEvent]


class SpoolIngest:
    """Owned by the hub's main thread; each `step` takes some 20 ms at most.

    Args:
        root: Folder of all spools.
        connections: Connections of living agents, which send the contents of their spools.
        check: Knows if the wall clock can be trusted.
        is_far: True if events were written on another host, from where the spool was copied here
            while the process may live on.
    """

    def __init__(  # noqa: PLR0913 - one for each part that it works with
        self,
        root: Path,
        log: HubEventLog,
        connections: AgentConnections,
        faults: HubFaults,
        clock: Clock,
        check: WallClockCheck,
        *,
        is_far: Callable[[SessionFacts], bool],
    ) -> None:
        self._is_far = is_far
        self._root = root
        self._late_s = lateness_s(root)
        self._event_log = log
        self._agent_connections = connections
        self._faults = faults
        self._clock = clock
        self._clock_check = check
        self._waiting: deque[str] = deque()
        self._looked_s: dict[str, float] = {}
        self._held_bytes: dict[str, int] = {}
        self._scan_s = 0.0
        self._has_scanned = False
        self._started_s = clock.monotonic_s()
        self._living: set[str] = set()
        self._shipment: _Shipment | None = None
        self._trouble = SpoolTrouble(root)

    @property
    def trouble(self) -> str:
        """Spools that the disk does not let be taken or freed, and why; empty: none."""
        return self._trouble.text()

    def bound(self) -> None:
        """Bring all spools together below their bound; living agents do so with their own."""
        try:
            trim_root(self._root)
        except FileNotFoundError:
            return  # removed meanwhile, by who had it
        except OSError as exc:
            self._trouble.refused("", exc)
        else:
            self._trouble.clear_refusal("")

    def step(self) -> None:
        """Continue with the current spool, else with the next one of a process that is gone."""
        begin_s = now_s = self._clock.monotonic_s()
        if now_s >= self._scan_s:
            self._scan_s = now_s + _SCAN_EVERY_S
            self._scan(now_s)
            self._has_scanned = True
        while now_s - begin_s < _STEP_S and not self._event_log.is_full:
            if self._shipment is not None:
                self._ship(self._shipment)
            elif self._waiting:
                self._begin(self._waiting.popleft(), now_s)
            else:
                return
            now_s = self._clock.monotonic_s()

    def is_shipping(self) -> bool:
        """True while there is more to come: spools of dead processes, or of live ones at first."""
        is_taking = self._shipment is not None or bool(self._waiting)
        return not self._has_scanned or is_taking or self._awaits_live_agents()

    def is_settled(self, record: RunRecord) -> bool:
        """True if a dead run's spool holds nothing more; if not, it comes next."""
        run = record.run
        if not (self._root / run).is_dir():
            return True
        looked_s = self._looked_s.get(run)
        was_looked_at = looked_s is not None and self._clock.monotonic_s() - looked_s < _SETTLED_S
        # The supervisor of the process writes down how it died right before it ends itself.
        if was_looked_at and self._held_bytes.get(run) == self._bytes_of(run):
            return True
        is_at_hand = self._shipment is not None and self._shipment.record is record
        if not is_at_hand and run not in self._waiting:
            self._waiting.appendleft(run)
        return False

    def _awaits_live_agents(self) -> bool:
        if self._clock.monotonic_s() - self._started_s > _AWAITED_S:
            return False
        runs = {each.run for each in self._agent_connections.all()}
        return any(self._is_awaited(run) for run in self._living | runs)

    def _is_awaited(self, run: str) -> bool:
        """True until a live process has sent what its spool held when it connected."""
        connection = self._agent_connections.of_run(run)
        if connection is None:
            return True
        record = self._event_log.registry.get(run)
        confirmed = 0 if record is None else self._event_log.confirmed(record)
        return confirmed < connection.last

    def close(self) -> None:
        """Release the current spool; the rest of it is taken by the next hub."""
        if self._shipment is not None:
            self._shipment.spool.close()
            self._shipment = None

    def _scan(self, now_s: float) -> None:
        self._clock_check.believes()  # asked so often that it sees time pass
        named = {folder.name for folder in spooled_runs(self._root)}
        found = {name for name in named if is_id(name)}
        for name in sorted(named - found):
            self._faults.record("spools: name", "its folder's name is not a run ID", of=name)
        self._looked_s = {run: at for run, at in self._looked_s.items() if run in found}
        self._held_bytes = {run: n for run, n in self._held_bytes.items() if run in found}
        self._trouble.only(found)
        for run in sorted(found.difference(self._waiting)):
            looked_s = self._looked_s.get(run)
            again_s = _REFUSED_AGAIN_S if self._trouble.is_of(run) else _RETRY_S
            is_due = looked_s is None or now_s - looked_s > again_s
            # The supervisor of the process may have written down since how it died.
            if is_due or self._held_bytes.get(run) != self._bytes_of(run):
                self._waiting.append(run)

    def _bytes_of(self, run: str) -> int:
        try:
            return segments_bytes(self._root / run)
        except OSError:
            return -1  # gone, or not to be read now

    def _begin(self, run: str, now_s: float) -> None:
        connection = self._agent_connections.of_run(run)
        if connection is not None and now_s - connection.last_heard_s <= _QUIET_S:
            return  # its agent sends what the spool holds
        if self._event_log.registry.was_deleted(run):
            return
        spool: RunSpool | None = None
        try:
            check_private_folder(self._root / run)
            self._trouble.note_unsafe(unsafe_in(self._root / run))
            spool = RunSpool.acquire(self._root / run)
            if spool is None:
                self._living.add(run)  # its process lives; asked again with the next scan
                return
            if connection is not None:
                self._agent_connections.drop(connection)
            self._living.discard(run)
            self._looked_s[run] = now_s
            self._held_bytes[run] = self._bytes_of(run)
            record = self._event_log.registry.get_or_add(run)
            events = spool.events(after=record.accepted)
            self._shipment = _Shipment(spool, record, events)
        except OSError as exc:
            self._refuse(run, exc)
            if spool is not None:
                spool.close()

    def _ship(self, shipment: _Shipment) -> None:
        try:
            batch = list(islice(shipment.events, _STEP_EVENTS))
        except OSError as exc:
            self._refuse(shipment.record.run, exc)
            self.close()
            return
        if not batch:
            self._finish(shipment)
            return
        record = shipment.record
        facts = batch[0].facts
        if facts is not None and self._is_far(facts):
            record.is_shipped = True
            record.late_s = self._late_s
        for part in _without_jumps(batch):
            first = part[0]
            if first.seq > record.accepted + 1:
                origin = None if first.facts is None else Origin.of(first.facts)
                self._event_log.append_gap(record, first.seq - 1, origin)
            self._event_log.append(record, spooled_events(record.run, part, self._faults))

    def _refuse(self, run: str, exc: OSError) -> None:
        # All that is readable was read: whether the run has ended is judged without the rest.
        self._looked_s[run] = self._clock.monotonic_s()
        self._held_bytes[run] = self._bytes_of(run)
        self._trouble.refused(run, exc)

    def _finish(self, shipment: _Shipment) -> None:
        self._shipment = None
        self._looked_s[shipment.record.run] = self._clock.monotonic_s()
        spool = shipment.spool
        record = shipment.record
        if record.is_known and record.accepted < spool.acked:
            # Some hub had them, this one does not, and the spool was cut before them.
            self._event_log.append_gap(record, spool.acked, None)
        seq = record.accepted

        def confirm() -> None:
            """Mark the spool as stored up to this event."""
            try:
                if spool.acked != seq:
                    spool.mark_acked(seq)
                if self._clock_check.believes():
                    spool.expire(self._clock.wall_s())
                spool.remove_if_empty()
            except OSError as exc:
                self._refuse(shipment.record.run, exc)
            else:
                self._trouble.clear_refusal(shipment.record.run)
            finally:
                spool.close()

        # Only what is committed may be forgotten by the disk.
        self._event_log.then(confirm)


def _without_jumps(events: list[SpooledEvent]) -> list[list[SpooledEvent]]:
    """Events in parts whose numbers rise by one."""
    sequences = [[events[0]]]
    for before, event in pairwise(events):
        if event.seq == before.seq + 1:
            sequences[-1].append(event)
        else:
            sequences.append([event])
    return sequences


_MOST_NAMED: Final = 1000


class SpoolTrouble:
    """Spools that the disk refuses, and files in them that are left alone.

    Owned by the hub's main thread.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._refused: dict[str, str] = {}
        self._left_alone: set[Path] = set()

    def refused(self, run: str, exc: OSError) -> None:
        """Note that the disk refused something of a run's spool; of the root if `run` is empty."""
        why = _problem_text(exc)
        if self._refused.get(run) != why:
            LOG.warning("%s cannot be read or removed: %s", self._root / run, why)
        self._refused[run] = why

    def note_unsafe(self, entries: Iterable[UnsafePath]) -> None:
        """Note entries, each once, that are in the way in a spool; the rest of it is read."""
        for entry in entries:
            if entry.path not in self._left_alone and len(self._left_alone) < _MOST_NAMED:
                self._left_alone.add(entry.path)
                LOG.warning("%a is ignored: it %s", str(entry.path), entry.why)

    def clear_refusal(self, run: str) -> None:
        """Note that the disk refuses nothing of this spool any more."""
        if self._refused.pop(run, None) is not None:
            LOG.info("%s is released again", self._root / run)

    def only(self, runs: Collection[str]) -> None:
        """Forget spools that no longer exist."""
        self._refused = {run: why for run, why in self._refused.items() if not run or run in runs}

    def is_of(self, run: str) -> bool:
        """True if something of this spool was refused."""
        return run in self._refused

    def text(self) -> str:
        """The spools and the reasons, in a sentence without its full stop; empty: none."""
        if not self._refused:
            return ""
        runs = [run for run in self._refused if run]
        which = f"the spool {self._root / ''.join(runs)}"
        if len(runs) > 1:
            which = f"{len(runs)} spools in {self._root}"
        why = ", ".join(sorted(set(self._refused.values())))
        return (
            f"{which} cannot be read or removed ({why}): the data stays there until that is fixed"
        )


def _problem_text(exc: OSError) -> str:
    """Why something of a spool cannot be used; for a foreign file also its name."""
    why = exc.strerror or str(exc)
    return f"{exc.path.name!r} {why}" if isinstance(exc, UnsafePath) else why
