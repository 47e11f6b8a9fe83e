"""Keeps all spools of a host together within their bound."""

import os
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.plain_files import open_new
from kmonitor_agent.wire.local.private_files import UnsafePath
from kmonitor_agent.wire.local.spool_folder import ROOT_LIMIT_BYTES, RunSpool, spooled_runs
from kmonitor_agent.wire.local.spool_format import (
    encode_record,
    parse_segment,
    read_segment,
    segment_head,
)
from kmonitor_agent.wire.messages.codec import event_type
from kmonitor_agent.wire.messages.errors import ProtocolError

_BLOCK_BYTES: Final = 512
"""Unit of `st_blocks`. Source: stat(3type)."""


def spooled_bytes(root: Path) -> int:
    """What all spools below a root take, bytes."""
    return sum(_size(path) for folder in spooled_runs(root) for path in folder.glob("*"))


def trim_root(
    root: Path, *, own: RunSpool | None = None, limit_bytes: int = ROOT_LIMIT_BYTES
) -> int:
    """Bring a spool root below its bound; bytes freed.

    Acknowledged segments go first, the oldest before all others, of `own` and of runs whose
    process is dead (other agents trim their own). If that is not enough, `own` gives up its oldest
    samples; epochs, lifecycle and commands are never dropped.

    Raises:
        OSError: Something cannot be listed or deleted.
    """
    excess = spooled_bytes(root) - limit_bytes
    freed = 0
    if excess <= 0:
        return 0
    refused: list[UnsafePath] = []
    others = _others(root, own, refused)
    try:
        freed += _delete_acked([*([own] if own is not None else []), *others], excess)
    finally:
        for spool in others:
            spool.close()
    if own is not None and freed < excess:
        freed += _drop_samples(own, excess - freed)
    if refused:
        raise refused[0]
    return freed


def _others(root: Path, own: RunSpool | None, refused: list[UnsafePath]) -> list[RunSpool]:
    """Spools of dead processes, locked; what keeps one from being taken is added to `refused`."""
    taken: list[RunSpool] = []
    for folder in spooled_runs(root):
        if own is not None and folder == own.folder:
            continue
        try:
            spool = RunSpool.take(folder)
        except UnsafePath as exc:
            refused.append(exc)
            continue
        if spool is not None:
            taken.append(spool)
    return taken


def _delete_acked(spools: list[RunSpool], excess: int) -> int:
    acked = [(p.lstat().st_mtime, p, spool) for spool in spools for p in spool.acked_segments()]
    freed = 0
    for _, path, spool in sorted(acked, key=lambda entry: entry[:2]):
        if freed >= excess:
            break
        freed += spool.delete(path)
    return freed


def _drop_samples(own: RunSpool, excess: int) -> int:
    freed = 0
    for path in own.closed_segments():
        if freed >= excess:
            break
        freed += _without_samples(path)
    return freed


def _without_samples(path: Path) -> int:
    data = read_segment(path)
    segment = parse_segment(data)
    if segment.facts is None:
        return 0
    kept = [r for r in segment.records if not _is_sample(r.body)]
    thin = segment_head(segment.facts) + b"".join(encode_record(*r) for r in kept)
    if len(thin) < len(data):
        fresh = path.with_suffix(".thin")
        with os.fdopen(open_new(fresh), "wb") as file:
            file.write(thin)
        fresh.replace(path)
    return len(data) - len(thin)


def _is_sample(body: bytes) -> bool:
    try:
        return event_type(body) == "sample"
    except ProtocolError:
        return False


def _size(path: Path) -> int:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return 0
    # A file may be far larger than what it takes of the disk.
    return min(found.st_size, getattr(found, "st_blocks", found.st_size) * _BLOCK_BYTES)
