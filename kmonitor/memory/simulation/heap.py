"""Heap of a simulated step: buffers with counted references, and the highest use.

`ChunkAllocator` places buffers as TensorFlow's allocator does, as far as its count of bytes in use
depends on the placement.
"""

from bisect import bisect_left, insort
from typing import Final

NOTHING: Final = -1
"""Placeholder for no buffer."""

HANDLES: Final = -2
"""Handle of the first variable; those of the others follow downwards."""


class TensorList:
    """A list of tensors; loops keep one element per turn in it.

    Attributes:
        buffers: Elements; those of turns that are not expanded are tied to them.
        zeros: Buffers of elements that are zero until they are set, like initial gradients.
        references: Number of future reads of the list.
        turn: Number of elements that were read; each turn of a loop reads the next one.
    """

    __slots__ = ("buffers", "references", "turn", "zeros")

    def __init__(self, references: int = 0) -> None:
        self.buffers: list[int] = []
        self.zeros: list[int] = []
        self.references = references
        self.turn = 0

    def all_buffers(self) -> list[int]:
        """Buffers of all elements, which may include `NOTHING`."""
        return [*self.zeros, *self.buffers]


Value = int | TensorList
"""A buffer, `NOTHING`, a variable as `HANDLES - index`, or a list."""


class SimulatedHeap:
    """All buffers of a step.

    Attributes:
        peak_bytes: Largest use since `forget_peak`, as the allocator reports it.
        references: Number of future reads of each buffer.
        bytes: Requested size of each buffer.
        owners: Owner of each buffer: index of its layer times 4, plus the phase; `NOTHING` for
            buffers that stay, and lower values for buffers of no layer.
    """

    def __init__(self, unseen_below_bytes: int = 0, *, follows: bool = False) -> None:
        """Args: `follows`: True to record changes for `bytes_at_peak`."""
        self.peak_bytes = 0
        self.references: list[int] = []
        self.bytes: list[int] = []
        self.owners: list[int] = []
        self._unseen = unseen_below_bytes
        self._changes: list[tuple[int, int | None]] | None = [] if follows else None
        self._fullest = 0
        self._fullest_forward = 0
        self._chunk_allocator = ChunkAllocator()
        self._chunk: list[int] = []
        self._tied: dict[int, list[int]] = {}
        self._forward_bytes = 0
        self._most_forward_bytes = 0

    def new(self, n_bytes: int, references: int, owner: int) -> int:
        """Add a buffer with its number of readers; return its index."""
        if n_bytes <= 0 or n_bytes < self._unseen:
            return NOTHING
        number = len(self._chunk)
        self._chunk.append(self._chunk_allocator.allocate(n_bytes))
        self.references.append(references)
        self.bytes.append(n_bytes)
        self.owners.append(owner)
        self._follow(number, None, owner)
        if self._chunk_allocator.in_use_bytes > self.peak_bytes:
            self.peak_bytes = self._chunk_allocator.in_use_bytes
            self._fullest = len(self._changes or ())
        return number

    def forward_bytes_at_peak(self) -> list[tuple[int, int]]:
        """(owner, bytes) of the results of forward layers when these were largest."""
        return [each for each in self._live_at(self._fullest_forward) if _is_forward(each[0])]

    def bytes_at_peak(self) -> list[tuple[int, int]]:
        """(owner, bytes) of all buffers that do not stay, when the total was largest."""
        return [each for each in self._live_at(self._fullest) if each[0] != NOTHING]

    def _live_at(self, n_changes: int) -> list[tuple[int, int]]:
        live: dict[int, int] = {}
        for buffer, owner in (self._changes or ())[:n_changes]:
            if owner is None:
                del live[buffer]
            else:
                live[buffer] = owner
        return [(owner, self.bytes[buffer]) for buffer, owner in live.items()]

    def _follow(self, buffer: int, before: int | None, owner: int | None) -> None:
        """Note that a buffer has another owner, or none."""
        if self._changes is None:
            return
        self._changes.append((buffer, owner))
        self._forward_bytes += self.bytes[buffer] * (_is_forward(owner) - _is_forward(before))
        if self._forward_bytes > self._most_forward_bytes:
            self._most_forward_bytes = self._forward_bytes
            self._fullest_forward = len(self._changes)

    def hand_over(self, buffer: int, owner: int, more: int) -> None:
        """Pass a buffer to another operation's output, which adds its readers."""
        self._follow(buffer, self.owners[buffer], owner)
        self.owners[buffer] = owner
        self.references[buffer] += more

    def tie(self, buffer: int, to: Value) -> None:
        """Free a buffer together with another one."""
        if isinstance(to, int) and to >= 0 and buffer >= 0:
            self._tied.setdefault(to, []).append(buffer)
        else:
            self.add_readers(buffer, -1)

    def has_tied(self, buffer: int) -> bool:
        """True if other buffers are freed together with this one."""
        return buffer in self._tied

    def add_readers(self, buffer: int, more: int) -> None:
        """Change the number of readers; at 0 the buffer is freed."""
        if buffer < 0 or self._chunk[buffer] == NOTHING:
            return
        left = self.references[buffer] + more
        self.references[buffer] = left
        if left <= 0:
            self._chunk_allocator.free(self._chunk[buffer])
            self._chunk[buffer] = NOTHING
            self._follow(buffer, self.owners[buffer], None)
            for tied in self._tied.pop(buffer, ()):
                self.add_readers(tied, -1)

    def forget_peak(self) -> None:
        self.peak_bytes = self._chunk_allocator.in_use_bytes
        self._fullest = len(self._changes or ())


def _is_forward(owner: int | None) -> bool:
    return owner is not None and owner >= 0 and owner % 4 == 0


_STEP: Final = 256
_BINS: Final = 21
_SPLIT_LEFT: Final = 128 * 1024 * 1024
_FIRST_REGION: Final = 2 * 1024 * 1024


class ChunkAllocator:
    """Allocates chunks at simulated addresses.

    `in_use_bytes` is the use that the real allocator would report.
    """

    def __init__(self) -> None:
        self.in_use_bytes = 0
        self._bins: list[list[tuple[int, int]]] = [[] for _ in range(_BINS)]
        self._size: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._free: set[int] = set()
        self._next_region = _FIRST_REGION
        self._end = 0

    def allocate(self, n_bytes: int) -> int:
        """Allocate a chunk of at least this size; return its address."""
        wanted = max(_STEP, -(-n_bytes // _STEP) * _STEP)
        chunk = self._best(wanted)
        if chunk is None:
            chunk = self._extended(wanted)
        size = self._size[chunk]
        if size >= 2 * wanted or size - wanted >= _SPLIT_LEFT:
            self._split(chunk, wanted)
        self.in_use_bytes += self._size[chunk]
        return chunk

    def free(self, chunk: int) -> None:
        """Free a chunk from `allocate`; it is joined with free neighbours."""
        size = self._size[chunk]
        self.in_use_bytes -= size
        behind = chunk + size
        if behind in self._free:
            self._unlist(behind)
            size += self._size.pop(behind)
            del self._before[behind]
        before = self._before.get(chunk, -1)
        if before in self._free:
            self._unlist(before)
            del self._size[chunk], self._before[chunk]
            size += self._size[before]
            chunk = before
        self._resize(chunk, size)
        self._list(chunk)

    def _best(self, wanted: int) -> int | None:
        for number in range(_bin(wanted), _BINS):
            chunks = self._bins[number]
            index = bisect_left(chunks, (wanted, -1))
            if index < len(chunks):
                chunk = chunks[index][1]
                self._unlist(chunk)
                return chunk
        return None

    def _extended(self, wanted: int) -> int:
        grown = False
        while wanted > self._next_region:
            self._next_region *= 2
            grown = True
        chunk = self._end
        self._size[chunk] = self._next_region
        # A step aside: regions do not touch, so that chunks of two are never joined.
        self._end += self._next_region + _STEP
        if not grown:
            self._next_region *= 2
        return chunk

    def _split(self, chunk: int, wanted: int) -> None:
        rest = chunk + wanted
        left = self._size[chunk] - wanted
        self._size[chunk] = wanted
        self._before[rest] = chunk
        self._resize(rest, left)
        self._list(rest)

    def _resize(self, chunk: int, size: int) -> None:
        self._size[chunk] = size
        behind = chunk + size
        if behind in self._size:
            self._before[behind] = chunk

    def _list(self, chunk: int) -> None:
        self._free.add(chunk)
        insort(self._bins[_bin(self._size[chunk])], (self._size[chunk], chunk))

    def _unlist(self, chunk: int) -> None:
        self._free.remove(chunk)
        size = self._size[chunk]
        chunks = self._bins[_bin(size)]
        del chunks[bisect_left(chunks, (size, chunk))]


def _bin(size: int) -> int:
    return min(_BINS - 1, (size // _STEP).bit_length() - 1)
