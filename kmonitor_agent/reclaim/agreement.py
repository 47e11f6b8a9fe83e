"""What a reload by one of several workers takes from who knows the others."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kmonitor_agent.frameworks.base import EmptyArray
from kmonitor_agent.reclaim.checkpoint_file import StoredVariable, Tag
from kmonitor_agent.reclaim.checkpoints import Checkpoint


class Agreement(Protocol):
    """What workers that train one model come to before they reload it."""

    @property
    def is_chief(self) -> bool:
        """Whether this one writes for all."""
        ...

    def all_prepared(self) -> str:
        """Tell the others that this worker's state is safe, and wait for theirs.

        Returns:
            Why no worker goes on; empty when all do.
        """
        ...


class StateKeeper(Protocol):
    """Where a reload's state is meanwhile; the methods are those of `CheckpointStore`."""

    def save(
        self,
        variables: Sequence[StoredVariable],
        read: Callable[[Any], Any],
        *,
        tag: Tag,
        architecture: str = "",
        drop: bool = True,
    ) -> Checkpoint:
        """Take every value."""
        ...

    def dropping(self) -> AbstractContextManager[None]:
        """Drop older states while the block runs."""
        ...

    def read(self, checkpoint: Checkpoint, empty: EmptyArray | None = None) -> Iterator[Any]:
        """The values in the same order, large ones in arrays that `empty` makes."""
        ...

    def holds(self, checkpoint: Checkpoint, values: Iterator[Any]) -> bool:
        """Whether these are the values, every bit."""
        ...
