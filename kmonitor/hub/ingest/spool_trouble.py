"""Spools that the disk does not let be taken or freed: told as its trouble, until it does."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from kmonitor.hub.log import LOG
from kmonitor_agent.wire.local.private_files import UnsafePath

_MOST_NAMED: Final = 1000


def spool_words(exc: OSError) -> str:
    """Why something of a spool cannot be used; of a file that is none of ours also its name."""
    why = exc.strerror or str(exc)
    return f"{exc.path.name!r} {why}" if isinstance(exc, UnsafePath) else why


class SpoolTrouble:
    """Owned by the hub's main thread."""

    def __init__(self, root: Path) -> None:
        """Nothing is refused yet.

        Args:
            root: Where all spools lie.
        """
        self._root = root
        self._refused: dict[str, str] = {}
        self._left_alone: set[Path] = set()

    def refused(self, run: str, exc: OSError) -> None:
        """The disk refused something of this run's spool, or of the root where `run` is empty."""
        why = spool_words(exc)
        if self._refused.get(run) != why:
            LOG.warning("%s cannot be taken or freed: %s", self._root / run, why)
        self._refused[run] = why

    def left_alone(self, entries: Iterable[UnsafePath]) -> None:
        """These are in the way in a spool; the rest of it is read. Each is named once."""
        for entry in entries:
            if entry.path not in self._left_alone and len(self._left_alone) < _MOST_NAMED:
                self._left_alone.add(entry.path)
                LOG.warning("%a is left alone: it %s", str(entry.path), entry.why)

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
