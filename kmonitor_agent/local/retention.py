"""Keeps all spools of a host together within their bound."""

from pathlib import Path

from kmonitor_agent.local.run_spool import ROOT_LIMIT_BYTES, RunSpool, spooled_runs
from kmonitor_agent.local.spool_format import encode_record, parse_segment, segment_head
from kmonitor_agent.protocol.codec import event_type
from kmonitor_agent.protocol.errors import ProtocolError


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
    taken = [own] if own is not None else []
    for folder in spooled_runs(root):
        spool = None if own is not None and folder == own.folder else RunSpool.take(folder)
        if spool is not None:
            taken.append(spool)
    try:
        freed += _delete_acked(taken, excess)
    finally:
        for spool in taken:
            if spool is not own:
                spool.close()
    if own is not None and freed < excess:
        freed += _drop_samples(own, excess - freed)
    return freed


def _delete_acked(spools: list[RunSpool], excess: int) -> int:
    acked = [(p.stat().st_mtime, p, spool) for spool in spools for p in spool.acked_segments()]
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
    data = path.read_bytes()
    segment = parse_segment(data)
    if segment.facts is None:
        return 0
    kept = [r for r in segment.records if not _is_sample(r.body)]
    thin = segment_head(segment.facts) + b"".join(encode_record(*r) for r in kept)
    if len(thin) < len(data):
        fresh = path.with_suffix(".thin")
        fresh.write_bytes(thin)
        fresh.chmod(0o600)
        fresh.replace(path)
    return len(data) - len(thin)


def _is_sample(body: bytes) -> bool:
    try:
        return event_type(body) == "sample"
    except ProtocolError:
        return False


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
