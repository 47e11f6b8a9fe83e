"""Checkpoint files for tests: damaged ones, and ones that are HDF5 alone."""

from pathlib import Path
from random import Random

from kmonitor_agent.reclaim.checkpoint_seal import BLOCK_BYTES, open_sealed


def flip(path: Path, offset: int, bits: int = 1) -> None:
    """Change bits of one byte."""
    data = bytearray(path.read_bytes())
    data[offset] ^= bits
    path.write_bytes(data)


def flip_in_value(path: Path, ordinal: int, place: int = 0) -> None:
    """Change a bit of a variable's byte at that place."""
    with open_sealed(path) as (sealed, _):
        offset = sealed.sealed_values[ordinal].offset
    flip(path, offset + place)


def flip_in_making(path: Path, place: int = 0) -> None:
    """Change a bit of what a file says of its model's making."""
    with open_sealed(path) as (sealed, _):
        assert sealed.architecture is not None
        offset = sealed.architecture.offset
    flip(path, offset + place)


def unseal(path: Path) -> None:
    """Leave the HDF5 alone, as another program would write it."""
    with open_sealed(path) as (sealed, raw):
        pieces = [*sealed.sealed_values, *([sealed.architecture] if sealed.architecture else [])]
        end = max(each.offset + each.n_bytes for each in pieces)
        raw.seek(0)
        data = raw.read()
    index_at = data.index(b'{"variables": [', end)
    path.write_bytes(data[BLOCK_BYTES:index_at])


def flip_that_crashes_hdf5(path: Path) -> None:
    """Change one bit of an unsealed file: HDF5's library frees what it never took, and crashes.

    The attribute `checksum` is then of a kind of variable length that there is not, no text.
    """
    data = path.read_bytes()
    text_type = b"\x19\x01\x01\x00"
    flip(path, data.index(text_type, data.index(b"checksum\x00")) + 1, 2)


def damaged_ways(whole: bytes, seed: int, flips: int) -> list[bytes]:
    """One file in many states of damage: one bit wrong, cut off, or zeroed at its ends.

    Args:
        whole: The file.
        seed: Seed of the positions.
        flips: Number of files with one wrong bit at any position; more have it at given ones.
    """
    random = Random(seed)  # noqa: S311 - places, no secrets
    length = len(whole)
    places = [random.randrange(length) for _ in range(flips)]
    # In magic, checksum and header; at both ends of the rest; at a place once missed.
    places += [0, 7, 8, 69, BLOCK_BYTES - 1, BLOCK_BYTES, 16234, 16363, 16410]
    places += [length - back for back in (1, 2, 40, 400)]
    ways = [_flipped(whole, place, 1 << random.randrange(8)) for place in places if place < length]
    ways += [whole[: length * part // 16] for part in range(16)]
    ways += [whole[:-1], whole + b"\0", whole[:11], whole[:BLOCK_BYTES]]
    ways += [bytes(n) + whole[n:] for n in (8, 512, 4096, 8192)]
    ways += [whole[:-n] + bytes(n) for n in (1, 395, 4096)]
    return ways


def _flipped(whole: bytes, place: int, bits: int) -> bytes:
    data = bytearray(whole)
    data[place] ^= bits
    return bytes(data)
