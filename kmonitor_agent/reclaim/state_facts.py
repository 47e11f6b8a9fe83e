"""What a checkpoint file says: where in a run it was taken, and what it holds."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tag:
    """Where in a run a state was taken.

    Attributes:
        run: Run id.
        fit: Ordinal of the fit in the run, from 1.
        epoch: Index from 0 of the epoch in or after which it is.
        step: Steps done in that epoch when it was taken within; 0 at an epoch's end.
    """

    run: str
    fit: int
    epoch: int
    step: int = 0


@dataclass(frozen=True, slots=True)
class StateHeader:
    """What a checkpoint file says of itself.

    Attributes:
        tag: Where in the run it was taken.
        wall_s: When, UTC epoch seconds.
        variables: How many variables it holds.
        state_bytes: Their size, bytes.
        checksum: "crc32:..." over all of them in order.
    """

    tag: Tag
    wall_s: float
    variables: int
    state_bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class StoredVariable:
    """One variable to be written.

    Attributes:
        path: Where it belongs, for people.
        n_bytes: Its size, bytes.
        variable: What `read` is called with.
    """

    path: str
    n_bytes: int
    variable: Any


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """One variable that a file holds.

    Attributes:
        path: Where it belongs: its group ("model", "metrics", "optimizer", "seed"), then names.
        shape: Of its value.
        dtype: Of its value, by name.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str


class NotAStateFile(Exception):
    """A file that is no whole checkpoint.

    Attributes:
        why: What is wrong with it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
