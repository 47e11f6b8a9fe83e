"""Registry of all runs that the hub knows, with the order of their changes."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from kmonitor.hub.runs.run_record import RunRecord, record_body
from kmonitor_agent.wire.messages.fields import MAX_COUNT, MAX_DELETED

_RESTART_STEP = 1_000_000
"""Step over numbers of changes that were sent but not yet committed when a hub died."""

_PAGE_RUNS = 200

_MOST_CHANGES = MAX_COUNT // 2
"""Maximum number of changes: a larger stored number is damaged, and would leave no room."""


def _safe_change(change: int) -> int:
    return change if change <= _MOST_CHANGES else 0


class RunRegistry:
    """Runs by id, in the order of their last change. Owned by the hub's main thread."""

    def __init__(self, next_key: int) -> None:
        self._runs: OrderedDict[str, RunRecord] = OrderedDict()
        self._by_key: dict[int, str] = {}
        self._others: OrderedDict[str, RunRecord] = OrderedDict()
        self._others_gone: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        self._dirty: dict[str, RunRecord] = {}
        self._gone: list[tuple[int, str, int]] = []
        self._next_key = next_key
        self.change = 0
        """Newest change given to any run."""

    def load(self, runs: Iterable[RunRecord], deleted: Iterable[tuple[str, int]]) -> None:
        """Load from the database: records, and (run, change) of deleted ones."""
        records = list(runs)
        for record in records:
            record.change = _safe_change(record.change)
        for record in sorted(records, key=lambda r: r.change):
            self._runs[record.run] = record
            self._by_key[record.key] = record.run
            self.change = max(self.change, record.change)
        for run, stored in deleted:
            change = _safe_change(stored)
            self._deleted[run] = max(change, self._deleted.get(run, 0))
            self.change = max(self.change, change)
        self.change += _RESTART_STEP
        for record in self.live():
            # A desktop may have changes that the last hub could not commit.
            self.mark_changed(record)

    def get(self, run: str) -> RunRecord | None:
        return self._runs.get(run)

    def get_or_add(self, run: str) -> RunRecord:
        """A run; a new one is empty until its first event."""
        found = self._runs.get(run)
        if found is not None:
            return found
        other = self._others.pop(run, None)
        if other is not None:  # it goes on here, and each hub keeps what it was sent
            self._by_key.pop(other.key, None)
        record = RunRecord(key=self._next_key, run=run)
        self._next_key += 1
        self._runs[run] = record
        self._by_key[record.key] = run
        return record

    def find(self, run: str) -> RunRecord | None:
        """A run of this hub, else of another that shares its database; None: unknown."""
        return self._runs.get(run) or self._others.get(run)

    def is_of_another(self, run: str) -> bool:
        """True if only another hub that shares the database can change a run."""
        return run not in self._runs and run in self._others

    def others(self) -> list[RunRecord]:
        """Runs of other hubs, least recently changed first."""
        return list(self._others.values())

    def show_other(self, record: RunRecord) -> None:
        """Show desktops a run of another hub; one that this hub has too is shown as its own."""
        if record.run in self._runs:
            return
        before = self._others.pop(record.run, None)
        if before is not None and before.key > record.key:
            record = before  # of two hubs the one that came to this database later
        elif before is not None and before.key != record.key:
            self._by_key.pop(before.key, None)
        self.change += 1
        record.change = self.change
        self._others[record.run] = record
        self._by_key[record.key] = record.run

    def drop_others(self, keys: Iterable[int]) -> None:
        """Forget runs that other hubs have deleted."""
        for key in keys:
            run = self._by_key.get(key, "")
            if run in self._others and self._others[run].key == key:
                del self._by_key[key], self._others[run]
                self.change += 1
                self._others_gone[run] = self.change

    def id_of(self, key: int) -> str | None:
        """Run id of a key in the database; None if that run was deleted."""
        return self._by_key.get(key)

    def live(self) -> list[RunRecord]:
        """Runs whose process is not known to be gone."""
        return [record for record in self._runs.values() if not record.is_over]

    def all(self) -> Iterator[RunRecord]:
        """Every run, least recently changed first."""
        return iter(self._runs.values())

    def mark_changed(self, record: RunRecord) -> None:
        """Note that a run changed: for desktops and for the next commit."""
        self.change += 1
        record.change = self.change
        self._runs.move_to_end(record.run)
        self._dirty[record.run] = record

    def count_of(self, owner: str) -> int:
        """Runs that are bound to a key."""
        return sum(record.owner == owner for record in self._runs.values())

    def delete(self, record: RunRecord) -> None:
        """Forget a run; `was_deleted` remembers its id."""
        self.change += 1
        self._runs.pop(record.run)
        self._by_key.pop(record.key)
        self._dirty.pop(record.run, None)
        self._deleted[record.run] = self.change
        self._gone.append((record.key, record.run, self.change))

    def restore(self, record: RunRecord) -> None:
        """Revert a deletion that could not be written."""
        self._deleted.pop(record.run, None)
        self._gone = [each for each in self._gone if each[1] != record.run]
        self._runs[record.run] = record
        self._by_key[record.key] = record.run
        self.mark_changed(record)

    def was_deleted(self, run: str) -> bool:
        """True if a desktop deleted this run."""
        return run in self._deleted and run not in self._runs

    def changed_since(self, change: int) -> tuple[list[RunRecord], bool]:
        """At most 200 known runs changed after `change`, in order; and True if there are more."""
        found: list[RunRecord] = []
        for runs in (self._runs, self._others):
            for record in reversed(runs.values()):
                if not record.is_known:
                    continue  # nothing of it was accepted yet, so its `change` says nothing
                if record.change <= change:
                    break
                found.append(record)
        found.sort(key=lambda record: record.change)
        return found[:_PAGE_RUNS], len(found) > _PAGE_RUNS

    def deleted_since(self, change: int) -> list[str]:
        """Runs deleted after `change`; none when everything is requested."""
        if change == 0:
            return []
        found = {
            run: deleted
            for gone in (self._deleted, self._others_gone)
            for run, deleted in gone.items()
            if deleted > change and self.find(run) is None
        }
        return sorted(found, key=lambda run: found[run])[-MAX_DELETED:]

    def pop_dirty(self) -> list[tuple[int, str, int, bytes]]:
        """(key, run, change, record) of runs to write; they count as written."""
        dirty = [(r.key, r.run, r.change, record_body(r)) for r in self._dirty.values()]
        self._dirty.clear()
        return dirty

    def pop_deleted(self) -> list[tuple[int, str, int]]:
        """(key, run, change) of runs to remove; they count as removed."""
        gone, self._gone = self._gone, []
        return gone

    @property
    def is_dirty(self) -> bool:
        """True if there are runs to write."""
        return bool(self._dirty or self._gone)

    @property
    def is_deleting(self) -> bool:
        """True if runs were deleted that the database still has."""
        return bool(self._gone)

    @property
    def rows(self) -> int:
        """Number of events of all runs."""
        return sum(record.rows for record in self._runs.values())
