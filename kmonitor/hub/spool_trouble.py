"""Spools that the disk does not let be taken or freed: told as its trouble, until it does."""

from collections.abc import Collection
from pathlib import Path

from kmonitor.hub.logbook import LOG


class SpoolTrouble:
    """Owned by the hub's main thread."""

    def __init__(self, root: Path) -> None:
        """Nothing is refused yet.

        Args:
            root: Where all spools lie.
        """
        self._root = root
        self._refused: dict[str, str] = {}

    def refused(self, run: str, exc: OSError) -> None:
        """The disk refused something of this run's spool, or of the root where `run` is empty."""
        why = exc.strerror or str(exc)
        if self._refused.get(run) != why:
            LOG.warning("%s cannot be taken or freed: %s", self._root / run, why)
        self._refused[run] = why

    def obeyed(self, run: str) -> None:
        """It refuses nothing of this spool any more."""
        if self._refused.pop(run, None) is not None:
            LOG.info("%s is let go again", self._root / run)

    def only(self, runs: Collection[str]) -> None:
        """Forget spools that are not there any more."""
        self._refused = {run: why for run, why in self._refused.items() if not run or run in runs}

    def is_of(self, run: str) -> bool:
        """Whether something of this spool was refused."""
        return run in self._refused

    def words(self) -> str:
        """Which, and why, in a sentence without its full stop; empty: none."""
        if not self._refused:
            return ""
        runs = [run for run in self._refused if run]
        which = f"the spool {self._root / ''.join(runs)}"
        if len(runs) > 1:
            which = f"{len(runs)} spools in {self._root}"
        why = ", ".join(sorted(set(self._refused.values())))
        return f"{which} cannot be taken or freed ({why}): what is in there stays until it can"
