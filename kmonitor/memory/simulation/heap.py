"""Buffers with counted references on an allocator, and the highest that was in use."""

from typing import Final

from kmonitor.memory.simulation.chunks import Chunks

NOTHING: Final = -1
"""Stands for a buffer where there is none."""

HANDLES: Final = -2
"""The handle of the first variable; those of the others follow downwards."""


class Parts:
    """A list of tensors, as loops keep one element of each turn.

    Attributes:
        buffers: Elements; each with a second one for the turns that were left out, or `NOTHING`.
        references: How many will still read it.
    """

    __slots__ = ("buffers", "references")

    def __init__(self, references: int = 0) -> None:
        self.buffers: list[tuple[int, int]] = []
        self.references = references


Value = int | Parts
"""A buffer, `NOTHING`, a variable as `HANDLES - place`, or a list."""


class Heap:
    """All buffers of a step.

    Attributes:
        peak_bytes: The most in use since `forget_peak`, as the allocator tells it.
        references: Of each buffer, how many will still read it.
        bytes: Of each buffer, as asked for.
        owners: Of each buffer: place of its layer times 4, plus the phase; negative: no layer.
    """

    def __init__(self, unseen_below_bytes: int = 0, *, follows_forward: bool = False) -> None:
        """`follows_forward`: whether `forward_parts` will be asked for."""
        self.peak_bytes = 0
        self.references: list[int] = []
        self.bytes: list[int] = []
        self.owners: list[int] = []
        self._unseen = unseen_below_bytes
        self._changes: list[tuple[int, int]] | None = [] if follows_forward else None
        self._fullest = 0
        self._chunks = Chunks()
        self._chunk: list[int] = []
        self._tied: dict[int, int] = {}
        self._forward_bytes = 0
        self._most_forward_bytes = 0

    def new(self, n_bytes: int, references: int, owner: int) -> int:
        """A buffer that will be read so often; its number."""
        if n_bytes <= 0 or n_bytes < self._unseen:
            return NOTHING
        number = len(self._chunk)
        self._chunk.append(self._chunks.take(n_bytes))
        self.references.append(references)
        self.bytes.append(n_bytes)
        self.owners.append(owner)
        self.peak_bytes = max(self.peak_bytes, self._chunks.in_use_bytes)
        self._follow(number, NOTHING, owner)
        return number

    def forward_parts(self) -> list[tuple[int, int]]:
        """(owner, bytes) of what layers going forward had made when that came to most."""
        there: dict[int, int] = {}
        for buffer, owner in (self._changes or ())[: self._fullest]:
            if owner >= 0:
                there[buffer] = owner
            else:
                del there[buffer]
        return [(owner, self.bytes[buffer]) for buffer, owner in there.items()]

    def _follow(self, buffer: int, before: int, owner: int) -> None:
        """Note that a buffer has another owner, or none any more."""
        if self._changes is None:
            return
        was, is_now = _is_forward(before), _is_forward(owner)
        if was or is_now:
            self._changes.append((buffer, owner if is_now else NOTHING))
        self._forward_bytes += self.bytes[buffer] * (is_now - was)
        if self._forward_bytes > self._most_forward_bytes:
            self._most_forward_bytes = self._forward_bytes
            self._fullest = len(self._changes)

    def give(self, buffer: int, owner: int, more: int) -> None:
        """Another operation's output takes the buffer's place; so many more will read it."""
        self._follow(buffer, self.owners[buffer], owner)
        self.owners[buffer] = owner
        self.references[buffer] += more

    def tie(self, buffer: int, to: Value) -> None:
        """Let a buffer go when another one does."""
        if isinstance(to, int) and to >= 0 and buffer >= 0:
            self._tied[to] = buffer
        else:
            self.hold(buffer, -1)

    def hold(self, buffer: int, more: int) -> None:
        """So many more will read it; fewer if negative. It goes when nobody will."""
        if buffer < 0 or self._chunk[buffer] == NOTHING:
            return
        left = self.references[buffer] + more
        self.references[buffer] = left
        if left <= 0:
            self._chunks.give_back(self._chunk[buffer])
            self._chunk[buffer] = NOTHING
            self._follow(buffer, self.owners[buffer], NOTHING)
            if buffer in self._tied:
                self.hold(self._tied.pop(buffer), -1)

    def forget_peak(self) -> None:
        """Count the highest anew, from now."""
        self.peak_bytes = self._chunks.in_use_bytes


def _is_forward(owner: int) -> bool:
    return owner >= 0 and owner % 4 == 0
