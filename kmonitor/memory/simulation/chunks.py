"""TensorFlow's allocator of memory in chunks, as far as its count of bytes in use goes.

Source: `tensorflow/tsl/framework/bfc_allocator.cc`: sizes in steps of 256 bytes, the best fit of
the smallest bin that has one, split only where much would be left, free neighbours joined.
"""

from bisect import bisect_left, insort
from typing import Final

_STEP: Final = 256
_BINS: Final = 21
_SPLIT_LEFT: Final = 128 * 1024 * 1024
_FIRST_REGION: Final = 2 * 1024 * 1024


class Chunks:
    """Hands out chunks of made-up addresses; `in_use_bytes` is what the real one would tell."""

    def __init__(self) -> None:
        self.in_use_bytes = 0
        self._bins: list[list[tuple[int, int]]] = [[] for _ in range(_BINS)]
        self._size: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._free: set[int] = set()
        self._next_region = _FIRST_REGION
        self._end = 0

    def take(self, n_bytes: int) -> int:
        """A chunk of at least that size; its address."""
        wanted = max(_STEP, -(-n_bytes // _STEP) * _STEP)
        chunk = self._best(wanted)
        if chunk is None:
            chunk = self._extended(wanted)
        size = self._size[chunk]
        if size >= 2 * wanted or size - wanted >= _SPLIT_LEFT:
            self._split(chunk, wanted)
        self.in_use_bytes += self._size[chunk]
        return chunk

    def give_back(self, chunk: int) -> None:
        """A chunk that `take` gave; it is joined with what is free beside it."""
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
            place = bisect_left(chunks, (wanted, -1))
            if place < len(chunks):
                chunk = chunks[place][1]
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
        rest, left = chunk + wanted, self._size[chunk] - wanted
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
