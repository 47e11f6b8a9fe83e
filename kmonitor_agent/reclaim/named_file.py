"""A checkpoint that a user names, proved before it is read: of this kmonitor or an earlier one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kmonitor_agent.reclaim import seal, state_file, unsealed
from kmonitor_agent.reclaim.state_facts import NotAStateFile, StateHeader, StoredFacts


class NamedFile:
    """One file, whole when it was opened."""

    def __init__(self, path: Path, *, values: bool = True) -> None:
        """Prove it.

        Args:
            path: The file.
            values: Whether to read its values too; else they are checked when they are read.

        Raises:
            NotAStateFile: It is damaged, or no checkpoint.
            OSError: It cannot be read.
        """
        self.path = path
        self._is_sealed = True
        try:
            self.header: StateHeader = seal.read_header(path)
            if values:
                state_file.check_whole(path)
        except seal.Unsealed:
            self._is_sealed = False
            if why := unsealed.damage_of([path])[path]:
                raise NotAStateFile(why) from None
            self.header = unsealed.read_header(path)

    def facts(self) -> list[StoredFacts]:
        """What it holds, in order. Raises: NotAStateFile, OSError: it was changed since."""
        return (state_file if self._is_sealed else unsealed).read_facts(self.path)

    def variables(self) -> Iterator[Any]:
        """Its values, each checked. Raises: NotAStateFile, OSError: it was changed since."""
        return (state_file if self._is_sealed else unsealed).read_variables(self.path)

    def architecture(self) -> str:
        """What it says of its model's making. Raises: NotAStateFile, OSError."""
        return (state_file if self._is_sealed else unsealed).read_architecture(self.path)
