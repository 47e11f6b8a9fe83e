"""State store of one reload: a `CheckpointStore`, or memory if another worker writes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from kmonitor_agent.frameworks.base import EmptyArrayFactory
from kmonitor_agent.reclaim.checkpoint_file import Checksum
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag, VariableToStore
from kmonitor_agent.reclaim.checkpoints import Checkpoint
from kmonitor_agent.wire.local.clock import SystemClock


class StateStore(Protocol):
    """Store for a state during a reload; the methods are those of `CheckpointStore`."""

    def save(
        self,
        variables: Sequence[VariableToStore],
        read: Callable[[Any], Any],
        *,
        tag: CheckpointTag,
        architecture: str = "",
        drop: bool = True,
    ) -> Checkpoint: ...

    def dropping(self) -> AbstractContextManager[None]:
        """Drop older states while the block runs."""
        ...

    def read(
        self, checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None
    ) -> Iterator[Any]:
        """Saved values in the same order, large ones in arrays that `empty` creates."""
        ...

    def holds(self, checkpoint: Checkpoint, values: Iterator[Any]) -> bool:
        """True if these are the saved values, every bit."""
        ...


class InMemoryStateStore:
    """Store of a worker that leaves the disk to the chief; lives for one reload."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def save(
        self,
        variables: Sequence[VariableToStore],
        read: Callable[[Any], Any],
        *,
        tag: CheckpointTag,
        architecture: str = "",
        drop: bool = True,
    ) -> Checkpoint:
        """Copy every value; the path of the result is empty. See `CheckpointStore.save`."""
        del architecture, drop
        checksum = Checksum()
        self._values = []
        for entry in variables:
            value = read(entry.variable).copy()
            checksum.add(value)
            self._values.append(value)
        state_bytes = sum(value.nbytes for value in self._values)
        return Checkpoint(
            path=Path(),
            n_bytes=0,
            wall_s=SystemClock().wall_s(),
            epoch=tag.epoch,
            checksum=checksum.text(),
            tag=tag,
            variables=len(self._values),
            state_bytes=state_bytes,
        )

    def read(
        self, checkpoint: Checkpoint, empty: EmptyArrayFactory | None = None
    ) -> Iterator[Any]:
        del checkpoint, empty
        return iter(self._values)

    def dropping(self) -> AbstractContextManager[None]:
        """Do nothing: there are no older states."""
        return nullcontext()

    def holds(self, checkpoint: Checkpoint, values: Iterator[Any]) -> bool:
        del checkpoint
        others = list(values)
        return len(others) == len(self._values) and all(
            one.dtype == other.dtype and one.tobytes() == other.tobytes()
            for one, other in zip(self._values, others, strict=True)
        )


class ReloadAgreement(Protocol):
    """Agreement of the workers that train one model to reload it together."""

    @property
    def is_chief(self) -> bool:
        """True if this worker writes for all."""
        ...

    def all_prepared(self) -> str:
        """Report to the others that this worker's state is safe, and wait for theirs.

        Returns:
            Reason why no worker continues; empty if all do.
        """
        ...
